// Values of events to nodes that pack their type, to nodes that do not, and to both at once.
#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/gen/event.h>
#include <ergon/node/cereal.h>
#include <ergon/node/cluster/extension/ergon_signals.h>
#include <ergon/node/cluster/signals/ergon_messages.h>
#include <ergon/node/cluster/values/packed_types.h>

#include <cluster/cluster.h>
#include <cluster/erlang_peer.h>

namespace ergon::dist::packed_events_test {

// Says how it has been read, and counts how often it is written.
struct Price {
  static constexpr const char* kTag = "packed_price";
  static inline std::atomic<int> packed{0};
  static inline std::atomic<int> terms{0};
  int number = 0;
  std::string of;
  bool was_packed = false;  // not a part of it
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, of);
    if constexpr (std::is_same_v<Archive, CerealReader>) was_packed = true;
    if constexpr (std::is_same_v<Archive, CerealWriter>) ++packed;
    if constexpr (std::is_same_v<Archive, WriteArchive>) ++terms;
  }
};

// Which has no other form.
struct Sketch {
  std::unique_ptr<int> number;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number);
  }
};

// As of another program: the same name, and another version.
template <class T>
struct OtherVersion {};

}  // namespace ergon::dist::packed_events_test

CEREAL_CLASS_VERSION(ergon::dist::packed_events_test::Price, 1)

namespace ergon::dist {

template <class T>
struct WireTypeOf<packed_events_test::OtherVersion<T>> {
  static std::shared_ptr<const WireType> Describe(const gen::WireTypeOptions& options = {}) {
    auto type = std::make_shared<WireType>(*WireTypeOf<Cereal<T>>::Describe(options));
    type->packed->version += 1;
    type->packed->fingerprint += 1;
    return type;
  }
};

namespace packed_events_test {
namespace {

gen::WireTypes Terms() { return gen::WireTypes().Register<Price>(); }
gen::WireTypes Both() { return Terms().Register<Cereal<Price>>().Register<Cereal<Sketch>>(); }

struct OneNode {
  OneNode(const std::string& name, const gen::WireTypes& types, std::uint16_t port = 0)
      : node(Start(name, types, port)) {}
  ~OneNode() {
    node.Stop();
    kit::CheckBalance(node);
  }
  node::Node Start(const std::string& name, const gen::WireTypes& types, std::uint16_t port) {
    ErlangOptions network = ClusterOptions();
    if (port != 0) network.listen_port = port;
    gen::NodeOptions options;
    options.types = types;
    return TryStart(name + "@127.0.0.1", log, network, options).value();
  }

  kit::LogCapture log;
  node::Node node;
};

// Publishes what it is told to: {line, 0, _} a Sketch, other lines a Price. Keeps the last one.
class Publisher final : public act::Actor {
  gen::Status Init(const gen::Args&) override {
    token_ = RegisterEvent("packed_prices", {.buffer = 1}).value();
    return gen::Continue();
  }
  // How many have got it.
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    const int number = request.As<Sum>()->numbers.front();
    const auto sent = number == 0
                          ? SendEvent("packed_prices", token_, Sketch{std::make_unique<int>(7)})
                          : SendEvent("packed_prices", token_, Price{number, "tea"});
    return gen::Reply(static_cast<std::int64_t>(sent.value()));
  }
  gen::Ref token_;
};
struct Publishing {
  explicit Publishing(node::Node& of)
      : node(of), pid(node.Spawn(gen::Factory<Publisher>()).value()) {}
  std::int64_t operator()(int number) const {
    return node.Call<std::int64_t>(pid, Sum{{number}}, {.timeout = 60s}).value();
  }
  [[nodiscard]] gen::Event event() const { return {"packed_prices", node.Name()}; }

  node::Node& node;
  const gen::PID pid;
};

// "packed 7 tea", "term 7 tea", "sketch 7", or what has come instead.
std::string TextOf(const gen::MessageEvent& value) {
  if (const auto* price = value.As<Price>()) {
    return (price->was_packed ? "packed " : "term ") + std::to_string(price->number) + ' ' +
           price->of;
  }
  const auto* sketch = value.As<Sketch>();
  return sketch == nullptr ? "another type" : "sketch " + std::to_string(*sketch->number);
}

// A process that subscribes, and notes what it gets until the subscription ends.
class Subscriber {
 public:
  Subscriber(node::Node& node, const gen::Event& event) {
    std::promise<void> subscribed;
    pid_ = node.Spawn([this, event, told = &subscribed](gen::Process& self) {
                 const auto missed = self.MonitorEvent(event);
                 if (!missed) Note("refused: " + missed.error().ToString());
                 if (missed) {
                   for (const auto& value : *missed) Note("missed " + TextOf(value));
                 }
                 told->set_value();
                 while (missed) {
                   auto next = self.Receive<gen::MessageEvent, gen::MessageDownEvent>(1min);
                   if (!next) break;
                   if (const auto* down = std::get_if<gen::MessageDownEvent>(&*next)) {
                     Note("down: " + down->reason.ToString());
                     break;
                   }
                   Note(TextOf(std::get<gen::MessageEvent>(*next)));
                 }
               })
               .value();
    node_ = &node;
    subscribed.get_future().get();
  }
  ~Subscriber() {
    (void)node_->Kill(pid_);
    CHECK(node_->WaitProcess(pid_));
  }
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  [[nodiscard]] bool Gets(const std::vector<std::string>& all) const {
    const bool are_there = kit::Eventually([&] { return noted().size() >= all.size(); });
    CHECK(noted() == all);
    return are_there;
  }

