#include <ergon/gen/task.h>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/gen/node.h>

namespace ergon::gen::detail {

Error TaskThrew() { return Error("panic: " + core::ThrownText()); }

void AnswerOwner(Process& task) {
  while (auto asked = task.Receive<Asked<AwaitTask>>()) {
    if (!task.Reply(*asked, TaskDone())) continue;  // it has given up, and may ask again
    (void)task.Unlink(asked->from);                 // the end of the task is no news for its owner
    return;
  }
}

Result<PID> SpawnTask(Process& owner, const ProcessFactory& factory) {
  return owner.Spawn(factory, {.link_parent = true});
}

void EndTask(Process& owner, PID task) {
  (void)owner.Unlink(task);
  (void)owner.Node().Kill(task);
}

}  // namespace ergon::gen::detail
