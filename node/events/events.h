// The events of a node: who produces, who subscribes, and what was published last.
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

#include <ergon/gen/event.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/result.h>
#include <ergon/node/process_state/cold.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {

// How a process has subscribed to an event. The numbers, unique, say which notice of its end belongs
// to which subscription; 0: not in this way.
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
  // `number`: of the value, from 1 on; see EventMark::seen.
  using Deliver = std::function<void(gen::PID subscriber, std::uint64_t number)>;
  using Place = std::function<void(gen::MessageEvent value)>;
  using Subscribers = std::vector<std::pair<gen::PID, Subscription>>;

  // kTaken: there is such an event; kIncorrect: the name, or an option.
  gen::Result<void> Add(gen::Atom name, gen::PID producer, gen::Ref token,
                        const gen::EventOptions& options);
  // The former subscribers. kProcessUnknown: not an event of this producer.
  gen::Result<Subscribers> End(gen::Atom name, gen::PID producer);

  // Adds what `how` has to what the process has already, and returns what it has missed, or calls `place`, if not
  // null, for each of that. `mark`, if not null, is where it was before, and where it is now; or none if it had subscribed
  // already, in the other way. kProcessUnknown: no such event; kTaken: it has that already; kIncorrect: the mark.
  gen::Result<std::vector<gen::MessageEvent>> Subscribe(gen::Atom name, gen::PID subscriber,
                                                        const Subscription& how,
                                                        const Notify& notify,
                                                        EventMark* mark = nullptr,
                                                        const Place& place = nullptr);
  // Takes away those numbers of `how` that are the subscriber's. It may have none, or the event may
  // be gone. Returns where it is, if nothing is left; else none.
  EventMark Unsubscribe(gen::Atom name, gen::PID subscriber, const Subscription& how,
                        const Notify& notify);
  // EventMark::event of what has the name now; 0: nothing.
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
  // The first `most` by the text of their names, each of its own moment, and how many there are in all.
  [[nodiscard]] std::pair<std::vector<Info>, std::size_t> Infos(std::size_t most) const;
  // Takes away all that the subscriber has, and returns it.
  Subscription Remove(gen::Atom name, gen::PID subscriber, const Notify& notify);

  // Keeps the value that `make` returns if the event has a buffer, and calls `deliver` for every
  // subscriber. False, and nothing has happened: some are processes of other nodes, and the value is not
  // `encoded` for them yet. kProcessUnknown: no such event; kNotAllowed: another token.
  gen::Result<bool> Publish(gen::Atom name, gen::Ref token, bool encoded,
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
    std::size_t subscribers_elsewhere = 0;  // those of them that are processes of other nodes
    std::deque<gen::MessageEvent> buffer;
    std::uint64_t published = 0;

    // Of the values in the buffer, those that are not behind `mark`: the newest.
    [[nodiscard]] std::size_t Missed(const EventMark& mark) const;
    [[nodiscard]] bool IsElsewhere(gen::PID subscriber) const noexcept {
      return subscriber.node != producer.node;
    }
  };

  [[nodiscard]] std::shared_ptr<Entry> Find(gen::Atom name) const;
  // With the entry's lock.
  static void Erase(Entry& entry, std::map<gen::PID, Subscription>::iterator subscriber,
                    const Notify& notify);

  mutable std::shared_mutex mutex_;
  std::unordered_map<gen::Atom, std::shared_ptr<Entry>> entries_;
};

}  // namespace ergon::node
