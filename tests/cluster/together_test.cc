// Messages that come together: their receivers make them, in the order in which they were sent, and none is lost.
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <ergon/gen/wire_types.h>
#include <ergon/node/cereal.h>
#include <ergon/node/cluster/values/packed_types.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/erlang/terms/writer.h>

#include <cluster/cluster.h>

namespace ergon::dist::together_test {

// Packed; its receiver makes it.
struct Number {
  std::int64_t value = 0;
  template <class Archive>
  void save(Archive& archive) const {
    archive(value);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(value);
    if (value < 0) throw std::runtime_error("a number below zero");
  }
};
// Packed; as deep as who writes it likes.
struct Tree {
  std::int64_t value = 0;
  std::vector<Tree> below;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value, below);
  }
};
struct Pressing {
  std::int64_t value = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};

namespace {

constexpr std::int64_t kMessages = 1'000;

struct Pair {
  explicit Pair(const std::string& names)
      : a(StartOne(names + "a@127.0.0.1", log_a)), b(StartOne(names + "b@127.0.0.1", log_b)) {}
  ~Pair() {
    a.Stop();
    b.Stop();
    kit::CheckBalance(a);
    kit::CheckBalance(b);
  }
  static node::Node StartOne(const std::string& name, kit::LogCapture& log) {
    gen::NodeOptions options;
    options.types.Register<Cereal<Number>>().Register<Cereal<Tree>>();
    return TryStart(name, log, ClusterOptions(), options).value();
  }

  kit::LogCapture log_a;
  kit::LogCapture log_b;
  node::Node a;
  node::Node b;
};

// Of what a message is one: its place among all that were sent; -1: of nothing that was sent.
std::int64_t PlaceOf(const gen::Message& message) {
  if (const auto* text = message.As<std::string>()) return std::stoll(*text);
  if (const auto* number = message.As<Number>()) return number->value;
  if (const auto* tree = message.As<Tree>()) return tree->value;
  if (const auto* line = message.As<Line>()) return line->number;
  if (const auto* number = message.As<std::int64_t>()) return *number;
  return -1;
}

// Expects the places from 0 on.
class Follower : public act::Actor {
 public:
  explicit Follower(std::atomic<std::int64_t>* right) : right_(right) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (PlaceOf(message) == *right_) ++*right_;
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    return gen::Reply(right_->load());
  }

  std::atomic<std::int64_t>* const right_;
};

void SendMixed(gen::Process& self, const gen::Target& to) {
  for (std::int64_t i = 0; i < kMessages; ++i) {
    switch (i % 11) {
      case 3:
        CHECK(self.Send(to, Tree{i, {{i, {}}}}));
        break;
      case 5:
        CHECK(self.Send(to, Line{static_cast<int>(i), "line"}));
        break;
      case 7:
        CHECK(self.Send(to, i));
        break;
      case 9:
        CHECK(self.Call<std::int64_t>(to, gen::Atom("right")) == i);
        [[fallthrough]];
      case 2:
      case 4:
        CHECK(self.Send(to, Number{i}));
        break;
      default:
        CHECK(self.Send(to, std::to_string(i)));
    }
  }
}

}  // namespace

TEST_CASE("together: strings, packed values, terms and calls stay in their order") {
  Pair pair("together_order");
  std::atomic<std::int64_t> right{0};
  gen::ProcessOptions options;
  SUBCASE("in a mailbox without a bound") {}
  SUBCASE("in a mailbox with one") { options.mailbox_size = 2 * static_cast<int>(kMessages); }
  const auto follower = pair.b.Spawn(gen::Factory<Follower>(&right), options).value();
  InProcess(pair.a, [&](gen::Process& self) { SendMixed(self, follower); });
  CHECK(kit::Eventually([&] { return right == kMessages; }));
}

TEST_CASE("together: what is for several receivers by turns") {
  Pair pair("together_turns");
  constexpr int kReceivers = 3;
  std::atomic<std::int64_t> right[kReceivers] = {};
  std::vector<gen::PID> receivers;
  for (auto& each : right) receivers.push_back(pair.b.Spawn(gen::Factory<Follower>(&each)).value());
  InProcess(pair.a, [&](gen::Process& self) {
    for (std::int64_t i = 0; i < kMessages; ++i) {
      for (const gen::PID& receiver : receivers) CHECK(self.Send(receiver, std::to_string(i)));
    }
  });
  for (auto& each : right) CHECK(kit::Eventually([&] { return each == kMessages; }));
}

