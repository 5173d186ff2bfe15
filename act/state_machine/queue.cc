#include <ergon/act/state_machine/queue.h>

#include <iterator>
#include <utility>

namespace ergon::act {

void StateQueue::Raise(std::vector<OwnStateEvent> events) {
  raised_.insert(raised_.begin(), std::make_move_iterator(events.begin()),
                 std::make_move_iterator(events.end()));
}

std::optional<OwnStateEvent> StateQueue::TakeRaised() {
  if (raised_.empty()) return std::nullopt;
  OwnStateEvent event = std::move(raised_.front());
  raised_.pop_front();
  return event;
}

std::optional<StateQueue::Behind> StateQueue::StateChanged() {
  if (postponed_ == 0) return std::nullopt;
  postponed_ = 0;
  Behind behind{
      .events = {std::make_move_iterator(raised_.begin()), std::make_move_iterator(raised_.end())},
      .mark = !retrying_};
  raised_.clear();
  retrying_ = true;
  return behind;
}

}  // namespace ergon::act
