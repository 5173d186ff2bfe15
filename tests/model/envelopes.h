// Memory for envelopes in models: each thread gets back at once what it has freed last, so that the
// same address returns as early as it can, and whatever still uses freed memory meets nonsense.
#pragma once

#include "shim.h"

#include "checks.h"

#include <ergon/core/messages/envelope.h>
#include <ergon/core/messages/mailbox.h>

namespace ergon::model {

// At the start of each execution. Forgets all envelopes.
void ResetEnvelopes();
// Allocated and not freed.
int LiveEnvelopes();

// The value of a model's messages. Its number is plain data: who reads it must have got the
// envelope in an orderly way.
struct Item {
  explicit Item(int value) { number.Write(value); }
  Plain<int> number;
};

inline core::EnvelopePtr MakeItem(core::Lane lane, int number) {
  return core::MakeEnvelope<Item>(0, lane, number);
}
inline int NumberOf(core::Envelope* envelope) {
  return static_cast<Item*>(envelope->Value())->number.Read();
}

// Pushes by `push(Envelope*)`; the envelope is freed when it was not taken.
template <class Push>
core::PushOutcome Give(core::EnvelopePtr envelope, Push push) {
  const core::PushOutcome outcome = push(envelope.get());
  if (outcome == core::PushOutcome::kPushed || outcome == core::PushOutcome::kMustSchedule) {
    (void)envelope.release();
  }
  return outcome;
}

}  // namespace ergon::model
