// A value of an event on its way to several nodes, without the rest of a node.
#include <ergon/node/cluster/extension/published_value.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <asio/io_context.hpp>

#include <ergon/gen/envelope_kind.h>
#include <ergon/node/cereal.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/values/trace_tokens.h>
#include <ergon/node/erlang.h>
#include <ergon/node/process_state/table.h>

namespace ergon::dist::published_value_test {
namespace {

// Counts how often it is written, in each form.
struct Quote {
  static constexpr const char* kTag = "published_quote";
  static inline int packed = 0;
  static inline int terms = 0;
  std::string text;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text);
    if constexpr (std::is_same_v<Archive, CerealWriter>) ++packed;
    if constexpr (std::is_same_v<Archive, WriteArchive>) ++terms;
  }
};
struct Unknown {};

const gen::Atom kOwn("own@127.0.0.1");
const gen::Atom kEvent("quotes");
const gen::PID kProducer{7, kOwn, 5};

gen::PID SubscriberOn(gen::Atom node) { return {9, node, 1}; }

// What the value needs of the node kOwn, whose connections never come up: what is sent waits in them.
struct Sender {
  Sender() {
    settings.node = kOwn;
    settings.creation = 5;
    settings.tick_time = std::chrono::seconds(60);
    settings.max_frame_bytes = 10'000;
    settings.max_term_depth = 100;
    settings.send_queue_bytes = 100'000;
    Quote::packed = Quote::terms = 0;
  }
  ~Sender() {
    for (const auto& connection : connections.All()) connection->Fail("the end of the test");
    context.run();
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  // Makes a connection to a node with a subscriber.
  gen::Atom NodeThat(bool packs, const std::string& name) {
    const gen::Atom node(name);
    const auto connection = connections.Get(node)->Lock();
    PeerState& peer = connection->peer_state();
    peer.subscribers[{SubscriberOn(node), kEvent}].monitor = 1;
    if (packs) {
      std::string list;
      values.packed().AppendAll(list);
      peer.packs = values.packed().Compare(list, settings.max_term_depth).value();
    }
    return node;
  }
  [[nodiscard]] std::size_t QueuedFor(gen::Atom node) {
    return connections.FindLocked(node)->QueuedBytes();
  }
  template <class T>
  static gen::MessageEvent ValueOf(T value) {
    return {{kEvent, kOwn},
            1,
            std::shared_ptr<core::Envelope>(
                core::MakeEnvelope<T>(static_cast<std::uint8_t>(gen::EnvelopeKind::kEvent),
                                      core::Lane::kMain, std::move(value))
                    .release(),
                core::EnvelopeDisposer())};
  }
  [[nodiscard]] PublishedValue Publish(const gen::MessageEvent& value) {
    return {{totals, settings, values, connections, missed}, value.Envelope()};
  }

  node::ProcessTable table{node::SlotKind{1, 1, nullptr, nullptr, nullptr}};  // of no process
  node::Addresses addresses{kOwn, 5, table};
  Settings settings;
  Values values{gen::WireTypes().Register<Quote>().Register<Cereal<Quote>>()};
  TraceTokens traces;
  MissedValues missed{addresses, settings, values, traces};
  node::MessageTotals totals;
  asio::io_context context{1};
  Tasks tasks{context};
  const Connection::Listener listener{
      .up = [](Connection&) {},
      .arrived = [](Connection&, const Signal&) {},
      .has_room = [](Connection&, const std::vector<Connection::RoomWaiter>&) {},
      .idle = [](Connection&) {},
      .down = [this](Connection& gone, const Connection::Rest&) { connections.Remove(gone); }};
  Connections connections{context, tasks, settings, listener, [](const auto&) {}};
};

}  // namespace

TEST_CASE("published value: each form is made once, if a node takes it") {
  Sender sender;
  const gen::Atom packs = sender.NodeThat(true, "packs@127.0.0.1");
  const gen::Atom terms = sender.NodeThat(false, "terms@127.0.0.1");
  const gen::Atom terms_too = sender.NodeThat(false, "terms_too@127.0.0.1");
  const gen::MessageEvent value = Sender::ValueOf(Quote{"12.50"});
  PublishedValue published = sender.Publish(value);
  CHECK_FALSE(published.IsEncodedFor(terms));
  published.Encode();
  CHECK(Quote::terms == 1);
  CHECK(Quote::packed == 0);  // no node has wanted it yet
  CHECK(published.IsEncodedFor(terms_too));
  CHECK_FALSE(published.IsEncodedFor(packs));
  published.Encode();
  CHECK(Quote::terms == 1);
  CHECK(Quote::packed == 1);
  for (const gen::Atom node : {packs, terms, terms_too}) {
    CAPTURE(node.ToString());
    CHECK(published.IsEncodedFor(node));
    CHECK(sender.QueuedFor(node) == 0);
    CHECK(published.Send(SubscriberOn(node), kProducer, value, 1));
    CHECK(sender.QueuedFor(node) != 0);
  }
  CHECK(sender.totals.given_to_nodes.Sum() == 3);
  CHECK(Quote::terms + Quote::packed == 2);
}

TEST_CASE(
    "published value: a node that says later that it packs the type gets the term that there is") {
  Sender sender;
  const gen::Atom node = sender.NodeThat(false, "says_later@127.0.0.1");
  const gen::MessageEvent value = Sender::ValueOf(Quote{"12.50"});
  PublishedValue published = sender.Publish(value);
  CHECK_FALSE(published.IsEncodedFor(node));
  published.Encode();
  (void)sender.NodeThat(true, "says_later@127.0.0.1");
  CHECK(published.Send(SubscriberOn(node), kProducer, value, 1));
  CHECK(Quote::packed == 0);
}

TEST_CASE("published value: whom it cannot go to is said, and nothing is queued or counted") {
  Sender sender;
  const gen::Atom node = sender.NodeThat(false, "refused@127.0.0.1");
  const auto error_of = [&](const gen::MessageEvent& value, gen::PID to) {
    PublishedValue published = sender.Publish(value);
    if (!published.IsEncodedFor(to.node)) published.Encode();
    return published.Send(to, kProducer, value, 1).error();
  };
  const gen::PID subscriber = SubscriberOn(node);
  const gen::MessageEvent quote = Sender::ValueOf(Quote{"12.50"});
  CHECK(error_of(quote, SubscriberOn("nowhere@127.0.0.1")) == gen::ErrNoConnection);
  CHECK(error_of(quote, {subscriber.id + 1, node, 1}) == gen::ErrNoConnection);
  const gen::Error unknown = error_of(Sender::ValueOf(Unknown{}), subscriber);
  CHECK(unknown == gen::ErrUnsupported);
  CHECK(unknown.detail().find("Unknown") != std::string::npos);
  const auto too_large = Sender::ValueOf(Quote{std::string(10'001, 'x')});
  CHECK(error_of(too_large, subscriber) == gen::ErrIncorrect);
  CHECK(sender.QueuedFor(node) == 0);
  CHECK(sender.totals.given_to_nodes.Sum() == 0);
}

}  // namespace ergon::dist::published_value_test
