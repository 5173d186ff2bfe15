// What others change of a process by gen::ProcessChange, and of the node by gen::NodeChange.
#include <optional>

#include <fmt/core.h>

#include <ergon/gen/envelope_sender.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/log_level.h>
#include <ergon/gen/node.h>
#include <ergon/gen/node_change.h>
#include <ergon/gen/process_change.h>
#include <ergon/node/delivery/withdrawn_requests.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/process/runner.h>

namespace ergon::node {
namespace {

gen::Result<void> Change(gen::Node& node, gen::PID pid, const gen::ProcessChange& change) {
  if (change.log_level && change.log_level_of_node) {
    return Incorrect(
        fmt::format("log_level: {}, but log_level_of_node is given too: give one of them",
                    gen::ToString(*change.log_level)));
  }
  // First what may be refused.
  auto checked = CheckLogLevel(change.log_level.value_or(gen::LogLevel::kOff));
  if (!checked) return checked;
  if (change.mailbox_size) {
    auto changed = node.SetProcessMailboxSize(pid, *change.mailbox_size);
    if (!changed) return changed;
  }
  if (!change.log_level && !change.log_level_of_node) return {};
  return node.SetProcessLogLevel(pid, change.log_level);
}

}  // namespace

bool ProcessRunner::IsChange(core::Envelope& envelope) const noexcept {
  return KindOf(envelope) == gen::EnvelopeKind::kRequest &&
         envelope.generation == generation_.load(std::memory_order_relaxed) &&
         (envelope.ValueAs<gen::ProcessChange>() != nullptr ||
          envelope.ValueAs<gen::NodeChange>() != nullptr);
}

void ProcessRunner::HandleChange(core::Envelope& envelope) {
  counts_.Taken();
  current_ = &envelope;
  activity_.NoteHandling(envelope);
  if ((due_ & kBeforeHandler) != 0) DoWhatIsDue();
  answered_ = current_failed_ = false;
  const bool withdrawn = rooms_.withdrawn.TakeNote(envelope.ref);
  if (withdrawn || !MayBegin(envelope)) {
    Expire(envelope, withdrawn);
  } else {
    const auto* const of_node = envelope.ValueAs<gen::NodeChange>();
    const auto changed = of_node != nullptr
                             ? rooms_.node.Change(*of_node)
                             : Change(rooms_.node, Self(), *envelope.ValueAs<gen::ProcessChange>());
    const gen::PID from = gen::SenderOf(envelope);
    // Whether somebody still waits does not matter to the one who answers.
    if (changed) {
      (void)Host().SendResponse(from, gen::RefOf(envelope), true);
    } else {
      (void)Host().SendResponseError(from, gen::RefOf(envelope), changed.error());
    }
    counts_.Handled();
  }
  current_ = nullptr;
}

}  // namespace ergon::node
