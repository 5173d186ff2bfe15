#include <ergon/node/cluster/extension/remote_events.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/node/cluster/connection/answer_signals.h>
#include <ergon/node/cluster/extension/ergon_signals.h>
#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {
namespace {

using node::OneSubscription;

constexpr auto kEventKind = static_cast<std::uint8_t>(gen::EnvelopeKind::kEvent);
// Of a frame beside what it is about.
constexpr std::size_t kRestOfFrame = 4096;

std::uint64_t& NumberOf(node::Subscription& subscription, bool is_link) {
  return is_link ? subscription.link : subscription.monitor;
}

// False: it has subscribed in that way.
bool Add(PeerState::Subscriptions& subscriptions, gen::PID subscriber, gen::Atom event,
         OneSubscription how) {
  std::uint64_t& number = NumberOf(subscriptions[{subscriber, event}], how.link);
  if (number != 0) return false;
  number = how.number;
  return true;
}

// False: there is none of that number.
bool Take(PeerState::Subscriptions& subscriptions, gen::PID subscriber, gen::Atom event,
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
                                          OneSubscription how) {
  std::string reference;
  AppendReference(reference, how.number, needs_.settings.node, needs_.settings.creation);
  std::string payload;
  AppendSubscribe(payload, reference, event.name, how.number, how.link);
  const PeerState::Call question{.local = local,
                                 .remote = {0, event.node, 0},
                                 .question = PeerState::ErgonQuestion::kSubscribe,
                                 .event = event.name};
  return needs_.connections.With(event.node, [&](Connection& connection) -> gen::Result<void> {
    PeerState::Subscriptions& subscriptions = connection.relations().subscriptions;
    if (!Add(subscriptions, local, event.name, how)) {
      return gen::Error(gen::ErrorCode::kTaken, "subscribed already: " + event.ToString());
    }
    auto asked = AppendQuestion(connection, question, how.number, ErgonSignal(local, payload));
    if (!asked) (void)Take(subscriptions, local, event.name, how);
    return asked;
  });
}

void RemoteEvents::Unsubscribe(gen::PID local, const gen::Event& event, OneSubscription how) {
  const auto connection = needs_.connections.Find(event.node);
  if (connection == nullptr) return;
  std::string payload;
  AppendUnsubscribe(payload, event.name, how.number, how.link);
  std::lock_guard no_value(delivering_);
  std::lock_guard lock(connection->mutex());
  if (connection->state() == Connection::State::kDown) return;
  if (!Take(connection->relations().subscriptions, local, event.name, how)) return;
  if (!connection->IsForeign()) connection->AppendOwn(ErgonSignal(local, payload));
}

node::Subscription RemoteEvents::ReceiverOf(const ErgonMessage& value, gen::Atom event,
                                            Connection& connection) {
  std::lock_guard lock(connection.mutex());
  const PeerState::Subscriptions& subscriptions = connection.relations().subscriptions;
  const auto found = subscriptions.find({value.to, event});
  if (found == subscriptions.end()) return {};
  const node::Subscription& has = found->second;
  const bool is_wanted = (has.monitor != 0 && has.monitor == value.subscription.monitor) ||
                         (has.link != 0 && has.link == value.subscription.link);
  return is_wanted ? has : node::Subscription();
}

gen::Result<gen::MessageEvent> RemoteEvents::ReadValue(const gen::Event& event, std::int64_t time,
                                                       std::string_view term,
                                                       gen::TraceId trace) const {
  auto value = needs_.values.Read(term, kEventKind);
  if (!value) return std::move(value.error());
  if (trace != 0) gen::MarkTraced(**value, trace);
  return gen::MessageEvent(
      event, time, std::shared_ptr<core::Envelope>(value->release(), core::EnvelopeDisposer()));
}

void RemoteEvents::HandleValue(Connection& connection, const ErgonMessage& message, gen::PID from,
                               gen::TraceId trace) {
  const auto name = gen::Atom::Find(message.event);
  if (!name) return;
  const gen::Event event{*name, connection.peer()};
  auto value = ReadValue(event, message.time, message.term, trace);
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
  std::lock_guard lock(delivering_);
  if (ReceiverOf(message, *name, connection).empty()) return;
  const auto sent = needs_.delivery.Deliver(message.to, envelope);
  if (!sent && sent.error() != gen::ErrProcessMailboxFull) return;  // as on one node
  needs_.totals.accepted.Add();
  if (sent) return;
  needs_.delivery.Drop(std::move(envelope), message.to, gen::DropReason::kMailboxFull,
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
  {
    std::lock_guard lock(connection.mutex());
    if (!Take(connection.relations().subscriptions, message.to, *name, how)) return;
  }
  needs_.publishing.TellEnd(message.to, from, {*name, connection.peer()}, how,
                            ReadReason(message.term, &needs_.values.atoms()));
}

void RemoteEvents::HandleMissed(const PeerState::Call& question, std::uint64_t number,
                                std::string_view missed) {
  auto values = ReadMissed({question.event, question.remote.node}, missed);
  if (!values) {
    needs_.delivery.RespondError(question.local, number, values.error());
    return;
  }
  (void)needs_.delivery.Respond(question.local, number,
                                core::MakeEnvelope<std::vector<gen::MessageEvent>>(
                                    static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse),
                                    core::Lane::kMain, std::move(*values)));
}

gen::Result<std::vector<gen::MessageEvent>> RemoteEvents::ReadMissed(
    const gen::Event& event, std::string_view missed) const {
  ControlReader reader(missed, needs_.settings.max_term_depth);
  std::size_t size = 0;
  if (!reader.ReadList(size) && !reader.ReadEmptyList()) {
    return gen::Error(gen::ErrorCode::kInternal,
                      fmt::format("{} has not answered with a list of values", event.node));
  }
  struct Missed {
    std::int64_t time = 0;
    std::string_view term;
  };
  std::vector<Missed> read;
  for (; size != 0; --size) {
    std::size_t elements = 0;
    std::string_view time_term;
    Missed one;
    if (!reader.ReadTuple(elements) || elements != 2 || !reader.ReadTerm(time_term) ||
        !TermReader(time_term).ReadInteger(one.time) || !reader.ReadTerm(one.term)) {
      return gen::Error(gen::ErrorCode::kInternal,
                        fmt::format("{} has answered with what is no value", event.node));
    }
    read.push_back(one);
  }
  std::vector<gen::TraceId> traces(read.size());
  if (!ReadTokens(reader.rest(), traces)) {
    return gen::Error(gen::ErrorCode::kInternal,
                      fmt::format("{} has answered with what is no trace token", event.node));
  }
  std::vector<gen::MessageEvent> values;
  for (std::size_t i = 0; i < read.size(); ++i) {
    auto value = ReadValue(event, read[i].time, read[i].term, traces[i]);
    if (!value) return std::move(value.error());
    values.push_back(std::move(*value));
  }
  return values;
}

bool RemoteEvents::ReadTokens(std::string_view tail, std::vector<gen::TraceId>& traces) const {
  ControlReader reader(tail, needs_.settings.max_term_depth);
  std::size_t size = 0;
  if (!reader.ReadList(size)) return true;  // none has one
  if (size != traces.size()) return false;
  for (gen::TraceId& trace : traces) {
    if (reader.ReadEmptyList()) continue;
    std::string_view token;
    if (!reader.ReadTerm(token)) return false;
    trace = needs_.traces.Take(token);
    if (trace == 0) return false;
  }
  return true;
}

// ---- what those of other nodes want

gen::Result<void> RemoteEvents::HandleSubscribe(Connection& connection, const ErgonMessage& message,
                                                gen::PID from, std::string& missed) {
  const auto name = gen::Atom::Find(message.event);
  if (!name) return UnknownEvent(message.event);
  const OneSubscription how{message.number, message.is_link};
  // Noted first: the event may end in between.
  {
    std::lock_guard lock(connection.mutex());
    if (connection.state() == Connection::State::kDown) return gen::ErrNoConnection;
    if (!Add(connection.relations().subscribers, from, *name, how)) return gen::ErrTaken;
  }
  auto values = needs_.publishing.SubscribeFromAfar(from, *name, how);
  gen::Result<void> outcome;
  if (!values) {
    outcome = std::move(values.error());
  } else {
    TermWriter writer(missed);
    writer.List(values->size());
    for (const gen::MessageEvent& value : *values) {
      writer.Tuple(2);
      writer.Integer(value.timestamp());
      outcome = needs_.values.Append(missed, value.Envelope());
      if (outcome && !CheckBytes(missed.size())) outcome = BufferTooLarge(*name);
      if (!outcome) break;
    }
    // They count: not for what is not sent.
    if (outcome) AppendTokens(missed, *values);
    if (outcome && !CheckBytes(missed.size())) outcome = BufferTooLarge(*name);
  }
  if (!outcome) HandleUnsubscribe(connection, message, from);
  return outcome;
}

void RemoteEvents::AppendTokens(std::string& missed,
                                const std::vector<gen::MessageEvent>& values) const {
  TermWriter writer(missed);
  const bool has_any = std::ranges::any_of(
      values, [](const auto& value) { return gen::TraceOf(value.Envelope()) != 0; });
  if (has_any) writer.List(values.size());
  for (const gen::MessageEvent& value : values) {
    if (!has_any) break;
    const std::string token =
        needs_.traces.Make(gen::TraceOf(value.Envelope()), needs_.addresses.NodePid());
    token.empty() ? writer.Nil() : writer.Raw(token);
  }
  writer.Nil();
}

gen::Error RemoteEvents::BufferTooLarge(gen::Atom event) const {
  return gen::Error(
      gen::ErrorCode::kIncorrect,
      fmt::format("the buffer of event {} has more than the {} bytes that a frame may "
                  "have",
                  event, needs_.settings.max_frame_bytes));
}

void RemoteEvents::HandleUnsubscribe(Connection& connection, const ErgonMessage& message,
                                     gen::PID from) {
  const auto name = gen::Atom::Find(message.event);
  if (!name) return;
  const OneSubscription how{message.number, message.is_link};
  {
    std::lock_guard lock(connection.mutex());
    if (!Take(connection.relations().subscribers, from, *name, how)) return;
  }
  needs_.publishing.EndSubscription({{*name, needs_.settings.node}, how.number, how.link}, from);
}

gen::Result<std::string> RemoteEvents::Encode(const core::Envelope& value) const {
  std::string term;
  auto written = needs_.values.Append(term, value);
  if (!written) return gen::Error(gen::ErrorCode::kUnsupported, written.error().ToString());
  if (auto fits = CheckBytes(term.size()); !fits) return std::move(fits.error());
  return term;
}

gen::Result<void> RemoteEvents::CheckBytes(std::size_t bytes) const {
  return CheckFrame(bytes + kRestOfFrame, needs_.settings.max_frame_bytes, needs_.settings.node);
}

gen::Result<void> RemoteEvents::SendValue(gen::PID remote, gen::PID from,
                                          const gen::MessageEvent& value,
                                          std::string_view encoded) {
  const gen::Atom event = value.event().name;
  const auto connection = needs_.connections.Find(remote.node);
  if (connection == nullptr) return gen::ErrNoConnection;
  std::lock_guard lock(connection->mutex());
  if (connection->state() == Connection::State::kDown) return gen::ErrNoConnection;
  const auto& subscribers = connection->relations().subscribers;
  const auto found = subscribers.find({remote, event});
  if (found == subscribers.end()) return gen::ErrNoConnection;  // of a former connection
  auto accepts = connection->Accepts(remote);
  if (!accepts) return accepts;
  std::string payload;
  AppendValue(payload, remote, event, found->second, value.timestamp());
  payload += encoded;
  Signal signal = ErgonSignal(from, payload);
  signal.trace = gen::TraceOf(value.Envelope());
  auto appended = connection->AppendMessage(signal);
  if (appended) needs_.totals.sent_to_nodes.Add();
  return appended;
}

void RemoteEvents::TellEnd(gen::PID remote, gen::PID producer, gen::Atom event, OneSubscription how,
                           const gen::Reason& reason) {
  const auto connection = needs_.connections.Find(remote.node);
  if (connection == nullptr) return;
  std::string payload;
  AppendEventEnd(payload, remote, event, how.number, how.link);
  const std::string head = payload;
  AppendReason(payload, reason);
  std::lock_guard lock(connection->mutex());
  if (connection->state() == Connection::State::kDown) return;
  if (Take(connection->relations().subscribers, remote, event, how)) {
    AppendEnd(*connection, ErgonSignal(producer, payload), head);
  }
}

void RemoteEvents::Lost(gen::Atom node, const PeerState& relations) {
  // Those who wait for the answer to their subscription get an error as the answer.
  const auto is_pending = [&](OneSubscription how) { return relations.calls.contains(how.number); };
  const auto for_each = [](const PeerState::Subscriptions& subscriptions, const auto& does) {
    for (const auto& subscription : subscriptions) {
      const auto& [whose, how] = subscription;
      node::ForEach(how, [&, of = whose](OneSubscription one) { does(of.first, of.second, one); });
    }
  };
  for_each(relations.subscribers, [&](gen::PID remote, gen::Atom event, OneSubscription how) {
    needs_.publishing.EndSubscription({{event, needs_.settings.node}, how.number, how.link},
                                      remote);
  });
  for_each(relations.subscriptions, [&](gen::PID local, gen::Atom event, OneSubscription how) {
    if (is_pending(how)) return;
    needs_.publishing.TellEnd(local, needs_.addresses.NodePid(), {event, node}, how,
                              gen::Reason::NoConnection());
  });
}

}  // namespace ergon::dist
