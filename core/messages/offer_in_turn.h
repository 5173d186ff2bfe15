// A loop over the receivers of a rotation: for the owner in its turn (act/pool), and for a sender that goes by rules
// (node/delivery, whose other senders have a loop of their own: the next ticket may be another one's).
#pragma once

#include <cstdint>

#include <ergon/core/messages/rotation.h>

namespace ergon::core {

// What became of a message that one receiver was offered.
enum class Offered : std::uint8_t {
  kTaken,
  kNotTaken,  // the next receiver is asked
  kEnough,    // no other receiver is asked
};

// Offers a message to each receiver once, until one takes it. `next()` takes a ticket of the rotation and returns the
// receiver whose turn it is, 0 if there is none; `offer(receiver)` returns what became of the message. The ticket of a
// receiver that has not taken the message is given back, so that a rotation has exactly as many turns as messages were
// taken. Returns kEnough if there was no receiver. May be called from any thread.
template <class Next, class Offer>
[[gnu::always_inline]] inline Offered OfferInTurn(Rotation& rotation, Next&& next, Offer&& offer) {
  std::uint32_t tries = 0;
  do {
    const std::uint64_t receiver = next();
    const Offered offered = receiver == 0 ? Offered::kEnough : offer(receiver);
    if (offered == Offered::kTaken) [[likely]]
      return offered;
    rotation.Skipped();
    if (offered == Offered::kEnough) return offered;
  } while (++tries < rotation.size());
  return Offered::kNotTaken;
}

}  // namespace ergon::core
