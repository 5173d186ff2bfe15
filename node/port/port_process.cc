#include <ergon/node/port/port_process.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/gen/blocking.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/envelope_sender.h>
#include <ergon/gen/inspection_items.h>
#include <ergon/gen/node.h>
#include <ergon/gen/notices.h>
#include <ergon/node/port/output_reader.h>
#include <ergon/node/port/watches.h>

namespace ergon::node {

// Also of one whose Init has succeeded too late.
PortProcess::~PortProcess() { program_->KillAndWait(); }

std::string PortProcess::BehaviorName() const {
  return fmt::format("ergon::node::Port({})", program_->options().program);
}

// -- beginning --

gen::Status PortProcess::ProcessInit(gen::ProcessHost& host, const gen::Args&) {
  host_ = &host;
  auto begun = FindOwner();
  if (begun) begun = Begin();
  if (begun) return gen::Continue();
  gen::Blocking blocking;
  program_->KillAndWait();
  return gen::Stop(gen::Reason::Error(std::string(begun.error().detail())));
}

gen::Result<void> PortProcess::FindOwner() {
  const PortOptions& options = program_->options();
  owner_ = options.owner ? options.owner : host_->Parent();
  if (owner_ != host_->Node().Self()) return {};
  if (options.output == PortStream::kPipe || options.errors == PortStream::kPipe) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("cannot start {}: owner: is missing: nobody would get its output",
                                  options.program));
  }
  owner_ = {};
  return {};
}

gen::Result<void> PortProcess::Begin() {
  gen::Result<void> started;
  {
    gen::Blocking blocking;  // the program may have to come from a disk
    started = program_->Start();
  }
  if (!started) return started;
  input_.emplace(host_->Node(), *program_);
  const gen::PID self = host_->Self();
  for (const PortOutput which : {PortOutput::kOutput, PortOutput::kErrors}) {
    if (!(which == PortOutput::kOutput ? program_->output : program_->errors)) continue;
    auto reader = Help(OutputReader{program_, self, owner_, which});
    if (!reader) return std::move(reader.error());
    readers_.push_back(*reader);
  }
  if (owner_) {
    auto watch = Help(OwnerWatch{self, owner_});
    if (!watch) return std::move(watch.error());
    owner_watch_ = *watch;
  }
  auto watch = Help(ProgramWatch{program_});
  if (!watch) return std::move(watch.error());
  program_watch_ = *watch;
  return {};
}

gen::Result<gen::PID> PortProcess::Help(const gen::ProcessFactory& helper) {
  auto pid = host_->Spawn(helper, {.link_parent = true});
  if (pid) {
    auto monitored = host_->Monitor(*pid);
    if (monitored) return pid;
    pid = std::move(monitored.error());
  }
  return gen::Error(pid.error().code(), fmt::format("cannot start {}: its helper: {}",
                                                    program_->options().program, pid.error()));
}

// -- what it is sent --

gen::Status PortProcess::ProcessMessage(core::Envelope& envelope) {
  switch (static_cast<gen::EnvelopeKind>(envelope.kind)) {
    case gen::EnvelopeKind::kMessage:
      HandleMessage(envelope);
      break;
    case gen::EnvelopeKind::kRequest:
      HandleRequest(envelope);
      break;
    case gen::EnvelopeKind::kDown:
      if (const auto* down = envelope.ValueAs<gen::MessageDownPID>()) {
        return HandleEndOf(down->pid, down->reason);
      }
      break;
    case gen::EnvelopeKind::kInspect:
      AnswerInspection(envelope);
      break;
    case gen::EnvelopeKind::kOwnTimer:
      if (envelope.ValueAs<ShutdownTimeout>() != nullptr) return Kill();
      if (envelope.ValueAs<TryAgain>() != nullptr) return TellExit();
      if (envelope.ValueAs<GiveUp>() != nullptr) return TellExitOrGiveUp();
      break;
    default:
      break;
  }
  return gen::Continue();
}

void PortProcess::HandleMessage(core::Envelope& envelope) {
  if (const auto* input = envelope.ValueAs<PortInput>()) {
    auto written = input_->Write(input->bytes);
    if (written) return;
    // Others that wait have the same lot.
    const bool is_first = !std::exchange(input_failed_, true);
    const auto text = fmt::format("input for {} is lost: {}", program_->options().program,
                                  written.error().detail());
    is_first ? host_->Log().Warning("{}", text) : host_->Log().Debug("{}", text);
    return;
  }
  if (envelope.ValueAs<PortCloseInput>() != nullptr) {
    input_->Close();
    return;
  }
  if (const auto more = unhandled_lines_.Take(*host_)) {
    host_->Log().Warning("unhandled message {} from {}{}", gen::Message(envelope).Describe(),
                         gen::SenderOf(envelope), *more);
  }
}

