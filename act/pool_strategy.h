// Which worker of a pool gets a message.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ergon/core/foundations/mix.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_sender.h>
#include <ergon/gen/event.h>
#include <ergon/gen/message.h>
#include <ergon/gen/trace.h>

namespace ergon::act {

// The value of PoolOptions::strategy; Rotation is the default. The promises of act::Pool hold for each strategy:
// nothing is lost silently, workers are replaced, a resize loses nothing. A deadlock of calls (kDeadlock) is detected
// when a worker has the request, but not while the request waits at a pool that places its messages itself (ByKey,
// SharedQueue), nor through a Broadcast; such calls end by their time-outs. A worker that is a pool, a worker of
// dist::RemoteWorkers or a Serializer has handled a message, as far as the pool knows, when it has passed the message
// on: so with ByKey and SharedQueue the pool gives it the next message before that one has been handled.
//
//   act::PoolStrategy::LeastLoaded()
//   act::PoolStrategy::ByKey<Deposit, Withdraw>([](const auto& order) { return order.account; })
//
// With Rotation, LeastLoaded and Random the senders bring their messages to the workers themselves. With
// ByKey and SharedQueue the messages wait at the pool, which gives each worker one at a time: this costs each
// message two more hops, and a worker never has more than the message that it handles. With Broadcast the
// pool copies the messages.
class PoolStrategy {
 public:
  enum class Kind : std::uint8_t {
    kRotation,
    kLeastLoaded,
    kRandom,
    kByKey,
    kSharedQueue,
    kBroadcast
  };

  PoolStrategy() = default;
  // The workers take turns.
  static PoolStrategy Rotation() { return PoolStrategy(); }
  // A message goes to the worker with the fewest messages, including the message that it handles; among equals, to
  // the worker whose turn it is. Each send looks at all workers.
  static PoolStrategy LeastLoaded() { return PoolStrategy(Kind::kLeastLoaded); }
  // A message goes to a random worker. With a single sender the same seed makes the same choices; several senders share
  // one sequence. The seed of a running pool cannot be changed.
  static PoolStrategy Random(std::uint64_t seed = 0) {
    PoolStrategy strategy(Kind::kRandom);
    strategy.seed_ = seed;
    return strategy;
  }
  // All messages wait in one queue, in the order of arrival; a free worker takes the next one.
  // As many messages may wait as PoolOptions::worker_mailbox_size times the number of workers, and one more that
  // comes just when the last place is taken. If worker_mailbox drops messages, and a handler of the pool
  // itself waits, more are accepted, and the surplus is dropped when that handler goes on.
  static PoolStrategy SharedQueue() { return PoolStrategy(Kind::kSharedQueue); }
  // Messages with equal keys go to the same worker and are handled in order. `key` takes a message of type
  // T, or of any of the types given, and returns a value that std::hash takes; it is called in the pool's turns. A
  // message for which it throws fails (messages_lost_failed): the caller of a request gets kApplication with the
  // text of the exception, and no other message is harmed. Messages of other types, and events, go to any free worker.
  //
  // A key stays with its worker while one of its messages waits there, is being handled, or is stashed by the
  // worker, also when the pool's size changes meanwhile. If the worker fails, the key stays with the
  // replacement, which first handles the messages that waited. Otherwise the hash of the key decides; when a
  // worker is added or taken out, few keys move. As many messages may wait as with SharedQueue, for one worker
  // or for many.
  template <class... T, class Function>
  static PoolStrategy ByKey(Function key) {
    static_assert(sizeof...(T) > 0, "name the message types: ByKey<Order>(...)");
    PoolStrategy strategy(Kind::kByKey);
    strategy.key_ = std::make_shared<const KeyOf>(MakeKeyOf<T...>(std::move(key)));
    return strategy;
  }

