#include <ergon/testkit/unit_host.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/core/time/deadline.h>
#include <ergon/gen/notices.h>

namespace ergon::testkit {
namespace {

class PlannedState final : public gen::TimerHandle::State {
 public:
  explicit PlannedState(std::shared_ptr<bool> cancelled) : cancelled_(std::move(cancelled)) {}
  bool Cancel() override { return !std::exchange(*cancelled_, true); }

 private:
  const std::shared_ptr<bool> cancelled_;  // or sent
};

gen::Error NeedsNode(const char* what) {
  return gen::Error(gen::ErrorCode::kUnsupported,
                    std::string(what) + ": a Unit has no runtime; use a Simulation");
}

}  // namespace

gen::Result<gen::PID> UnitHost::Resolve(const gen::Target& target) const {
  if (const gen::PID* pid = target.AsPID()) return *pid;
  return gen::Error(gen::ErrorCode::kProcessUnknown, "a Unit knows no names; use a Simulation");
}

gen::Node& UnitHost::Node() const {
  throw std::logic_error("Node: a Unit has none; use a Simulation");
}

gen::Result<void> UnitHost::SendEnvelope(gen::PID to, core::EnvelopePtr& envelope) {
  envelope->from = Self().ToAddress();
  sent.push_back({to, std::move(envelope)});
  return {};
}

gen::Result<void> UnitHost::SendEnvelopeOrWait(const gen::Target& to, core::EnvelopePtr& envelope,
                                               std::chrono::nanoseconds) {
  auto pid = Resolve(to);
  if (!pid) return std::move(pid.error());
  return SendEnvelope(*pid, envelope);
}

core::EnvelopePtr UnitHost::AnswerOf(core::Envelope& request) {
  // The newest first, so that a test can change its mind.
  for (auto answerer = answerers.rbegin(); answerer != answerers.rend(); ++answerer) {
    if (core::EnvelopePtr answer = (*answerer)(request)) return answer;
  }
  return nullptr;
}

gen::Result<core::EnvelopePtr> UnitHost::CallEnvelope(gen::PID, core::EnvelopePtr request,
                                                      std::chrono::nanoseconds) {
  if (core::EnvelopePtr answer = AnswerOf(*request)) return answer;
  return gen::Error(gen::ErrorCode::kTimeout,
                    "no Unit::OnCall for " + gen::Message(*request).TypeName());
}

gen::Result<gen::Ref> UnitHost::RequestEnvelope(gen::PID to, core::EnvelopePtr& request,
                                                std::chrono::nanoseconds timeout) {
  if (timeout.count() <= 0) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("timeout: {}, has to be more than 0", core::ExactTime(timeout)));
  }
  const gen::Ref ref = MakeRef();
  asked.push_back({to, ref, AnswerOf(*request), core::DeadlineAfter(now, timeout)});
  sent.push_back({to, std::move(request)});
  return ref;
}

gen::Result<void> UnitHost::SendResponseEnvelope(gen::PID, gen::Ref ref,
                                                 core::EnvelopePtr response) {
  const bool answered = std::any_of(responses.begin(), responses.end(),
                                    [&](const Response& earlier) { return earlier.ref == ref; });
  if (answered) return gen::ErrResponseIgnored;
  responses.push_back({ref, std::move(response)});
  return {};
}

gen::Result<gen::TimerHandle> UnitHost::SendEnvelopeAfter(const gen::Target& to,
                                                          core::EnvelopePtr& envelope,
                                                          std::chrono::nanoseconds delay) {
  if (delay.count() < 0) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("delay: {}, must not be negative", core::ExactTime(delay)));
  }
  auto pid = Resolve(to);
  if (!pid) return std::move(pid.error());
  envelope->from = Self().ToAddress();
  auto cancelled = std::make_shared<bool>(false);
  planned.push_back({core::DeadlineAfter(now, delay), *pid, std::move(envelope), cancelled});
  return gen::TimerHandle(std::make_shared<PlannedState>(std::move(cancelled)));
}

gen::Result<gen::TimerHandle> UnitHost::SendEnvelopesEvery(const gen::Target& to,
                                                           std::function<core::EnvelopePtr()> make,
                                                           std::chrono::nanoseconds period) {
  if (period.count() <= 0) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("period: {}, must be more than 0", core::ExactTime(period)));
  }
  core::EnvelopePtr first = make();
  auto handle = SendEnvelopeAfter(to, first, period);
  if (!handle) return handle;
  planned.back().again = std::move(make);
  planned.back().period = period.count();
  return handle;
}

gen::Result<void> UnitHost::SendExit(const gen::Target& to, gen::Reason reason) {
  auto pid = Resolve(to);
  if (!pid) return std::move(pid.error());
  core::EnvelopePtr signal = core::MakeEnvelope<gen::MessageExitPID>(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kExit), core::Lane::kUrgent,
      gen::MessageExitPID{Self(), std::move(reason)});
  return SendEnvelope(*pid, signal);
}

gen::Result<void> UnitHost::RegisterName(gen::Atom name) {
  if (!name_.empty()) return gen::ErrNotAllowed;
  name_ = name;
  return {};
}