 private:
  void Note(std::string text) {
    std::lock_guard lock(mutex_);
    noted_.push_back(std::move(text));
  }
  [[nodiscard]] std::vector<std::string> noted() const {
    std::lock_guard lock(mutex_);
    return noted_;
  }

  mutable std::mutex mutex_;
  std::vector<std::string> noted_;
  node::Node* node_ = nullptr;
  gen::PID pid_;
};

}  // namespace

TEST_CASE("packed events: to one node packed, to another as a term, each form made once") {
  OneNode there("packed_events_p", Both());
  OneNode packs("packed_events_a", Both());
  OneNode terms("packed_events_b", Terms());
  const Publishing publish(there.node);
  CHECK(publish(1) == 0);
  const Subscriber first(packs.node, publish.event());
  const Subscriber second(packs.node, publish.event());
  Price::packed = 0;
  Price::terms = 0;
  CHECK(publish(2) == 2);
  CHECK(Price::packed == 1);
  CHECK(Price::terms == 0);  // nobody takes it
  const Subscriber third(terms.node, publish.event());
  const Subscriber fourth(terms.node, publish.event());
  const Subscriber here(there.node, publish.event());
  Price::packed = 0;
  Price::terms = 0;
  CHECK(publish(3) == 5);
  CHECK(Price::packed == 1);
  CHECK(Price::terms == 1);
  for (const Subscriber* of : {&first, &second}) {
    CHECK(of->Gets({"missed packed 1 tea", "packed 2 tea", "packed 3 tea"}));
  }
  for (const Subscriber* of : {&third, &fourth})
    CHECK(of->Gets({"missed term 2 tea", "term 3 tea"}));
  CHECK(here.Gets({"missed term 2 tea", "term 3 tea"}));  // as it is
}

TEST_CASE("packed events: another version ends the subscription, and names the type and both") {
  OneNode there("packed_events_v1", Both());
  OneNode other("packed_events_v2", Terms().Register<OtherVersion<Price>>());
  OneNode packs("packed_events_v3", Both());
  const Publishing publish(there.node);
  const Subscriber refused(other.node, publish.event());
  const Subscriber goes_on(packs.node, publish.event());
  const std::string why =
      "packed_price: version 1 of it here, version 2 on packed_events_v2@127.0.0.1";
  CHECK(publish(1) == 1);
  CHECK(refused.Gets({"down: " + gen::Error(gen::ErrorCode::kIncorrect, why).ToString()}));
  // The buffer has it still.
  const Subscriber again(other.node, publish.event());
  CHECK(again.Gets({"refused: " + gen::Error(gen::ErrorCode::kIncorrect, why).ToString()}));
  CHECK(publish(2) == 1);
  CHECK(goes_on.Gets({"packed 1 tea", "packed 2 tea"}));
}

TEST_CASE("packed events: a type without another form, at once with what was missed") {
  OneNode there("packed_events_s1", Both());
  OneNode packs("packed_events_s2", Both());
  OneNode terms("packed_events_s3", Terms());
  const Publishing publish(there.node);
  CHECK(publish(0) == 0);
  // The first thing that its node says there.
  const Subscriber subscriber(packs.node, publish.event());
  const std::string why =
      gen::Error(gen::ErrorCode::kUnsupported,
                 "ergon::dist::packed_events_test::Sketch is packed only (dist::Cereal), and "
                 "packed_events_s3@127.0.0.1 does not know it so")
          .ToString();
  const Subscriber refused(terms.node, publish.event());
  CHECK(refused.Gets({"refused: " + why}));
  CHECK(publish(1) == 1);
  const Subscriber ended(terms.node, publish.event());
  CHECK(publish(0) == 1);
  CHECK(ended.Gets({"missed term 1 tea", "down: " + why}));
  CHECK(subscriber.Gets({"missed sketch 7", "packed 1 tea", "sketch 7"}));
}

namespace {

// Subscribes to packed_prices of the node.
void SubscribeAs(ErlangPeer& peer, std::uint64_t number) {
  std::string text;
  AppendSubscribe(text, peer.Reference(number), "packed_prices", number, false);
  peer.Add({.kind = SignalKind::kSendToName,
            .from = peer.Pid(1),
            .name = kErgonName,
            .payload = text})
      .Flush();
  (void)peer.Await(SignalKind::kSendToAlias);
}
// The next value that the node sends to the peer, as a term.
std::string AwaitValue(ErlangPeer& peer, gen::Atom name) {
  for (;;) {
    const Signal signal = peer.Await(SignalKind::kSendToName);
    const auto message = ReadErgonMessage(signal.payload, name, 100);
    if (message && message->kind == ErgonMessage::Kind::kValue) return std::string(message->term);
  }
}

}  // namespace

TEST_CASE("packed events: a node that has not said what it packs gets terms, or a value less") {
  const std::uint16_t port = FreePort();
  OneNode there("packed_events_q", Both(), port);
  const Publishing publish(there.node);
  const gen::Atom name("quiet_packed@127.0.0.1");
  ErlangPeer peer(there.node, name.ToString(), port, kOwnFlags);
  SubscribeAs(peer, 1);
  CHECK(publish(1) == 1);
  CHECK_FALSE(PackedTypes::IsPacked(AwaitValue(peer, name)));
  // Nobody has said that it will never take it.
  CHECK(publish(0) == 0);
  CHECK(there.node.MessageBalance().dropped_mailbox_full == 1);
  std::string packs;
  AppendPacks(packs);
  Values(Both()).packed().AppendAll(packs);
  peer.Add(ErgonSignal(peer.Pid(1), packs));
  peer.FlushAndWait();
  CHECK(publish(0) == 1);
  CHECK(PackedTypes::IsPacked(AwaitValue(peer, name)));
  CHECK(publish(2) == 1);
  CHECK(PackedTypes::IsPacked(AwaitValue(peer, name)));
}

TEST_CASE("packed events: a node of an earlier version gets terms") {
  const std::uint16_t port = FreePort();
  OneNode there("packed_events_o", Both(), port);
  const Publishing publish(there.node);
  const gen::Atom name("older_packed@127.0.0.1");
  ErlangPeer peer(there.node, name.ToString(), port, kOwnFlags & ~kFlagPacks);
  SubscribeAs(peer, 1);
  CHECK(publish(1) == 1);
  CHECK_FALSE(PackedTypes::IsPacked(AwaitValue(peer, name)));
  CHECK(publish(0) == 0);
  for (bool has_ended = false; !has_ended;) {
    const Signal signal = peer.Await(SignalKind::kSendToName);
    const auto message = ReadErgonMessage(signal.payload, name, 100);
    has_ended = message && message->kind == ErgonMessage::Kind::kEventEnd;
  }
}

TEST_CASE("packed events: bytes that are no value end the subscription, with words") {
  const std::uint16_t port = FreePort();
  OneNode here("packed_events_m", Both(), port);
  const gen::Atom name("unfit_packed@127.0.0.1");
  ErlangPeer peer(here.node, name.ToString(), port, kOwnFlags);
  std::promise<std::string> told;
  const gen::PID subscriber = here.node
                                  .Spawn([&](gen::Process& self) {
                                    if (!self.MonitorEvent({"packed_prices", name})) return;
                                    const auto down = self.Receive<gen::MessageDownEvent>(1min);
                                    told.set_value(down ? down->reason.ToString() : "nothing");
                                  })
                                  .value();
  std::string question;
  std::uint64_t number = 0;
  while (number == 0) {
    question = peer.Await(SignalKind::kSendToName).payload;
    const auto message = ReadErgonMessage(question, name, 100);
    if (message && message->kind == ErgonMessage::Kind::kSubscribe) number = message->number;
  }
  const auto asked = ReadErgonMessage(question, name, 100);
  std::string answer;
  TermWriter writer(answer);
  writer.Tuple(2);
  writer.Raw(asked->reference);
  writer.Tuple(2);
  writer.Atom("ok");
  writer.Nil();
  peer.Add({.kind = SignalKind::kSendToAlias,
            .from = peer.Pid(1),
            .ref = asked->reference,
            .payload = answer});
  PackedTypes types;
  const Price price{1, "tea"};
  std::string value;
  AppendValue(value, subscriber, "packed_prices", {.monitor = number}, 1, 0);
  REQUIRE(PackedTypes::Append(value, *types.Add(*WireTypeOf<Cereal<Price>>::Describe()), &price));
  value[value.size() - 11] = '\x7f';  // the length of its text
  peer.Add(ErgonSignal(peer.Pid(1), value));
  peer.FlushAndWait();
  const std::string why = told.get_future().get();
  CHECK_MESSAGE(why.find("packed_price: ") != std::string::npos, why);
  CHECK(peer.IsConnected());
}

}  // namespace packed_events_test
}  // namespace ergon::dist
