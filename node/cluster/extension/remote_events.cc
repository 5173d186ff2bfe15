#include <ergon/node/cluster/extension/remote_events.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/host/drop_reason_of.h>
#include <ergon/node/cluster/connection/answer_signals.h>
#include <ergon/node/cluster/extension/ergon_signals.h>
#include <ergon/node/cluster/extension/published_value.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/diagnosis/descriptions.h>

namespace ergon::dist {
namespace {

using node::OneSubscription;

constexpr auto kEventKind = static_cast<std::uint8_t>(gen::EnvelopeKind::kEvent);
std::uint64_t& NumberOf(node::Subscription& subscription, bool is_link) {
  return is_link ? subscription.link : subscription.monitor;
}

// False: it has subscribed in that way.
template <class Subscriptions>
bool Add(Subscriptions& subscriptions, gen::PID subscriber, gen::Atom event, OneSubscription how) {
  std::uint64_t& number = NumberOf(subscriptions[{subscriber, event}], how.link);
  if (number != 0) return false;
  number = how.number;
  return true;
}

// False: there is none of that number.
template <class Subscriptions>
bool RemoveSubscription(Subscriptions& subscriptions, gen::PID subscriber, gen::Atom event,
                        OneSubscription how) {
  const auto found = subscriptions.find({subscriber, event});
  if (found == subscriptions.end()) return false;
  std::uint64_t& number = NumberOf(found->second, how.link);
  if (number != how.number) return false;
  number = 0;
  if (found->second.empty()) subscriptions.erase(found);
  return true;
}

gen::Error UnknownEvent(std::string_view name) {
  return gen::Error(gen::ErrorCode::kProcessUnknown, fmt::format("no event {}", name));
}

}  // namespace

// ---- what processes of this node want

gen::Result<void> RemoteEvents::Subscribe(gen::PID local, const gen::Event& event,
                                          OneSubscription how,
                                          const std::shared_ptr<node::EventProgress>& progress,
                                          bool may_wait) {
  std::string reference;
  AppendReference(reference, how.number, needs_.settings.node, needs_.settings.creation);
  std::string payload;
  AppendSubscribe(payload, reference, event.name, how.number, how.link);
  // What comes from here on is of this subscription: else the mark could be behind a value of the last one.
  std::lock_guard no_value(delivering_);
  std::string mark;
  AppendMark(mark, event.name, how.number, progress->mark);
  const Signal first = ErgonSignal(local, mark);
  const PeerState::Call question{.local = local,
                                 .remote = {0, event.node, 0},
                                 .question = PeerState::ErgonQuestion::kSubscribe,
                                 .event = event.name,
                                 .is_link = how.link,
                                 .may_wait = may_wait && progress->has_come};
  return needs_.connections.With(event.node, [&](Connection& connection) -> gen::Result<void> {
    auto& subscriptions = connection.peer_state().subscriptions;
    if (!Add(subscriptions, local, event.name, how)) {
      return gen::Error(gen::ErrorCode::kTaken, "subscribed already: " + event.ToString());
    }
    subscriptions[{local, event.name}].progress = progress;
    auto asked =
        SendQuestion(connection, question, how.number, ErgonSignal(local, payload), &first);
    if (!asked) (void)RemoveSubscription(subscriptions, local, event.name, how);
    return asked;
  });
}

void RemoteEvents::Unsubscribe(gen::PID local, const gen::Event& event, OneSubscription how) {
  std::string payload;
  AppendUnsubscribe(payload, event.name, how.number, how.link);
  std::lock_guard no_value(delivering_);
  const auto connection = needs_.connections.FindLocked(event.node);
  if (!connection) return;
  if (!RemoveSubscription(connection->peer_state().subscriptions, local, event.name, how)) return;
  if (!connection->IsForeign()) connection->Send(ErgonSignal(local, payload), SentAs::kOwn);
}

PeerState::Subscription RemoteEvents::ReceiverOf(const ErgonMessage& value, gen::Atom event,
                                                 Connection& connection) {
  const auto lock = connection.Lock();
  const auto& subscriptions = connection.peer_state().subscriptions;
  const auto found = subscriptions.find({value.to, event});
  if (found == subscriptions.end()) return {};
  const PeerState::Subscription& has = found->second;
  const bool is_wanted = (has.monitor != 0 && has.monitor == value.subscription.monitor) ||
                         (has.link != 0 && has.link == value.subscription.link);
  return is_wanted ? has : PeerState::Subscription();
}

void RemoteEvents::HandleValue(Connection& connection, const ErgonMessage& message, gen::PID from,
                               gen::TraceId trace) {
  const auto name = gen::Atom::Find(message.event);
  if (!name) return;
  const gen::Event event{*name, connection.peer()};
  auto value = missed_.ReadValue(event, message.time, message.term, trace);
  if (!value) {
    if (const auto more = unfit_lines_.Take()) {
      gen::Log(needs_.log)
          .Warning("network: a value of {} for {} does not fit its type: {}{}", event,
                   node::AsInItsLines(needs_.addresses, message.to), value.error(), *more);
    }
    EndAll(connection, message, event, value.error());  // rather than a gap
    return;
  }
  auto envelope =
      core::MakeEnvelope<gen::MessageEvent>(kEventKind, core::Lane::kMain, std::move(*value));
  envelope->from = from.ToAddress();
  if (trace != 0) gen::MarkTraced(*envelope, trace);
  needs_.delivery.NoteSent(*envelope);
  // What is dropped, this value or one that it pushes out, is destroyed when the lock is free again: a destructor may
  // wait for somebody who is about to unsubscribe.
  const node::LateDrops late_drops = needs_.delivery.DropLate();
  gen::Result<void> sent;
  {
    const std::lock_guard lock(delivering_);
    const PeerState::Subscription receiver = ReceiverOf(message, *name, connection);
    if (receiver.empty()) return;
    sent = needs_.delivery.Deliver(message.to, envelope);
    if (!sent && gen::HasReceiverEnded(sent.error()))
      return;  // as on one node: it is no subscriber any more
    node::EventProgress& progress = *receiver.progress;
    progress.mark.seen = std::max(progress.mark.seen, message.mark.seen);
    progress.has_come = true;
    needs_.totals.accepted.Add();
  }
  if (sent) return;
  needs_.delivery.Drop(std::move(envelope), message.to, gen::DropReasonOf(sent.error()),
                       sent.error());
}

void RemoteEvents::EndAll(Connection& connection, const ErgonMessage& value,
                          const gen::Event& event, const gen::Error& why) {
  node::ForEach(ReceiverOf(value, event.name, connection), [&](OneSubscription how) {
    Unsubscribe(value.to, event, how);
    needs_.publishing.TellEnd(value.to, needs_.addresses.NodePid(), event, how,
                              gen::Reason::Error(why.ToString()));
  });
}

void RemoteEvents::HandleEnd(Connection& connection, const ErgonMessage& message, gen::PID from) {
  const auto name = gen::Atom::Find(message.event);
  if (!name) return;
  const OneSubscription how{message.number, message.is_link};
  if (!RemoveSubscription(connection.Lock()->peer_state().subscriptions, message.to, *name, how))
    return;
  needs_.publishing.TellEnd(message.to, from, {*name, connection.peer()}, how,
                            ReadReason(message.term, &needs_.values.atoms()));
}

void RemoteEvents::HandleAnswer(Connection& connection, const PeerState::Call& question,
                                std::uint64_t number, std::string_view answer) {
  const gen::Event event{question.event, question.remote.node};
  auto missed = missed_.ReadAnswer(event, answer);
  if (!missed) {
    Unsubscribe(question.local, event, {number, question.is_link});
    needs_.delivery.RespondError(question.local, number, missed.error());
    return;
  }
  // Destroyed when the lock is free again; as in HandleValue.
  const std::vector<gen::MessageEvent> kept = missed->values;
  const node::LateDrops late_drops = needs_.delivery.DropLate();
  std::unique_lock lock(delivering_);
  const auto progress = ProgressOf(connection, question, number, missed->mark);
  const bool places = progress != nullptr && question.may_wait && missed->mark.event != 0;
  if (places) {
    for (gen::MessageEvent& value : missed->values) {
      needs_.publishing.PlaceMissed(question.local, std::move(value));
    }
    missed->values.clear();
  }
  const auto told =
      needs_.delivery.Respond(question.local, number,
                              core::MakeEnvelope<std::vector<gen::MessageEvent>>(
                                  static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse),
                                  core::Lane::kMain, std::move(missed->values)));
  if (progress == nullptr) return;
  if (!told && !places) {
    // It waits no more and has not had these: a value that came before it ends the subscription would move its mark
    // past them. This thread alone delivers values.
    lock.unlock();
    Unsubscribe(question.local, event, {number, question.is_link});
    return;
  }
  if (missed->mark.event != 0) progress->mark = missed->mark;
  progress->has_come = true;
}

