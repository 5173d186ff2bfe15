// The events of a node: their producers, their subscribers, and the last values.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ergon/gen/atom.h>
#include <ergon/gen/event.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/result.h>
#include <ergon/node/process_state/cold.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {

// How a process has subscribed to an event. The numbers, which are unique, say which notice of its end belongs to which
// subscription; 0: not subscribed in this way.
struct Subscription {
  std::uint64_t monitor = 0;
  std::uint64_t link = 0;
  [[nodiscard]] bool empty() const noexcept { return monitor == 0 && link == 0; }
};

// Bookkeeping only; sending is the runtime's, in functions that are called under the event's lock.
// So all subscribers get an event's values in one order, which is also that of its buffer, each
// subscriber those before its subscription from there and those after it by a function; and its
// producer hears of the first and the last subscriber in the order in which they came and went. The
// functions must not come back to the same event. Any thread.
class Events {
 public:
  // Called when the event gets its first subscriber, or loses its last one, if the producer asked for
  // it.
  using Notify = std::function<void(gen::PID producer)>;
  // Returns whether a value can be sent to the subscribers on another node.
  using IsReady = std::function<bool(gen::Atom node)>;
  // `number`: of the value, from 1 on; see EventMark::seen.
  using Deliver = std::function<void(gen::PID subscriber, std::uint64_t number)>;
  using Place = std::function<void(gen::MessageEvent value)>;
  using Subscribers = std::vector<std::pair<gen::PID, Subscription>>;

  // Adds an event. Returns kTaken if there is such an event, and kIncorrect for the name or an option.
  gen::Result<void> Add(gen::Atom name, gen::PID producer, gen::Ref token,
                        const gen::EventOptions& options);
  // Ends an event, and returns its former subscribers. Returns kProcessUnknown if it is not an event of this producer.
  gen::Result<Subscribers> End(gen::Atom name, gen::PID producer);

  // Adds the subscriptions of `how` to those that the process has already, and returns the values that it has missed,
  // or calls `place`, if not null, for each of them. `mark`, if not null, is how far it got before, and is set to how
  // far it gets now; or to none if it had subscribed already, in the other way. Returns kProcessUnknown if there is no
  // such event; kTaken if it has such a subscription already; kIncorrect for the mark. Subscribes to nothing if it
  // throws; `place` may have had some of the values then.
  gen::Result<std::vector<gen::MessageEvent>> Subscribe(gen::Atom name, gen::PID subscriber,
                                                        const Subscription& how,
                                                        const Notify& notify,
                                                        EventMark* mark = nullptr,
                                                        const Place& place = nullptr);
  // Removes the numbers of `how` that are the subscriber's. It may have none, or the event may be gone. Returns how far
  // it got, if no subscription is left; else an empty mark.
  EventMark Unsubscribe(gen::Atom name, gen::PID subscriber, const Subscription& how,
                        const Notify& notify);
  // Returns the EventMark::event of the event that has the name now; 0: there is none.
  [[nodiscard]] std::uint64_t IdOf(gen::Atom name) const;
  struct Info {
    gen::Atom name;
    gen::PID producer;
    std::size_t subscribers = 0;
    std::size_t subscribers_elsewhere = 0;  // those of them that are processes of other nodes
    std::size_t buffered = 0;               // values that are kept
    std::size_t buffer = 0;                 // that may be
    std::uint64_t published = 0;
  };
  // Returns the first `most` events by the text of their names, each of its own moment, and how many there are in all.
  [[nodiscard]] std::pair<std::vector<Info>, std::size_t> Infos(std::size_t most) const;
  // Removes all subscriptions that the subscriber has, and returns them.
  Subscription Remove(gen::Atom name, gen::PID subscriber, const Notify& notify);

  // Keeps the value that `make` returns if the event has a buffer, and calls `deliver` for every subscriber. Returns
  // false, and does nothing else, if `is_ready` returns false for one of the other nodes with subscribers; all of them
  // are asked about. Returns kProcessUnknown if there is no such event; kNotAllowed for another token.
  gen::Result<bool> Publish(gen::Atom name, gen::Ref token, const IsReady& is_ready,
                            const std::function<gen::MessageEvent()>& make, const Deliver& deliver);

 private:
  struct Entry {
    Entry(gen::PID producer_in, gen::Ref token_in, const gen::EventOptions& options_in)
        : producer(producer_in), token(token_in), options(options_in) {}
    const std::uint64_t id = NextUniqueId();
    const gen::PID producer;
    const gen::Ref token;
    const gen::EventOptions options;

    std::mutex mutex;  // of what follows
    bool ended = false;
    std::map<gen::PID, Subscription> subscribers;
    std::map<gen::Atom, std::size_t>
        elsewhere;  // how many of them are processes of each other node
    std::deque<gen::MessageEvent> buffer;
    std::uint64_t published = 0;

    // Returns how many of the buffer's values, the newest ones, a process at `mark` has missed.
    [[nodiscard]] std::size_t Missed(const EventMark& mark) const;
    [[nodiscard]] bool IsElsewhere(gen::PID subscriber) const noexcept {
      return subscriber.node != producer.node;
    }
    [[nodiscard]] std::size_t SubscribersElsewhere() const;
  };

  [[nodiscard]] std::shared_ptr<Entry> Find(gen::Atom name) const;
  // Makes a place for a subscriber, or finds it: then false. With the entry's lock, as the rest. Changes nothing if it
  // throws.
  static std::pair<std::map<gen::PID, Subscription>::iterator, bool> Insert(Entry& entry,
                                                                            gen::PID subscriber);
  // Returns what a new subscriber has missed, or gives it to `place`; see Subscribe.
  static std::vector<gen::MessageEvent> TakeMissed(const Entry& entry, EventMark* mark,
                                                   const Place& place);
  // Erases a subscriber. `notify`: null if the producer has not heard of it.
  static void Erase(Entry& entry, std::map<gen::PID, Subscription>::iterator subscriber,
                    const Notify& notify);

  mutable std::shared_mutex mutex_;
  std::unordered_map<gen::Atom, std::shared_ptr<Entry>> entries_;
};

}  // namespace ergon::node
