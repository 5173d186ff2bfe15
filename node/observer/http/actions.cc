#include <ergon/node/observer/http/actions.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/host/pool_host.h>
#include <ergon/gen/node.h>
#include <ergon/gen/pool_change.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/runtime/runtime.h>
#include <ergon/node/texts/clean_text.h>

namespace ergon::node {
namespace {

constexpr std::chrono::seconds kMostForAction{5};
constexpr std::size_t kLongestError = 1'000;  // bytes

gen::Result<void> AskToHold(gen::Process& self, gen::PID pid, gen::EnvelopeKind kind) {
  if (pid == self.Self()) {
    return gen::Error(gen::ErrorCode::kNotAllowed,
                      "the process is the observer's own, which answers this request");
  }
  auto answer = self.CallEnvelope(
      pid, core::MakeSignal(static_cast<std::uint8_t>(kind), core::Lane::kUrgent), kMostForAction);
  if (!answer) return std::move(answer.error());
  if (auto* const error = (*answer)->ValueAs<gen::Error>()) return std::move(*error);
  return {};
}

gen::Result<void> StopInOrder(gen::Process& self, gen::PID pid, const UrlQuery&) {
  return RuntimeOf(self.Node(), "node::ObserverFactory")
      .exit_signals()
      .StopAfterQueue(pid, gen::Reason::Normal());
}
gen::Result<void> KillIt(gen::Process& self, gen::PID pid, const UrlQuery&) {
  return self.Node().Kill(pid);
}
gen::Result<void> SuspendIt(gen::Process& self, gen::PID pid, const UrlQuery&) {
  return AskToHold(self, pid, gen::EnvelopeKind::kSuspend);
}
gen::Result<void> ResumeIt(gen::Process& self, gen::PID pid, const UrlQuery&) {
  return AskToHold(self, pid, gen::EnvelopeKind::kResume);
}
gen::Result<void> ResizeIt(gen::Process& self, gen::PID pid, const UrlQuery& parameters) {
  const auto workers = NumberIn(parameters, "workers");
  if (!workers || *workers < 1 || *workers > gen::kMaxPoolSize) {
    return Incorrect(fmt::format("workers: must be a number in 1..{}", gen::kMaxPoolSize));
  }
  const ProcessSlot* const slot =
      RuntimeOf(self.Node(), "node::ObserverFactory").addresses().Find(pid);
  if (slot == nullptr) return gen::ErrProcessUnknown;
  if (!slot->IsPool()) return gen::Error(gen::ErrorCode::kUnsupported, "it is no pool");
  auto changed = self.Call(pid, gen::PoolChange{.pool_size = static_cast<int>(*workers)},
                           {.timeout = kMostForAction, .priority = gen::MessagePriority::kHigh});
  if (!changed) return std::move(changed.error());
  return {};
}

struct Action {
  std::string_view path;
  std::string_view name;   // for the log
  std::size_t parameters;  // without the creation
  gen::Result<void> (*act)(gen::Process& self, gen::PID pid, const UrlQuery& parameters);
};
constexpr Action kActions[] = {{"/api/stop", "stop", 1, &StopInOrder},
                               {"/api/kill", "kill", 1, &KillIt},
                               {"/api/suspend", "suspend", 1, &SuspendIt},
                               {"/api/resume", "resume", 1, &ResumeIt},
                               {"/api/resize", "resize", 2, &ResizeIt}};

unsigned StatusOf(const gen::Error& error) {
  if (error == gen::ErrProcessUnknown || error == gen::ErrProcessTerminated) return 404;
  if (error == gen::ErrTimeout) return 504;
  return error == gen::ErrIncorrect ? 400 : 409;
}

}  // namespace

std::optional<ObserverAnswer> RefuseOtherRun(const gen::Process& self, const UrlQuery& parameters) {
  if (!parameters.contains("creation")) return std::nullopt;
  const auto creation = NumberIn(parameters, "creation");
  if (!creation) {
    return ObserverAnswer{.status = 400, .body = "creation: must be that in /api/node\n"};
  }
  if (*creation == self.Self().creation) return std::nullopt;
  return ObserverAnswer{
      .status = 404,
      .body =
          "the process was one of another run of the program: creation is not that in "
          "/api/node\n"};
}

bool IsAction(std::string_view path) {
  return std::ranges::find(kActions, path, &Action::path) != std::end(kActions);
}

ObserverAnswer Act(gen::Process& self, const ObserverState& state, std::string_view path,
                   const UrlQuery& parameters) {
  if (!state.settings.options.actions) {
    return {.status = 403, .body = "actions are off: ObserverOptions::actions\n"};
  }
  if (state.settings.token.empty()) {
    return {.status = 403,
            .body =
                "actions need a token: ObserverOptions::token, token_file or the "
                "environment's ERGON_OBSERVER_TOKEN\n"};
  }
  const Action& action = *std::ranges::find(kActions, path, &Action::path);
  const auto id = NumberIn(parameters, "pid");
  if (!id || *id == 0 || parameters.size() != action.parameters + parameters.count("creation")) {
    return {.status = 400,
            .body =
                "required parameters: pid, the id of a process as in /api/processes, and for "
                "resize workers; allowed: creation, as in /api/node\n"};
  }
  if (auto refused = RefuseOtherRun(self, parameters)) return std::move(*refused);
  gen::PID pid = self.Self();  // of this node
  pid.id = *id;
  const auto done = action.act(self, pid, parameters);
  dynamic_cast<gen::PoolHost&>(self).LogChange(
      fmt::format("{} of {}: asked for over HTTP{}", action.name, pid,
                  done ? ", and done" : ": " + done.error().ToString()));
  if (done) return {.body = "done\n"};
  return {.status = StatusOf(done.error()),
          .body = CleanText(done.error().ToString(), kLongestError) + '\n'};
}

}  // namespace ergon::node
