// Types that two nodes pack for each other, with nodes that do not, and with peers that send what they should not.
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/gen/dead_letter.h>
#include <ergon/node/cereal.h>
#include <ergon/node/cluster/extension/ergon_signals.h>
#include <ergon/node/cluster/values/packed_types.h>

#include <cluster/cluster.h>
#include <cluster/erlang_peer.h>

namespace ergon::dist::packed {

// Says how it has been read.
struct Order {
  using Reply = Order;
  static constexpr const char* kTag = "packed_order";
  int number = 0;
  std::vector<std::string> items;
  bool was_packed = false;  // not a part of it
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, items);
    if constexpr (std::is_same_v<Archive, CerealReader>) was_packed = true;
  }
};

struct Figure {
  virtual ~Figure() = default;
  int id = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(id);
  }
};
struct Disc : Figure {
  double radius = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<Figure>(this), radius);
  }
};
// Which has no other form.
struct Plan {
  std::shared_ptr<Figure> figure;
  template <class Archive>
  void save(Archive& archive) const {
    archive(figure);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(figure);
  }
};

// With a term in it.
struct Nested {
  using Reply = Nested;
  Term term;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(term);
  }
};

// Which throws on its way.
struct Torn {
  using Reply = Torn;
  static constexpr const char* kTag = "packed_torn";
  enum Where { kNowhere, kWritten, kRead };
  int where = kNowhere;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(where);
    if (where == kWritten) throw std::runtime_error("torn when written");
    if (std::is_same_v<Archive, CerealReader> && where == kRead) {
      throw std::runtime_error("torn when read");
    }
  }
};

// As of another program: the same name, and another version or other fields.
template <class T>
struct OtherVersion {};
template <class T>
struct OtherFields {};
// With a name of many bytes.
template <int N>
struct LongNamed {};

}  // namespace ergon::dist::packed

CEREAL_REGISTER_TYPE(ergon::dist::packed::Disc)
CEREAL_REGISTER_POLYMORPHIC_RELATION(ergon::dist::packed::Figure, ergon::dist::packed::Disc)
CEREAL_CLASS_VERSION(ergon::dist::packed::Order, 1)

namespace ergon::dist {

template <class T>
struct WireTypeOf<packed::OtherVersion<T>> {
  static std::shared_ptr<const WireType> Describe(const gen::WireTypeOptions& options = {}) {
    auto type = std::make_shared<WireType>(*WireTypeOf<Cereal<T>>::Describe(options));
    type->packed->version += 1;
    type->packed->fingerprint += 1;
    return type;
  }
};
template <class T>
struct WireTypeOf<packed::OtherFields<T>> {
  static std::shared_ptr<const WireType> Describe(const gen::WireTypeOptions& options = {}) {
    auto type = std::make_shared<WireType>(*WireTypeOf<Cereal<T>>::Describe(options));
    type->packed->fingerprint += 1;
    return type;
  }
};

template <int N>
struct WireTypeOf<packed::LongNamed<N>> {
  static std::shared_ptr<const WireType> Describe(const gen::WireTypeOptions& options = {}) {
    auto type = std::make_shared<WireType>(*WireTypeOf<Cereal<packed::Plan>>::Describe(options));
    type->type = core::TypeOf<packed::LongNamed<N>>();
    type->name = std::string(1000, 'x') + std::to_string(N);
    type->packed->fingerprint += N;
    return type;
  }
};

namespace packed {
namespace {

// Two nodes with types of their own.
struct PackedPair {
  PackedPair(const std::string& names, const gen::WireTypes& types_of_a,
             const gen::WireTypes& types_of_b)
      : a(StartOne(names + "a@127.0.0.1", log_a, types_of_a)),
        b(StartOne(names + "b@127.0.0.1", log_b, types_of_b)) {}
  ~PackedPair() {
    a.Stop();
    b.Stop();
    kit::CheckBalance(a);
    kit::CheckBalance(b);
  }
  static node::Node StartOne(const std::string& name, kit::LogCapture& log,
                             const gen::WireTypes& types, int max_term_depth = 1000) {
    gen::NodeOptions options;
    options.types = types;
    ErlangOptions network = ClusterOptions();
    network.max_term_depth = max_term_depth;
    gen::Result<node::Node> started = gen::ErrTaken;
    REQUIRE(kit::Eventually([&] {
      started = TryStart(name, log, network, options);
      return started || started.error() != gen::ErrTaken;
    }));
    return std::move(started).value();
  }

