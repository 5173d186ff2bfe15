#include <ergon/node/runtime/application_master.h>

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/host/child_end.h>
#include <ergon/gen/host/start_error.h>
#include <ergon/gen/message.h>
#include <ergon/gen/node.h>
#include <ergon/gen/notices.h>

namespace ergon::node {
namespace {

gen::Reason FailureOf(const std::string& member, const gen::Reason& reason) {
  return gen::Reason::Error(fmt::format("{} has ended: {}", member, reason));
}

}  // namespace

// -- start --

gen::Status ApplicationMaster::ProcessInit(gen::ProcessHost& host, const gen::Args& /*args*/) {
  host_ = &host;
  host.SetTrapExit(true);  // to outlive its processes
  if (!observer_.Starting(spec_->name, host.Self())) return gen::Stop(gen::Reason::Kill());
  for (const gen::ApplicationProcess& what : spec_->processes) {
    auto pid = StartMember(what);
    if (!pid) {
      UndoStart();
      return gen::Stop(gen::Reason::Error(
          fmt::format("process {}{}: {}", members_.size(),
                      what.name.empty() ? std::string() : fmt::format(" '{}'", what.name),
                      gen::StartErrorText(pid.error()))));
    }
    auto monitor = host.Monitor(*pid);
    members_.push_back({&what, *pid, monitor ? *monitor : gen::Ref()});
    observer_.SetProcesses(spec_->name, *pid, true);
  }
  try {
    if (spec_->when_started) spec_->when_started(host.Node());
  } catch (...) {
    const std::string what = core::ThrownText();
    UndoStart();
    return gen::Stop(gen::Reason::Error("when_started: " + what));
  }
  is_running_ = true;
  observer_.Running(spec_->name, host.Now());
  return gen::Continue();
}

gen::Result<gen::PID> ApplicationMaster::StartMember(const gen::ApplicationProcess& what) {
  gen::ProcessOptions options = what.options;
  options.link_parent = true;
  if (what.name.empty()) return host_->Spawn(what.factory, options, what.args);
  return host_->SpawnRegister(what.name, what.factory, options, what.args);
}

void ApplicationMaster::UndoStart() {
  for (auto last = members_.rbegin(); last != members_.rend(); ++last) {
    gen::EndChildAndWait(*host_, last->pid, last->what->name, last->what->shutdown_timeout);
    observer_.SetProcesses(spec_->name, last->pid, false);
  }
}

// -- what arrives --

gen::Status ApplicationMaster::ProcessMessage(core::Envelope& envelope) {
  switch (static_cast<gen::EnvelopeKind>(envelope.kind)) {
    case gen::EnvelopeKind::kExit:
      if (const auto* exit = envelope.ValueAs<gen::MessageExitPID>();
          exit != nullptr && envelope.ref != gen::kExplicitExit) {
        return MemberEnded(exit->pid, exit->reason);
      }
      return gen::Continue();
    case gen::EnvelopeKind::kDown:  // of one that has cut its link
      if (const auto* down = envelope.ValueAs<gen::MessageDownPID>()) {
        if (gen::IsExitToCome(*host_, *down)) return gen::Continue();
        return MemberEnded(down->pid, down->reason);
      }
      return gen::Continue();
    case gen::EnvelopeKind::kOwnTimer:
      if (const auto* late = envelope.ValueAs<gen::ChildTimeout>()) KillLate(late->child);
      return gen::Continue();
    case gen::EnvelopeKind::kInspect:
      (void)host_->SendResponse(gen::PID::FromAddress(envelope.from),
                                gen::Ref{envelope.ref, host_->Self().node, host_->Self().creation},
                                gen::Inspection{{"application", spec_->name.ToString()},
                                                {"processes", std::to_string(members_.size())},
                                                {"state", stopping_ ? "stopping" : "running"}});
      return gen::Continue();
    case gen::EnvelopeKind::kRequest:
      (void)host_->SendResponseError(
          gen::PID::FromAddress(envelope.from),
          gen::Ref{envelope.ref, host_->Self().node, host_->Self().creation},
          gen::Error(gen::ErrorCode::kUnsupported, "an application answers no requests"));
      return gen::Continue();
    case gen::EnvelopeKind::kMessage:
      if (envelope.ValueAs<StopForce>() != nullptr) return EndAllAtOnce();
      [[fallthrough]];
    default:
      if (const auto more = unhandled_lines_.Take(*host_)) {
        host_->Log().Warning("unhandled message {} from {}: application '{}' takes no messages{}",
                             gen::Message(envelope).Describe(), gen::SenderOf(envelope),
                             spec_->name, *more);
      }
      return gen::Continue();
  }
}

std::vector<ApplicationMaster::Member>::iterator ApplicationMaster::FindMember(gen::PID pid) {
  return std::ranges::find(members_, pid, &Member::pid);
}

gen::Status ApplicationMaster::MemberEnded(gen::PID pid, const gen::Reason& reason) {
  const auto found = FindMember(pid);
  if (found == members_.end()) return gen::Continue();
  const bool was_asked = stopping_ && found + 1 == members_.end();
  const std::string name =
      found->what->name.empty() ? pid.ToString() : found->what->name.ToString();
  (void)host_->Demonitor(found->monitor);
  members_.erase(found);
  observer_.SetProcesses(spec_->name, pid, false);
  if (at_once_) return members_.empty() ? EndNext() : gen::Continue();
  if (stopping_) return was_asked ? EndNext() : gen::Continue();
  if (IsByNode(reason)) return EndAllAtOnce();  // the next one that it kills may be this one

  const bool decides = spec_->mode == gen::ApplicationMode::kPermanent ||
                       (spec_->mode == gen::ApplicationMode::kTransient && reason.IsFailure());
  if (reason.IsFailure()) {
    host_->Log().Warning("application '{}': {} has ended: {}", spec_->name, name, reason);
    first_failure_ = first_failure_.value_or(FailureOf(name, reason));
  }
  if (decides) {
    return BeginStop(reason.IsFailure() ? FailureOf(name, reason) : reason);
  }
  // A temporary one has gone on; who needs its work has to know that not all of it was done.
  return members_.empty() ? BeginStop(first_failure_.value_or(gen::Reason::Normal()))
                          : gen::Continue();
}

void ApplicationMaster::KillLate(gen::PID child) {
  const auto found = FindMember(child);
  if (found == members_.end()) return;  // it has ended meanwhile
  gen::KillLateChild(*host_, child, found->what->name, found->what->shutdown_timeout);
}

// -- the end --

gen::Status ApplicationMaster::ProcessStop(const gen::Reason& reason) {
  if (!stopping_) asked_to_stop_ = true;  // else it ends by itself: that remains why
  return BeginStop(reason.IsNormal() ? gen::Reason::Shutdown() : reason);
}

gen::Status ApplicationMaster::BeginStop(const gen::Reason& reason) {
  if (stopping_) return gen::Continue();
  stopping_ = true;
  stop_reason_ = reason;
  observer_.Stopping(spec_->name);
  return EndNext();
}

gen::Status ApplicationMaster::EndAllAtOnce() {
  if (!std::exchange(stopping_, true)) {
    asked_to_stop_ = true;
    observer_.Stopping(spec_->name);
  }
  if (asked_to_stop_) stop_reason_ = gen::Reason::Kill();
  at_once_ = true;
  (void)killer_.Cancel();
  for (auto last = members_.rbegin(); last != members_.rend(); ++last) (void)host_->Kill(last->pid);
  return members_.empty() ? EndNext() : gen::Continue();
}

gen::Status ApplicationMaster::EndNext() {
  (void)killer_.Cancel();
  if (members_.empty()) return gen::Stop(stop_reason_);
  const Member& last = members_.back();
  killer_ = gen::EndChild(*host_, last.pid, last.what->shutdown_timeout);
  return gen::Continue();
}

void ApplicationMaster::ProcessTerminate(const gen::Reason& reason) {
  (void)killer_.Cancel();
  for (const Member& member : members_) (void)host_->Kill(member.pid);
  unhandled_lines_.TellRest(*host_, "messages that nobody handles");
  const bool matters = spec_->mode == gen::ApplicationMode::kPermanent ||
                       (spec_->mode == gen::ApplicationMode::kTransient && reason.IsFailure());
  // The node first: nobody shall see the application ended and the node running.
  try {
    if (matters && !asked_to_stop_ && !IsByNode(reason) && !observer_.IsEndedByForce(spec_->name)) {
      std::string text = fmt::format("application '{}' has ended: {}", spec_->name, reason);
      if (!reason.IsFailure()) host_->Log().Error("{}, and the node with it", text);
      host_->Node().Stop(reason.IsFailure() ? gen::Reason::Error(std::move(text))
                                            : reason);  // only begins
    }
  } catch (...) {  // no thread for it
    host_->Log().Error("application '{}': the node cannot stop: {}", spec_->name,
                       core::ThrownText());
  }
  try {
    if (is_running_ && spec_->when_ended) spec_->when_ended(host_->Node(), reason);
  } catch (...) {
    host_->Log().Error("application '{}': when_ended: {}", spec_->name, core::ThrownText());
  }
  observer_.Ended(spec_->name, reason);
}

}  // namespace ergon::node
