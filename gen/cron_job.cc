#include <ergon/gen/cron_job.h>

#include <utility>

namespace ergon::gen {

CronAction CronAction::Send(Target to) {
  return CronAction(
      Sending{to, [to = std::move(to)](const MessageCron& run) { return Make(to, run); }});
}

CronAction CronAction::Spawn(ProcessFactory factory, ProcessOptions options, Args args, Atom name) {
  return CronAction(Spawning{std::move(factory), std::move(options), std::move(args), name});
}

CronAction CronAction::Run(std::function<void(Process& self, const MessageCron& run)> function) {
  return CronAction(What(std::in_place_type<Function>, std::move(function)));
}

}  // namespace ergon::gen