  kit::LogCapture log_a;
  kit::LogCapture log_b;
  node::Node a;
  node::Node b;
};

// Counts what it gets, and answers with what it was asked.
struct Seen {
  std::atomic<int> packed{0};
  std::atomic<int> terms{0};
  std::atomic<int> plans{0};
  std::atomic<int> wrong{0};
};
class OrderCounter final : public act::Actor {
 public:
  explicit OrderCounter(Seen* seen) : seen_(seen) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (const auto* order = message.As<Order>()) {
      ++(order->was_packed ? seen_->packed : seen_->terms);
      if (order->number != 7 || order->items != std::vector<std::string>{"one", "two"}) {
        ++seen_->wrong;
      }
    } else if (const auto* plan = message.As<Plan>()) {
      const auto* disc = dynamic_cast<const Disc*>(plan->figure.get());
      disc != nullptr && disc->id == 3 && disc->radius == 1.5 ? ++seen_->plans : ++seen_->wrong;
    } else {
      ++seen_->wrong;
    }
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    if (auto* order = request.As<Order>()) {
      ++(order->was_packed ? seen_->packed : seen_->terms);
      return gen::Reply(std::move(*order));
    }
    if (auto* plan = request.As<Plan>()) return gen::Reply(std::move(*plan));
    if (auto* nested = request.As<Nested>()) return gen::Reply(std::move(*nested));
    if (request.As<Torn>() != nullptr) return gen::Reply(Torn{Torn::kWritten});
    return gen::ReplyError(gen::ErrUnsupported);
  }

