// Envelopes in order, linked by `next`. One thread at a time.
#pragma once

#include <ergon/core/messages/envelope.h>

namespace ergon::core {

struct EnvelopeList {
  Envelope* head = nullptr;
  Envelope* tail = nullptr;

  [[nodiscard]] bool empty() const noexcept { return head == nullptr; }
  // Removes and returns the first envelope. The list must not be empty.
  Envelope* PopFront() noexcept {
    Envelope* const envelope = head;
    head = envelope->next;
    if (head != nullptr) __builtin_prefetch(head);
    return envelope;
  }
  // Appends the envelopes from `first` to `last`, which are linked already.
  void Append(Envelope* first, Envelope* last) noexcept {
    last->next = nullptr;
    if (head == nullptr) {
      head = first;
    } else {
      tail->next = first;
    }
    tail = last;
  }
};

}  // namespace ergon::core