gen::Result<void> UnitHost::UnregisterName() {
  if (name_.empty()) return gen::ErrProcessUnknown;
  name_ = gen::Atom();
  return {};
}

gen::Result<gen::Alias> UnitHost::CreateAlias() { return NeedsNode("CreateAlias"); }

gen::Result<void> UnitHost::Link(const gen::Target& to, const gen::LinkOptions&) {
  auto pid = Resolve(to);
  if (!pid) return std::move(pid.error());
  if (std::find(links.begin(), links.end(), *pid) == links.end()) links.push_back(*pid);
  return {};
}

gen::Result<void> UnitHost::Unlink(const gen::Target& to) {
  auto pid = Resolve(to);
  if (!pid) return std::move(pid.error());
  std::erase(links, *pid);
  return {};
}

gen::Result<gen::Ref> UnitHost::Monitor(const gen::Target& to, const gen::MonitorOptions&) {
  auto pid = Resolve(to);
  if (!pid) return std::move(pid.error());
  monitors.emplace_back(*pid, MakeRef());
  return monitors.back().second;
}

gen::Result<void> UnitHost::Demonitor(gen::Ref ref) {
  const auto erased =
      std::erase_if(monitors, [&](const auto& monitor) { return monitor.second == ref; });
  if (erased == 0) return gen::ErrProcessUnknown;
  return {};
}

std::vector<gen::Atom> UnitHost::Groups() const {
  std::vector<gen::Atom> names = groups;
  std::sort(names.begin(), names.end(),
            [](gen::Atom left, gen::Atom right) { return left.Text() < right.Text(); });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<gen::PID> UnitHost::GroupMembers(gen::Atom group) const {
  return std::vector<gen::PID>(
      static_cast<std::size_t>(std::count(groups.begin(), groups.end(), group)), Self());
}

gen::Result<gen::PID> UnitHost::OneOf(gen::Atom group) {
  if (GroupMembers(group).empty()) {
    return gen::Error(gen::ErrorCode::kProcessUnknown,
                      "group '" + group.ToString() + "': a Unit knows no other members");
  }
  return Self();
}

gen::Result<std::size_t> UnitHost::SendEnvelopesToGroup(
    gen::Atom group, const std::function<core::EnvelopePtr()>& make) {
  const auto members = GroupMembers(group);
  for (const gen::PID member : members) {
    core::EnvelopePtr envelope = make();
    (void)SendEnvelope(member, envelope);  // notes it
  }
  return members.size();
}

gen::Result<void> UnitHost::JoinGroup(gen::Atom group) {
  if (group.empty()) return gen::Error(gen::ErrorCode::kIncorrect, "group: must not be empty");
  groups.push_back(group);
  return {};
}

gen::Result<void> UnitHost::LeaveGroup(gen::Atom group) {
  const auto found = std::find(groups.rbegin(), groups.rend(), group);
  if (found == groups.rend()) return gen::ErrProcessUnknown;
  groups.erase(std::next(found).base());
  return {};
}

bool UnitHost::Sleep(std::chrono::nanoseconds duration) {
  if (duration.count() > 0) now = core::DeadlineAfter(now, duration);
  return true;
}

gen::PoolHost& UnitHost::ForPool() {
  throw std::logic_error("a pool: a Unit has no runtime; use a Simulation");
}

core::EnvelopePtr UnitHost::Detach(core::Envelope&) {
  throw std::logic_error("Detach: a Unit has no runtime; use a Simulation");
}

bool UnitHost::Stash(core::Envelope&) {
  throw std::logic_error("Stash: a Unit has no mailbox; use a Simulation");
}

gen::Result<void> UnitHost::PassOn(gen::PID to, core::Envelope& envelope, bool) {
  if (handled == nullptr || handled->get() != &envelope) {
    return gen::Error(gen::ErrorCode::kNotAllowed, "it is not the message being handled");
  }
  sent.push_back({to, std::move(*handled)});
  return {};
}

void UnitHost::StashOwn(core::EnvelopePtr) {
  throw std::logic_error("StashOwn: a Unit has no mailbox; use a Simulation");
}

void UnitHost::EnqueueOwn(core::EnvelopePtr envelope) {
  planned.push_back({now, Self(), std::move(envelope), std::make_shared<bool>(false)});
}

gen::Result<gen::PID> UnitHost::SpawnChildAsync(gen::Atom, const gen::ProcessFactory&,
                                                const gen::ProcessOptions&, const gen::Args&) {
  return NeedsNode("a supervisor");
}

gen::Result<void> UnitHost::AwaitEnd(gen::PID, std::chrono::nanoseconds) {
  return NeedsNode("AwaitEnd");
}

gen::Result<void> UnitHost::StopAfterQueue(gen::PID, const gen::Reason&) {
  return NeedsNode("StopAfterQueue");
}

gen::Result<std::size_t> UnitHost::PublishEnvelope(gen::Atom, gen::Ref, core::EnvelopePtr) {
  return std::size_t{0};
}

}  // namespace ergon::testkit