  Seen* seen_;
};

Order AnOrder() { return {7, {"one", "two"}}; }
Plan APlan() {
  auto disc = std::make_shared<Disc>();
  disc->id = 3;
  disc->radius = 1.5;
  return {disc};
}

gen::WireTypes Terms() { return gen::WireTypes().Register<Order>(); }
gen::WireTypes Both() { return gen::WireTypes().Register<Order>().Register<Cereal<Order>>(); }
gen::WireTypes Plans() { return gen::WireTypes().Register<Cereal<Plan>>(); }

// Until the nodes have told each other what they pack.
void AwaitPacked(PackedPair& pair, gen::PID counter, const Seen& seen) {
  REQUIRE(kit::Eventually([&] {
    CHECK(pair.a.Send(counter, AnOrder()));
    return seen.packed != 0;
  }));
}

}  // namespace

TEST_CASE(
    "packed: a node whose types do not fit into the frame that tells of them does not start") {
  gen::NodeOptions options;
  options.types.Register<LongNamed<1>>().Register<LongNamed<2>>().Register<LongNamed<3>>();
  options.types.Register<LongNamed<4>>();
  ErlangOptions network = ClusterOptions();
  network.max_frame_bytes = 4096;
  kit::LogCapture log;
  const auto refused = TryStart("packed_many@127.0.0.1", log, network, options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == gen::ErrIncorrect);
  CHECK(std::string(refused.error().detail())
            .starts_with("network: max_frame_bytes: 4096, but the frame that tells of the 4 packed "
                         "types has 4"));
  network.max_frame_bytes = 8192;
  auto node = TryStart("packed_many@127.0.0.1", log, network, options).value();
  kit::LogCapture log_of_other;
  auto other = TryStart("packed_other@127.0.0.1", log_of_other).value();
  CHECK(Ping(node, other.Name()));
  other.Stop();
  node.Stop();
}

TEST_CASE(
    "packed: messages, requests, answers and important messages of a type that both nodes pack") {
  PackedPair pair("packed_both", Both(), Both());
  Seen seen;
  const gen::PID counter = pair.b.Spawn(gen::Factory<OrderCounter>(&seen)).value();
  AwaitPacked(pair, counter, seen);
  const int terms = seen.terms;
  for (int i = 0; i < 100; ++i) CHECK(pair.a.Send(counter, AnOrder()));
  CHECK(pair.a.SendImportant(counter, AnOrder()));
  const auto answer = pair.a.Call<Order>(counter, AnOrder(), {.timeout = kit::kDeadline});
  REQUIRE(answer);
  CHECK(answer->was_packed);
  CHECK(answer->items == AnOrder().items);
  CHECK(seen.terms == terms);
  CHECK(seen.packed >= 102);
  CHECK(seen.wrong == 0);
}

TEST_CASE("packed: with a node that does not pack the type, it goes as a term in both directions") {
  PackedPair pair("packed_one", Both(), Terms());
  Seen seen_a;
  Seen seen_b;
  const gen::PID there = pair.b.Spawn(gen::Factory<OrderCounter>(&seen_b)).value();
  const gen::PID here = pair.a.Spawn(gen::Factory<OrderCounter>(&seen_a)).value();
  for (int i = 0; i < 10; ++i) {
    const auto answer = pair.a.Call<Order>(there, AnOrder(), {.timeout = kit::kDeadline});
    REQUIRE(answer);
    CHECK_FALSE(answer->was_packed);
    CHECK(pair.b.Call<Order>(here, AnOrder(), {.timeout = kit::kDeadline}));
  }
  CHECK(seen_a.terms == 10);
  CHECK(seen_b.terms == 10);
  CHECK(seen_a.packed == 0);
  CHECK(seen_b.packed == 0);
}

TEST_CASE("packed: another version is an error that names the type and both versions") {
  PackedPair pair("packed_version", Both(),
                  gen::WireTypes().Register<Order>().Register<OtherVersion<Order>>());
  Seen seen;
  const gen::PID counter = pair.b.Spawn(gen::Factory<OrderCounter>(&seen)).value();
  const std::string why =
      "packed_order: version 1 of it here, version 2 on packed_versionb@127.0.0.1";
  gen::Result<void> sent;
  REQUIRE(kit::Eventually([&] {
    sent = pair.a.Send(counter, AnOrder());
    return !sent;
  }));
  CHECK(sent.error() == gen::ErrIncorrect);
  CHECK(sent.error().detail() == why);
  const auto called = pair.a.Call<Order>(counter, AnOrder(), {.timeout = kit::kDeadline});
  CHECK(called.error() == gen::ErrIncorrect);
  CHECK(called.error().detail() == why);
  CHECK(pair.a.SendImportant(counter, AnOrder()).error().detail() == why);
  CHECK(seen.packed == 0);
  CHECK(seen.wrong == 0);
}

TEST_CASE("packed: a group on a node that cannot take the type, and on one that can") {
  PackedPair pair("packed_group", Both(), Both());
  kit::LogCapture log;
  node::Node other =
      PackedPair::StartOne("packed_groupc@127.0.0.1", log,
                           gen::WireTypes().Register<Order>().Register<OtherVersion<Order>>());
  Seen here;
  Seen there;
  Seen nowhere;
  const gen::PID on_a = pair.a.Spawn(gen::Factory<OrderCounter>(&here)).value();
  const gen::PID on_b = pair.b.Spawn(gen::Factory<OrderCounter>(&there)).value();
  const gen::PID on_c = other.Spawn(gen::Factory<OrderCounter>(&nowhere)).value();
  // Whichever comes first.
  bool refuses_first = false;
  SUBCASE("the first member cannot") { refuses_first = true; }
  SUBCASE("the last member cannot") {}
  REQUIRE(pair.a.JoinGroup("orders", on_a));
  REQUIRE(Ping(pair.a, pair.b.Name()));
  REQUIRE(Ping(pair.a, other.Name()));
  const auto join = [&](node::Node& node, gen::PID member, std::size_t members) {
    REQUIRE(node.JoinGroup("orders", member));
    REQUIRE(kit::Eventually([&] { return pair.a.GroupMembers("orders").size() == members; }));
  };
  refuses_first ? join(other, on_c, 2) : join(pair.b, on_b, 2);
  refuses_first ? join(pair.b, on_b, 3) : join(other, on_c, 3);
  REQUIRE(kit::Eventually([&] { return !pair.a.Send(on_c, AnOrder()); }));
  const int before = nowhere.terms;

  const auto sent = pair.a.SendToGroup("orders", AnOrder());
  REQUIRE_MESSAGE(sent, sent.error().ToString());
  CHECK(*sent == 2);
  CHECK(pair.a.MessageBalance().dropped_unreadable == 1);
  CHECK(kit::Eventually([&] { return here.terms == 1 && there.packed + there.terms == 1; }));

  REQUIRE(pair.b.LeaveGroup("orders", on_b));
  REQUIRE(kit::Eventually([&] { return pair.a.GroupMembers("orders").size() == 2; }));
  const auto refused = pair.a.SendToGroup("orders", AnOrder());
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == gen::ErrIncorrect);
  CHECK(pair.a.MessageBalance().dropped_unreadable == 1);
  REQUIRE(pair.a.Send(on_a, AnOrder()));
  CHECK(kit::Eventually([&] { return here.terms == 2; }));
  CHECK(nowhere.terms == before);
  other.Stop();
  kit::CheckBalance(other);
}

