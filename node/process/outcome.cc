// How a handler makes its process end: it is asked to, or it throws.
#include <new>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/gen/exit_signal.h>
#include <ergon/node/diagnosis/for_people.h>
#include <ergon/node/process/runner.h>
#include <ergon/node/process/try_log.h>

namespace ergon::node {
namespace {

// Made while there is memory; a process that cannot have a text of its own must end all the same.
const gen::Reason& out_of_memory = *new gen::Reason(gen::Reason::Panic("out of memory"));

}  // namespace

void ProcessRunner::AskToStop(const gen::Reason& reason) {
  try {
    NoteStatus(behavior_->ProcessStop(reason));
  } catch (...) {
    NoteThrown();
  }
}

// An exit signal that has ended a wait is still to be handled. If the process ends by itself first, as it was told to,
// it ends with the signal's reason all the same. Returns false, and does nothing, if there is no such signal.
bool ProcessRunner::EndsByInterruption() {
  if (MustEnd() || !mailbox_.MayHaveUrgent()) return false;
  const core::Envelope* const signal = WaitingEnd();
  const gen::Reason* const reason = signal == nullptr ? nullptr : gen::ReasonOfExit(*signal);
  if (reason == nullptr) return false;
  NoteStatus(gen::Stop(*reason));
  return true;
}

void ProcessRunner::NoteThrown() {
  current_failed_ = true;
  const gen::Reason reason = PanicReason();
  if (EndsByInterruption()) {
    TryLog([&] { Lines().Debug("is being ended, and has thrown: {}", reason); });
    return;
  }
  if (!IsKilled()) TryLog([&] { Lines().Error("ends with {}", reason); });
  NoteStatus(gen::Stop(reason));
}

gen::Reason ProcessRunner::PanicReason() const {
  try {
    std::string text = core::ThrownText();
    const core::TypeDescriptor* type = activity_.type();
    if (type != nullptr) text += fmt::format(" (handling {})", TypeForPeople(type));
    return gen::Reason::Panic(std::move(text));
  } catch (const std::bad_alloc&) {
    return out_of_memory;
  }
}

}  // namespace ergon::node