std::shared_ptr<node::EventProgress> RemoteEvents::ProgressOf(Connection& connection,
                                                              const PeerState::Call& question,
                                                              std::uint64_t number,
                                                              node::EventMark& mark) {
  const auto lock = connection.Lock();
  mark.creation = connection.peer_creation();
  // It may have given up, and asked anew.
  const auto* const found = connection.peer_state().SubscriptionOf(question, number);
  return found == nullptr ? nullptr : found->progress;
}

void RemoteEvents::HandleRefusal(Connection& connection, const PeerState::Call& question,
                                 std::uint64_t number) {
  (void)RemoveSubscription(connection.Lock()->peer_state().subscriptions, question.local,
                           question.event, {number, question.is_link});
}

// ---- what those of other nodes want

void RemoteEvents::HandleMark(Connection& connection, const ErgonMessage& message, gen::PID from) {
  const auto lock = connection.Lock();
  connection.peer_state().knows_marks = true;
  connection.peer_state().next_mark = {from, message.number, message.mark};
}

gen::Result<void> RemoteEvents::HandleSubscribe(Connection& connection, const ErgonMessage& message,
                                                gen::PID from, std::string& answer) {
  const auto name = gen::Atom::Find(message.event);
  if (!name) return UnknownEvent(message.event);
  const OneSubscription how{message.number, message.is_link};
  node::EventMark mark;
  bool wants_mark = false;
  // Noted first: the event may end in between.
  {
    const auto lock = connection.Lock();
    if (connection.state() == Connection::State::kDown) return gen::ErrNoConnection;
    PeerState& peer = connection.peer_state();
    if (!Add(peer.subscribers, from, *name, how)) return gen::ErrTaken;
    peer.answering = std::make_unique<PeerState::Answering>(PeerState::Answering{from, *name});
    const PeerState::Mark last = std::exchange(peer.next_mark, {});
    wants_mark = last.number == message.number && last.subscriber == from;
    if (wants_mark && last.mark.creation == needs_.settings.creation) mark = last.mark;
  }
  auto values = needs_.publishing.SubscribeFromAfar(from, *name, how, mark);
  auto outcome =
      values ? missed_.AppendAnswer(answer, {*name, *values, wants_mark ? mark : node::EventMark()},
                                    connection)
             : gen::Result<void>(std::move(values.error()));
  if (!outcome) HandleUnsubscribe(connection, message, from);
  return outcome;
}