void PortProcess::HandleRequest(core::Envelope& envelope) {
  const gen::PID from = gen::SenderOf(envelope);
  const gen::Ref ref = gen::RefOf(envelope);
  // Whether somebody still waits does not matter here.
  const auto* input = envelope.ValueAs<PortInput>();
  if (input == nullptr) {
    (void)host_->SendResponseError(
        from, ref,
        gen::Error(gen::ErrorCode::kUnsupported, "request " + gen::Message(envelope).Describe()));
    return;
  }
  auto written = input_->Write(input->bytes);
  if (written) {
    (void)host_->SendResponse(from, ref, *written);
  } else {
    (void)host_->SendResponseError(from, ref, std::move(written.error()));
  }
}

void PortProcess::AnswerInspection(core::Envelope& envelope) {
  gen::Inspection all{{"program", program_->options().program},
                      {"os_pid", std::to_string(program_->id())},
                      {"state", stop_reason_ ? "stopping"
                                : has_ended_ ? "ended"
                                             : "running"}};
  gen::KeepAskedFor(all, envelope.ValueAs<gen::InspectRequest>()->items);
  (void)host_->SendResponse(gen::SenderOf(envelope), gen::RefOf(envelope), std::move(all));
}

// -- the end --

gen::Status PortProcess::HandleEndOf(gen::PID helper, const gen::Reason& reason) {
  if (exit_) return gen::Continue();
  // If it has not asked for the end, nobody watches the owner any more.
  if (helper == owner_watch_ && !stop_reason_) return ProcessStop(gen::Reason::Shutdown());
  if (helper == program_watch_) {
    if (!program_->HasEnded()) {  // nobody waits for it any more
      return gen::Stop(reason.IsFailure() ? reason : gen::Reason::Error("a helper was ended"));
    }
    has_ended_ = true;
    input_->Close();
    for (const gen::PID reader : readers_) {
      (void)host_->StopAfterQueue(reader, gen::Reason::Shutdown());
    }
  }
  std::erase(readers_, helper);
  const bool is_over = (has_ended_ || gives_up_) && readers_.empty();
  return is_over ? Finish(has_ended_ ? program_->exit() : PortExit()) : gen::Continue();
}

gen::Status PortProcess::Finish(PortExit exit) {
  exit.port = host_->Self();
  exit_ = exit;
  gen::Status told = TellExit();
  if (!told.stops() && stop_reason_) BoundTellExit();
  return told;
}

gen::Status PortProcess::TellExit() {
  DeliveryToOwner delivery(*host_, *program_, owner_);
  if (owner_ && !(delivery.HasRoom() && delivery.TrySendLast(*exit_))) {
    (void)host_->SendSelfAfter(TryAgain{}, pause_);
    pause_ = std::min<std::chrono::nanoseconds>(2 * pause_, DeliveryToOwner::kLongest);
    return gen::Continue();
  }
  is_told_ = true;
  if (stop_reason_) return gen::Stop(*stop_reason_);
  if (exit_->code == 0) return gen::Stop(gen::Reason::Normal());
  return gen::Stop(gen::Reason::Error(program_->options().program + " " + exit_->ToString()));
}

gen::Status PortProcess::TellExitOrGiveUp() {
  is_told_ = DeliveryToOwner(*host_, *program_, owner_).TrySendLast(*exit_);
  return gen::Stop(*stop_reason_);  // see ProcessTerminate
}

void PortProcess::BoundTellExit() {
  const auto timeout = program_->options().shutdown_timeout;
  if (timeout != gen::kInfinite) (void)host_->SendSelfAfter(GiveUp{}, timeout);
}

gen::Status PortProcess::ProcessStop(const gen::Reason& reason) {
  if (stop_reason_) return gen::Continue();  // once is enough
  stop_reason_ = reason;
  if (exit_) {
    BoundTellExit();
    return gen::Continue();
  }
  input_->Close();
  const auto timeout = program_->options().shutdown_timeout;
  if (timeout == std::chrono::nanoseconds::zero()) return Kill();
  (void)program_->Signal(SIGTERM);
  if (timeout != gen::kInfinite) (void)host_->SendSelfAfter(ShutdownTimeout{}, timeout);
  return gen::Continue();
}

gen::Status PortProcess::Kill() {
  program_->SetHurry();
  if (program_->HasEnded()) return gen::Continue();
  const auto timeout = program_->options().shutdown_timeout;
  if (!program_->Signal(SIGKILL)) {
    host_->Log().Error("{} cannot be killed: it runs as another user", program_->options().program);
    gives_up_ = true;  // nobody knows when it will end
    for (const gen::PID reader : readers_) (void)host_->Kill(reader);
    return readers_.empty() ? Finish({}) : gen::Continue();
  }
  if (timeout.count() != 0) {
    host_->Log().Warning("{} has not ended within {} after SIGTERM: it is killed",
                         program_->options().program, core::RoundTime(timeout));
  }
  return gen::Continue();
}

void PortProcess::ProcessTerminate(const gen::Reason&) {
  unhandled_lines_.TellRest(*host_, "messages that nobody handles");
  if (exit_ && !is_told_) {
    host_->Log().Warning("{} is not told that {} {}: it has no room", owner_,
                         program_->options().program, exit_->ToString());
  }
  if (program_->HasEnded()) return;
  gen::Blocking blocking;
  program_->KillAndWait();
}

}  // namespace ergon::node
