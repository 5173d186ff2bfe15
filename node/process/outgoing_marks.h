// What a process marks on all that it sends.
#pragma once

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/trace.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/process_state/cold.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {

// Only for the process itself; `of` is its slot. Two bytes: the trace id itself, which few have, is in the slot's
// cold part.
class OutgoingMarks {
 public:
  void SetImportant(bool important) noexcept {
    important_ = important;
    NoteAny();
  }
  [[nodiscard]] bool important() const noexcept { return important_; }
  void SetTrace(gen::TraceId trace, const ProcessSlot& of) {
    traced_ = trace != 0;
    NoteAny();
    if (traced_) of.Cold().trace = trace;
  }
  [[nodiscard]] gen::TraceId trace(const ProcessSlot& of) const {
    return traced_ ? of.Cold().trace : 0;
  }

  // Notes that what is sent is to be measured (Delivery::NoteSent), for the rest of the slot's life.
  void SetMeasured() noexcept {
    measured_ = true;
    NoteAny();
  }

  // Notes whether what is sent is to be recorded (SendRecorder).
  void SetRecorded(bool recorded) noexcept {
    recorded_ = recorded;
    NoteAny();
  }
  [[nodiscard]] bool recorded() const noexcept { return recorded_; }

  [[nodiscard]] bool any() const noexcept { return any_; }
  // Marks an envelope before it is sent.
  void Apply(core::Envelope& envelope, const ProcessSlot& of) const {
    if (any_) [[unlikely]]
      ApplyAny(envelope, of);
  }
  void ApplyTrace(core::Envelope& envelope, const ProcessSlot& of) const {
    if (traced_ && MayHaveTrace(envelope)) gen::MarkTraced(envelope, trace(of));
  }

 private:
  void NoteAny() noexcept { any_ = important_ || traced_ || measured_ || recorded_; }
  [[gnu::cold]] void ApplyAny(core::Envelope& envelope, const ProcessSlot& of) const {
    if (important_) envelope.flags |= core::Envelope::kFlagImportant;
    ApplyTrace(envelope, of);
  }
  // Returns whether an envelope gets the process's trace id: a request has its own, and a tick has that of its timer.
  static bool MayHaveTrace(const core::Envelope& envelope) noexcept {
    const gen::EnvelopeKind kind = KindOf(envelope);
    const bool has_room = kind == gen::EnvelopeKind::kMessage ||
                          kind == gen::EnvelopeKind::kEvent ||
                          kind == gen::EnvelopeKind::kResponse || kind == gen::EnvelopeKind::kError;
    return has_room && !IsTick(envelope) && !gen::IsTraced(envelope);
  }

  bool important_ : 1 = false;
  bool traced_ : 1 = false;
  bool measured_ : 1 = false;
  bool recorded_ : 1 = false;
  bool any_ = false;  // a byte of its own, for every message looks at it
};

}  // namespace ergon::node