TEST_CASE("packed: a term in a value may be as deep as the node allows, and no deeper") {
  const auto lists = [](int depth) {
    Term term = 1;
    for (; depth > 0; --depth) term = Term::List({term});
    return term;
  };
  const gen::WireTypes types = gen::WireTypes().Register<Cereal<Nested>>();
  int most = 0;
  SUBCASE("deeper than usual") { most = 1500; }
  SUBCASE("less deep than usual") { most = 10; }
  kit::LogCapture log_a;
  kit::LogCapture log_b;
  node::Node a = PackedPair::StartOne("packed_deepa@127.0.0.1", log_a, types, 2000);
  node::Node b = PackedPair::StartOne("packed_deepb@127.0.0.1", log_b, types, most);
  Seen seen;
  const gen::PID echo = b.Spawn(gen::Factory<OrderCounter>(&seen)).value();
  InProcess(a, [&](gen::Process& self) {
    const gen::CallOptions patient{.timeout = kit::kDeadline};
    const auto fits = self.Call(echo, Nested{lists(most)}, patient);
    REQUIRE_MESSAGE(fits, fits.error().ToString());
    CHECK(fits->term == lists(most));
    const auto refused = self.Call(echo, Nested{lists(most + 1)}, patient);
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == gen::ErrIncorrect);
  });
  a.Stop();
  b.Stop();
}

TEST_CASE("packed: of the same version with other fields, it goes as a term, or not at all") {
  PackedPair pair(
      "packed_fields", gen::WireTypes(Both()).Register<Cereal<Plan>>(),
      gen::WireTypes(Terms()).Register<OtherFields<Order>>().Register<OtherFields<Plan>>());
  Seen seen;
  const gen::PID counter = pair.b.Spawn(gen::Factory<OrderCounter>(&seen)).value();
  InProcess(pair.a, [&](gen::Process& self) {
    const auto sent = self.Send(counter, APlan());  // waits for what the other node says
    REQUIRE_FALSE(sent);
    CHECK(sent.error() == gen::ErrIncorrect);
    CHECK(sent.error().detail() ==
          "ergon::dist::packed::Plan: version 0 of it here and on packed_fieldsb@127.0.0.1, but "
          "with other fields");
  });
  CHECK(pair.a.Call<Order>(counter, AnOrder(), {.timeout = kit::kDeadline}));
  CHECK(seen.terms == 1);
  CHECK(seen.packed == 0);
}

TEST_CASE("packed: a type that has no other form waits until the peer has said that it packs it") {
  PackedPair pair("packed_only", Plans(), Plans());
  Seen seen;
  const gen::PID counter = pair.b.Spawn(gen::Factory<OrderCounter>(&seen)).value();
  InProcess(pair.a, [&](gen::Process& self) {
    for (int i = 0; i < 10; ++i) REQUIRE(self.Send(counter, APlan()));
    const auto answer = self.Call<Plan>(counter, APlan(), {.timeout = kit::kDeadline});
    REQUIRE(answer);
    CHECK(dynamic_cast<const Disc*>(answer->figure.get()) != nullptr);
  });
  CHECK(seen.plans == 10);
  CHECK(seen.wrong == 0);
}

TEST_CASE("packed: a type that has no other form is refused for nodes that do not pack it") {
  PackedPair pair("packed_refused", Plans(), Terms());
  Seen seen;
  const gen::PID counter = pair.b.Spawn(gen::Factory<OrderCounter>(&seen)).value();
  InProcess(pair.a, [&](gen::Process& self) {
    const auto sent = self.Send(counter, APlan());
    REQUIRE_FALSE(sent);
    CHECK(sent.error() == gen::ErrUnsupported);
    CHECK(sent.error().detail() ==
          "ergon::dist::packed::Plan is packed only (dist::Cereal), and "
          "packed_refusedb@127.0.0.1 does not know it so");
  });
}

