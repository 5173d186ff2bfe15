// Links with processes of another node, as this side of the connection knows them.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include <ergon/gen/pid.h>

namespace ergon::dist {

// One side of a possible link. Both sides link and unlink at any time, and their signals cross. Therefore an
// unlink has a number, and is outstanding until the other side has acknowledged it: signals that come before the
// acknowledgement were sent without knowledge of the unlink. Such an exit signal is ignored, and such a link will be
// removed by the unlink when it arrives there. A new link takes an outstanding unlink back: its acknowledgement means
// nothing any more. The rules are those of Erlang (UNLINK_ID, UNLINK_ID_ACK). Two sides that keep them agree in the
// end, whatever crosses; but both may be linked although each has unlinked last, if the link of the other was on its
// way.
class LinkState {
 public:
  // -- this side; these return true if the signal has to be sent --
  bool Link() noexcept { return std::exchange(state_, kLinked) != kLinked; }
  // `id` is not 0, and not the number of an unlink that is outstanding, and not the greatest that there is.
  bool Unlink(std::uint64_t id) noexcept {
    if (!IsLinked()) return false;
    state_ = id;
    return true;
  }

  // -- what the other side has sent --
  // Returns true if this side is linked from now on and was not before.
  bool TakeLink() noexcept {
    if (!IsOver()) return false;
    state_ = kLinked;
    return true;
  }
  // Returns true if this side was linked. The unlink has to be acknowledged in any case.
  bool TakeUnlink() noexcept { return TakeEnd(); }
  void TakeAcknowledgement(std::uint64_t id) noexcept {
    if (!IsLinked() && state_ == id) state_ = kOver;
  }
  // Takes the end of the other process, or the loss of the connection. Returns true if this process has to learn of it.
  bool TakeExit() noexcept { return TakeEnd(); }

  [[nodiscard]] bool IsLinked() const noexcept { return state_ == kLinked; }
  // Returns whether there is nothing to remember.
  [[nodiscard]] bool IsOver() const noexcept { return state_ == kOver; }
  friend auto operator<=>(const LinkState&, const LinkState&) = default;

 private:
  static constexpr std::uint64_t kOver = 0;
  static constexpr std::uint64_t kLinked = ~std::uint64_t{0};

  bool TakeEnd() noexcept {
    if (!IsLinked()) return false;
    state_ = kOver;
    return true;
  }

  // Else the number of the unlink that is outstanding: a peer may have as many links as it likes, so they are small.
  std::uint64_t state_ = kOver;
};

// All link states of one connection. One thread at a time.
class LinkStates {
 public:
  // { ours, theirs }
  using Pair = std::pair<gen::PID, gen::PID>;

  bool Link(const Pair& pair) { return states_[pair].Link(); }
  // Returns the number of the unlink that has to be sent; 0: none.
  std::uint64_t Unlink(const Pair& pair) {
    const std::uint64_t id = last_unlink_ + 1;
    if (!Change(pair, [id](LinkState& state) { return state.Unlink(id); })) return 0;
    return last_unlink_ = id;
  }
  bool TakeLink(const Pair& pair) { return states_[pair].TakeLink(); }
  bool TakeUnlink(const Pair& pair) { return Change(pair, &LinkState::TakeUnlink); }
  void TakeAcknowledgement(const Pair& pair, std::uint64_t id) {
    (void)Change(pair, [id](LinkState& state) {
      state.TakeAcknowledgement(id);
      return false;
    });
  }
  bool TakeExit(const Pair& pair) { return Change(pair, &LinkState::TakeExit); }
  // Notes that our process has ended. Returns true if it was linked, and the other process has to be told.
  bool End(const Pair& pair) {
    const auto found = states_.find(pair);
    if (found == states_.end()) return false;
    const bool was_linked = found->second.IsLinked();
    states_.erase(found);
    return was_linked;
  }
  [[nodiscard]] bool IsLinked(const Pair& pair) const {
    const auto found = states_.find(pair);
    return found != states_.end() && found->second.IsLinked();
  }
  // Calls visit(ours, theirs) for each pair that is linked.
  template <class Visit>
  void VisitLinked(Visit&& visit) const {
    for (const auto& [pair, state] : states_) {
      if (state.IsLinked()) visit(pair.first, pair.second);
    }
  }
  [[nodiscard]] bool empty() const noexcept { return states_.empty(); }

 private:
  template <class Step>
  bool Change(const Pair& pair, Step&& step) {
    const auto found = states_.find(pair);
    if (found == states_.end()) return false;
    const bool outcome = std::invoke(step, found->second);
    if (found->second.IsOver()) states_.erase(found);
    return outcome;
  }

  std::map<Pair, LinkState> states_;  // without those that are over
  std::uint64_t last_unlink_ = 0;
};

}  // namespace ergon::dist