void RemoteEvents::SendHeld(Connection& connection) {
  const auto lock = connection.Lock();
  const auto answering = std::move(connection.peer_state().answering);
  if (answering == nullptr) return;
  for (const PeerState::Answering::Held& held : answering->held) {
    Signal signal = ErgonSignal(held.from, held.payload);
    signal.trace = held.trace;
    if (held.head.empty()) {
      (void)connection.TrySend(signal, SentAs::kMessage);  // PublishedValue has looked at its size
    } else {
      SendEnd(connection, signal, held.head);
    }
  }
}

void RemoteEvents::HandleUnsubscribe(Connection& connection, const ErgonMessage& message,
                                     gen::PID from) {
  const auto name = gen::Atom::Find(message.event);
  if (!name) return;
  const OneSubscription how{message.number, message.is_link};
  if (!RemoveSubscription(connection.Lock()->peer_state().subscribers, from, *name, how)) return;
  needs_.publishing.EndSubscription({{*name, needs_.settings.node}, how.number, how.link}, from);
}

std::unique_ptr<node::ValueForNodes> RemoteEvents::ForNodes(const core::Envelope& value) const {
  return std::make_unique<PublishedValue>(
      PublishedValue::Needs{needs_.totals, needs_.settings, needs_.values, needs_.connections,
                            missed_},
      value);
}

void RemoteEvents::TellEnd(gen::PID remote, gen::PID producer, gen::Atom event, OneSubscription how,
                           const gen::Reason& reason) {
  std::string payload;
  AppendEventEnd(payload, remote, event, how.number, how.link);
  const std::string head = payload;
  AppendReason(payload, reason);
  const auto connection = needs_.connections.FindLocked(remote.node);
  if (!connection) return;
  PeerState& peer = connection->peer_state();
  if (!RemoveSubscription(peer.subscribers, remote, event, how)) return;
  if (PeerState::Answering* const answering = peer.AnsweringOf(remote, event)) {
    answering->held.push_back({producer, std::move(payload), 0, head});
    return;
  }
  SendEnd(*connection, ErgonSignal(producer, payload), head);
}

void RemoteEvents::Lost(gen::Atom node, const PeerState& peer) {
  // Those who wait for the answer to their subscription get an error as the answer.
  const auto is_pending = [&](OneSubscription how) { return peer.calls.contains(how.number); };
  const auto for_each = [](const auto& subscriptions, const auto& does) {
    for (const auto& subscription : subscriptions) {
      const auto& [whose, how] = subscription;
      node::ForEach(how, [&, of = whose](OneSubscription one) { does(of.first, of.second, one); });
    }
  };
  for_each(peer.subscribers, [&](gen::PID remote, gen::Atom event, OneSubscription how) {
    needs_.publishing.EndSubscription({{event, needs_.settings.node}, how.number, how.link},
                                      remote);
  });
  for_each(peer.subscriptions, [&](gen::PID local, gen::Atom event, OneSubscription how) {
    if (is_pending(how)) return;
    needs_.publishing.TellEnd(local, needs_.addresses.NodePid(), {event, node}, how,
                              gen::Reason::NoConnection());
  });
}

}  // namespace ergon::dist