  // Messages of type T, or of any of the types given, and events go to every worker that is ready, busy or not:
  // each gets a copy and handles it in its turn. The numbers of the pool (Inspect) count the copies. The types have
  // to be copyable. If a copy constructor throws, no worker gets the message, and it fails as with ByKey. Messages
  // of other types go to one worker, in rotation.
  //
  // A request is answered with BroadcastAnswers: what each worker has answered, or why it has not. A worker has nine
  // tenths of the time that the caller waits. A worker whose mailbox is full misses a message, which is counted
  // (messages_lost_missed). If all workers are full, as many messages wait at the pool as may wait at one worker;
  // after that senders get errors, or a worker_mailbox that drops does so. The copies that wait at a worker that fails
  // go to its successor. Copies for a worker that is taken out are dropped, because the others have had theirs: by
  // RemoveWorkersNow those that wait in its mailbox, by RemoveWorkers those that a failed worker has left to it and
  // that it has not got yet. When the pool ends, so are those for a worker that is not there, or that fails meanwhile.
  template <class... T>
  static PoolStrategy Broadcast() {
    static_assert(sizeof...(T) > 0, "name the message types: Broadcast<Reload>()");
    static_assert((std::is_copy_constructible_v<T> && ...), "each worker gets a copy");
    PoolStrategy strategy(Kind::kBroadcast);
    strategy.copy_ = [](core::Envelope& envelope) {
      core::EnvelopePtr copy;
      (void)(CopyAs<gen::MessageEvent>(envelope, copy) || ... || CopyAs<T>(envelope, copy));
      return copy;
    };
    strategy.types_ = {core::TypeOf<gen::MessageEvent>(), core::TypeOf<T>()...};
    return strategy;
  }

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  // Returns the name, as in "least loaded".
  [[nodiscard]] std::string_view ToString() const noexcept;

  // -- for the pool --

  // Returns whether the pool places the messages itself, and not their senders.
  [[nodiscard]] bool IsPlacedByPool() const noexcept { return kind_ >= Kind::kByKey; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  // Returns the well mixed hash of the message's key, or none if the message has no key.
  [[nodiscard]] std::optional<std::uint64_t> KeyOfMessage(core::Envelope& envelope) const {
    if (key_ == nullptr) return std::nullopt;
    return (*key_)(gen::Message(envelope));
  }
  // Returns whether the message goes to all workers.
  [[nodiscard]] bool IsBroadcast(const core::Envelope& envelope) const {
    return std::any_of(types_.begin(), types_.end(),
                       [&](const auto* type) { return core::SameType(type, envelope.type); });
  }
  // Returns another envelope with the same value, sender and deadline. IsBroadcast(envelope) must be true.
  [[nodiscard]] core::EnvelopePtr Copy(core::Envelope& envelope) const { return copy_(envelope); }

 private:
  using KeyOf = std::function<std::optional<std::uint64_t>(const gen::Message&)>;

  explicit PoolStrategy(Kind kind) : kind_(kind) {}

  template <class... T, class Function>
  static KeyOf MakeKeyOf(Function key) {
    static_assert((std::is_invocable_v<const Function&, const T&> && ...),
                  "the function has to take each of the types, and to be callable when const");
    return [key = std::move(key)](const gen::Message& message) {
      std::optional<std::uint64_t> hash;
      auto ask = [&]<class Type>(const Type* value) {
        if (value == nullptr) return false;
        using Key = std::decay_t<std::invoke_result_t<const Function&, const Type&>>;
        // std::hash of an integer is mostly the integer itself.
        hash = core::Mix(std::hash<Key>()(key(*value)));
        return true;
      };
      (void)(ask(message.As<T>()) || ...);
      return hash;
    };
  }

  template <class T>
  static bool CopyAs(core::Envelope& envelope, core::EnvelopePtr& copy) {
    const T* value = envelope.ValueAs<T>();
    if (value == nullptr) return false;
    const bool has_behind = gen::HasTraceBehind(envelope);
    copy = core::MakeEnvelopeWith<T>({.trace = has_behind ? gen::TraceOf(envelope) : 0},
                                     envelope.kind, envelope.lane, *value);
    copy->from = envelope.from;
    copy->deadline = envelope.deadline;
    copy->flags |= envelope.flags & (core::Envelope::kFlagStamped | core::Envelope::kFlagImportant);
    if (!has_behind) copy->flags |= envelope.flags & core::Envelope::kFlagTraced;
    return true;
  }

  Kind kind_ = Kind::kRotation;
  std::uint64_t seed_ = 0;
  std::shared_ptr<const KeyOf> key_;
  core::EnvelopePtr (*copy_)(core::Envelope&) = nullptr;
  std::vector<const core::TypeDescriptor*> types_;  // the types that are broadcast
};

}  // namespace ergon::act