TEST_CASE("together: a full mailbox takes what there is room for, and the rest is counted") {
  Pair pair("together_full");
  constexpr int kRoom = 100;
  std::atomic<std::int64_t> right{0};
  const auto follower =
      pair.b.Spawn(gen::Factory<Follower>(&right), {.mailbox_size = kRoom}).value();
  CHECK(pair.b.Suspend(follower));
  InProcess(pair.a, [&](gen::Process& self) {
    for (std::int64_t i = 0; i < kMessages; ++i) CHECK(self.Send(follower, Number{i}));
  });
  CHECK(kit::Eventually(
      [&] { return pair.b.MessageBalance().dropped_mailbox_full == kMessages - kRoom; }));
  CHECK(pair.b.ProcessInfo(follower)->messages_queued == kRoom);
  CHECK(pair.b.Resume(follower));
  CHECK(kit::Eventually([&] { return right == kRoom; }));
}

TEST_CASE(
    "together: those that cannot be read are counted when their receiver takes them, or ends") {
  Pair pair("together_unread");
  std::atomic<std::int64_t> right{0};
  const auto follower = pair.b.Spawn(gen::Factory<Follower>(&right)).value();
  CHECK(pair.b.Suspend(follower));
  InProcess(pair.a, [&](gen::Process& self) {
    for (std::int64_t i = 0; i < kMessages; ++i) {
      CHECK(self.Send(follower, Number{i % 2 == 0 ? i / 2 : -1}));
    }
  });
  REQUIRE(
      kit::Eventually([&] { return pair.b.ProcessInfo(follower)->messages_queued == kMessages; }));
  SUBCASE("takes them") {
    CHECK(pair.b.Resume(follower));
    CHECK(kit::Eventually([&] { return right == kMessages / 2; }));
    CHECK(kit::Eventually([&] { return pair.b.ProcessInfo(follower)->messages_queued == 0; }));
  }
  SUBCASE("ends") {
    CHECK(pair.b.Kill(follower));
    CHECK(pair.b.WaitProcess(follower));
    CHECK(pair.b.MessageBalance().dropped_terminated == kMessages / 2);
  }
  CHECK(
      kit::Eventually([&] { return pair.b.MessageBalance().dropped_unreadable == kMessages / 2; }));
  CHECK(pair.log_b.Contains("does not fit its type"));
  CHECK(pair.log_b.Contains("a number below zero"));
}

TEST_CASE(
    "together: receivers read strings, and packed values of normal priority that are not deep") {
  gen::WireTypes types;
  types.Register<Cereal<Number>>().Register<Cereal<Tree>>().Register<Line>();
  types.Register<Cereal<Pressing>>({.priority = gen::MessagePriority::kHigh});
  const Values values(types);
  const auto packed = [&](const auto& value) {
    const auto* type = values.packed().Find(core::TypeOf<std::decay_t<decltype(value)>>()->Name());
    REQUIRE(type != nullptr);
    std::string term;
    REQUIRE(PackedTypes::Append(term, *type, &value));
    return term;
  };
  std::string text;
  TermWriter(text).Binary("text");
  const auto unread = values.ToBeRead(text);
  REQUIRE(unread);
  CHECK(unread->bytes == "text");
  CHECK(unread->type == nullptr);
  const std::string number = packed(Number{1});
  const auto value = values.ToBeRead(number);
  REQUIRE(value);
  CHECK(value->bytes == number);
  REQUIRE(value->type != nullptr);
  CHECK(core::IsType<Number>(value->type->type));
  CHECK_FALSE(values.ToBeRead(packed(Tree{1, {}})));
  CHECK_FALSE(values.ToBeRead(packed(Pressing{1})));
  std::string atom;
  TermWriter(atom).Atom("text");
  CHECK_FALSE(values.ToBeRead(atom));
}

}  // namespace ergon::dist::together_test