TEST_CASE(
    "packed: a serialize that throws costs its message alone, and who sends or asks is told") {
  const auto types = gen::WireTypes().Register<Cereal<Torn>>().Register<Cereal<Plan>>();
  PackedPair pair("packed_torn", types, types);
  Seen seen;
  const gen::PID counter = pair.b.Spawn(gen::Factory<OrderCounter>(&seen)).value();
  InProcess(pair.a, [&](gen::Process& self) {
    // The first one waits for what the other node packs.
    REQUIRE(self.Send(counter, APlan()));
    const auto written = self.Send(counter, Torn{Torn::kWritten});
    CHECK(written.error() == gen::ErrIncorrect);
    CHECK(written.error().detail() == "packed_torn: torn when written");
    CHECK(self.Call(counter, Torn{Torn::kWritten}, {.timeout = kit::kDeadline}).error().detail() ==
          "packed_torn: torn when written");
    const auto answer = self.Call(counter, Torn{}, {.timeout = kit::kDeadline});  // which is torn
    CHECK(answer.error() == gen::ErrIncorrect);
    CHECK(answer.error().detail() == "packed_torn: torn when written");
    const auto read = self.Call(counter, Torn{Torn::kRead}, {.timeout = kit::kDeadline});
    CHECK(read.error() == gen::ErrIncorrect);
    CHECK(read.error().detail() == "packed_torn: torn when read");
    CHECK(self.Send(counter, Torn{Torn::kRead}));
    CHECK(self.Call<Plan>(counter, APlan(), {.timeout = kit::kDeadline}));
  });
  CHECK(kit::Eventually([&] { return pair.b.MessageBalance().dropped_unreadable == 1; }));
  CHECK(seen.plans == 1);
  CHECK(seen.wrong == 0);
  CHECK(pair.log_b.Contains("packed_torn: torn when read"));
}

TEST_CASE(
    "packed: an answer that has no other form names its type by its tag, where there is one") {
  PackedPair pair("packed_answer", gen::WireTypes().Register<Cereal<Torn>>(), Terms());
  class Answers : public act::Actor {
    gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
      return gen::Reply(Torn{});
    }
  };
  const gen::PID answers = pair.a.Spawn(gen::Factory<Answers>()).value();
  const auto refused = pair.b.Call<int>(answers, 1, {.timeout = kit::kDeadline});
  CHECK(refused.error() == gen::ErrUnsupported);
  CHECK(refused.error().detail() ==
        "packed_torn is packed only (dist::Cereal), and packed_answerb@127.0.0.1 does not know it "
        "so");
}

namespace {

// A node that packs, for peers of which a test says what they send.
struct PackedServer {
  explicit PackedServer(const std::string& name) : port(FreePort()), node(Start(name)) {}
  ~PackedServer() {
    node.Stop();
    kit::CheckBalance(node);
  }
  node::Node Start(const std::string& name) {
    ErlangOptions network = ClusterOptions();
    network.listen_port = port;
    gen::NodeOptions options;
    options.types = Both().Register<Cereal<Plan>>();
    return TryStart(name + "@127.0.0.1", log, network, options).value();
  }

  const std::uint16_t port;
  kit::LogCapture log;
  node::Node node;
};

// The value of a message as a packed term.
template <class T>
std::string PackedTerm(const T& value) {
  PackedTypes types;
  const PackedTypes::Type* const type = types.Add(*WireTypeOf<Cereal<T>>::Describe());
  std::string term;
  REQUIRE(PackedTypes::Append(term, *type, &value));
  REQUIRE(PackedTypes::IsPacked(term));
  return term;
}
// The same with other bytes behind the fingerprint.
std::string PackedTermOf(std::string term, std::string_view bytes) {
  constexpr std::size_t kValue = 18;
  term.resize(kValue);
  term += bytes;
  const std::size_t size = term.size() - 6;
  for (int i = 0; i < 4; ++i) term[1 + i] = static_cast<char>(size >> (24 - 8 * i));
  return term;
}

}  // namespace

