// The mark with which an envelope has come. Whoever marks the envelope anew puts the former mark back if nobody takes
// the envelope: the outer pool that made the mark counts the message as given.
#pragma once

#include <cstdint>

#include <ergon/core/messages/envelope.h>
#include <ergon/node/delivery/envelope_marks.h>

namespace ergon::node {

class FormerMark {
 public:
  FormerMark() = default;  // none
  explicit FormerMark(const core::Envelope& envelope) noexcept
      : routed_(IsRouted(envelope)),
        copy_(envelope.flags & core::Envelope::kFlagCopy),
        pool_(envelope.ref) {}

  [[nodiscard]] bool is_routed() const noexcept { return routed_; }
  void PutBack(core::Envelope& envelope) const noexcept {
    if (routed_) {
      MarkRouted(envelope, pool_);
      envelope.flags |= copy_;
    } else {
      UnmarkRouted(envelope);
    }
  }

 private:
  bool routed_ = false;
  std::uint8_t copy_ = 0;  // of a broadcast: which flag, or none
  std::uint64_t pool_ = 0;
};

}  // namespace ergon::node