TEST_CASE("packed: a node of Erlang, and an Ergon node that is older, get terms") {
  std::uint64_t flags = kOwnFlags & ~kFlagErgon;
  const char* name = "packed_erl";
  SUBCASE("Erlang") {}
  SUBCASE("older") {
    flags = kOwnFlags & ~kFlagPacks;
    name = "packed_older";
  }
  PackedServer server(name);
  ErlangPeer peer(server.node, "peer_of_packed@127.0.0.1", server.port, flags);
  for (int i = 0; i < 3; ++i) {
    CHECK(server.node.Send(peer.Pid(1), AnOrder()));
    const Signal signal = peer.Await(SignalKind::kSend);
    std::string expected;
    TermWriter writer(expected);
    writer.Tuple(3);
    writer.Atom("packed_order");
    writer.Integer(7);
    writer.List(2);
    writer.Binary("one");
    writer.Binary("two");
    writer.Nil();
    CHECK(signal.payload == expected);
  }
  CHECK(server.node.Send(peer.Pid(1), APlan()).error() == gen::ErrUnsupported);
  CHECK(server.node.SendImportant(peer.Pid(1), APlan()).error() == gen::ErrUnsupported);
  // What such a node sends as a term is read.
  Seen seen;
  const gen::PID counter = server.node.Spawn(gen::Factory<OrderCounter>(&seen)).value();
  std::string order;
  TermWriter writer(order);
  writer.Tuple(3);
  writer.Atom("packed_order");
  writer.Integer(7);
  writer.List(2);
  writer.Binary("one");
  writer.Binary("two");
  writer.Nil();
  peer.Add({.kind = SignalKind::kSend, .from = peer.Pid(1), .to = counter, .payload = order});
  peer.FlushAndWait();
  CHECK(kit::Eventually([&] { return seen.terms == 1; }));
  CHECK(seen.wrong == 0);
}

TEST_CASE("packed: bytes of a peer that are no value are counted, and the connection stays") {
  PackedServer server("packed_malformed");
  ErlangPeer peer(server.node, "malformed_packed@127.0.0.1", server.port, kOwnFlags);
  Seen seen;
  const gen::PID counter = server.node.Spawn(gen::Factory<OrderCounter>(&seen)).value();
  const std::string good = PackedTerm(AnOrder());
  const std::string bytes = good.substr(18);
  std::vector<std::string> bad;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    bad.push_back(PackedTermOf(good, bytes.substr(0, size)));
  }
  bad.push_back(PackedTermOf(good, bytes + '\0'));
  std::string huge = bytes;
  huge[5 + 6] = '\x7f';  // of the number of items
  bad.push_back(PackedTermOf(good, huge));
  std::string unknown = good;
  unknown[17] ^= 1;
  bad.push_back(unknown);
  for (const std::string& term : bad) {
    peer.Add({.kind = SignalKind::kSend, .from = peer.Pid(1), .to = counter, .payload = term});
  }
  peer.Add({.kind = SignalKind::kSend, .from = peer.Pid(1), .to = counter, .payload = good});
  peer.FlushAndWait();
  CHECK(kit::Eventually([&] { return seen.packed == 1; }));
  CHECK(server.node.MessageBalance().dropped_unreadable == bad.size());
  CHECK(seen.terms == 0);
  CHECK(seen.wrong == 0);
  CHECK(peer.IsConnected());
  CHECK(server.log.Count("packed_order: ") != 0);
}

TEST_CASE("packed: a peer that does not say what it packs, or says nonsense, gets terms") {
  PackedServer server("packed_silent");
  ErlangPeer peer(server.node, "silent_packed@127.0.0.1", server.port, kOwnFlags);
  std::string nonsense;
  TermWriter writer(nonsense);
  writer.Tuple(2);
  writer.Atom("packs");
  writer.List(1);
  writer.Integer(7);
  writer.Nil();
  Signal signal = ErgonSignal(peer.Pid(1), nonsense);
  peer.Add(signal);
  peer.FlushAndWait();
  CHECK(server.log.Count("packs: ") == 1);
  CHECK(server.node.Send(peer.Pid(1), AnOrder()));
  CHECK(peer.Await(SignalKind::kSend).payload.front() == 'h');
  // Nobody has said that it will never come.
  CHECK(server.node.Send(peer.Pid(1), APlan()).error() == gen::ErrBusy);
  std::string none;
  AppendPacks(none);
  TermWriter(none).Nil();
  signal = ErgonSignal(peer.Pid(1), none);
  peer.Add(signal);
  peer.FlushAndWait();
  CHECK(server.node.Send(peer.Pid(1), APlan()).error() == gen::ErrUnsupported);
  // It has said it: that is not taken back.
  std::string all;
  AppendPacks(all);
  PackedTypes types;
  types.Add(*WireTypeOf<Cereal<Plan>>::Describe());
  types.AppendAll(all);
  signal = ErgonSignal(peer.Pid(1), all);
  peer.Add(signal);
  peer.FlushAndWait();
  CHECK(server.node.Send(peer.Pid(1), APlan()).error() == gen::ErrUnsupported);
}

}  // namespace packed
}  // namespace ergon::dist
