// Two Ergon nodes: what a process of one has sent, and the notices of its end to a process of the other that wants them
// in order (gen::NoticeOrder).
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ergon/gen/mailbox.h>
#include <ergon/gen/relation_options.h>

#include <cluster/cluster.h>
#include <kit/gate.h>
#include <node/subject.h>

namespace ergon::dist::notice_order_test {
namespace {

using gen::NoticeOrder;
using node::Subject;
using Words = std::vector<std::string>;

struct Hurry {  // of a type with priority high
  static constexpr const char* kTag = "hurry";
  int number = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number);
  }
};

std::string WordOf(gen::Message& message) {
  if (const auto* line = message.As<Line>()) return std::to_string(line->number);
  if (const auto* hurry = message.As<Hurry>()) return "hurry " + std::to_string(hurry->number);
  if (message.Is<gen::MessageDownPID>() || message.Is<gen::MessageDownProcessID>() ||
      message.Is<gen::MessageDownAlias>()) {
    return "down";
  }
  if (message.Is<gen::MessageExitPID>() || message.Is<gen::MessageExitProcessID>() ||
      message.Is<gen::MessageExitAlias>()) {
    return "exit";
  }
  return std::string(message.TypeName());
}

node::Node StartOne(const std::string& name, kit::LogCapture& log, const ErlangOptions& network) {
  gen::NodeOptions options;
  options.types.Register<Hurry>({.priority = gen::MessagePriority::kHigh});
  return TryStart(name, log, network, std::move(options)).value();
}

// Numbers from `first` to `last`, then the notices.
Words Expected(int first, int last) {
  Words words;
  for (int i = first; i <= last; ++i) words.push_back(std::to_string(i));
  words.insert(words.end(), {"exit", "down"});
  return words;
}

// A process of the node a that watches one of the node b, each with the other's address.
class Pair {
 public:
  static constexpr int kMessages = 1000;

  explicit Pair(const std::string& names, const ErlangOptions& network = ClusterOptions(),
                const gen::ProcessOptions& options = {})
      : a(StartOne(names + "a@127.0.0.1", log_a, network)),
        b(StartOne(names + "b@127.0.0.1", log_b, network)) {
    Spawn(options);
  }
  ~Pair() {
    a.Stop();
    b.Stop();
    kit::CheckBalance(a);
    kit::CheckBalance(b);
  }

  void Spawn(const gen::ProcessOptions& options = {}) {
    receiver = a.Spawn(node::Make({.init =
                                       [](Subject& self, const gen::Args&) {
                                         self.SetTrapExit(true);
                                         return gen::Continue();
                                       },
                                   .message =
                                       [this](Subject&, gen::PID, gen::Message& message) {
                                         words.Add(WordOf(message));
                                         return gen::Continue();
                                       }}),
                       options)
                   .value();
    sender = b.Spawn(node::Make({})).value();
  }
  void Run(node::Node& node, gen::PID pid, std::function<void(Subject&)> does) {
    CHECK(node.Call<bool>(pid, node::Do{std::move(does)}, node::kPatient));
  }
  void Watch(const gen::Target& target, NoticeOrder order = NoticeOrder::kInOrder) {
    Run(a, receiver, [&](Subject& self) {
      // An alias of another node can be linked with, and not be monitored.
      const gen::Target monitored = target.AsAlias() == nullptr ? target : gen::Target(sender);
      CHECK(self.Monitor(monitored, {.order = order}));
      CHECK(self.Link(target, {.order = order}));
    });
    // They are made by signals: both are there.
    CHECK(kit::Eventually([&] {
      const auto info = b.ProcessInfo(sender);
      return info && info->links.size() + info->monitored_by.size() >= 2;
    }));
  }
  // The sender does it and ends, while the receiver is busy with something else. Afterwards all of that, and the end,
  // has come to the node of the receiver.
  void SendAndEndWhileBusy(std::function<void(Subject&)> sends) {
    kit::Gate gate(a);
    CHECK(a.Send(receiver, node::Do{[pid = gate.pid()](Subject& self) {
                   (void)self.Call<bool>(pid, kit::EnterGate{}, {.timeout = gen::kInfinite});
                 }}));
    REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
    SendAndEnd(std::move(sends));
    // On the same way as what was sent, and behind it; kBusy while what was sent is still to be written.
    CHECK(kit::Eventually([&] {
      auto answered = Ping(b, a.Name());
      CHECK((answered || answered.error() == gen::ErrBusy));
      return answered.has_value();
    }));
    gate.Open();
  }
  void SendAndEnd(std::function<void(Subject&)> sends) {
    Run(b, sender, std::move(sends));
    CHECK(b.Send(sender, node::End{}));
    CHECK(b.WaitProcess(sender, kit::kDeadline));
  }
  [[nodiscard]] std::function<void(Subject&)> SendLines(int count = kMessages) const {
    return [to = receiver, count](Subject& self) {
      for (int i = 1; i <= count; ++i) CHECK(self.Send(to, Line{i, "text"}));
    };
  }
  [[nodiscard]] Words All(std::size_t count) {
    CHECK(kit::Eventually([&] { return words.size() >= count; }));
    Run(a, receiver, [](Subject&) {});
    return words.All();
  }

  kit::LogCapture log_a;
  kit::LogCapture log_b;
  node::Notes<std::string> words;
  node::Node a;
  node::Node b;
  gen::PID receiver;
  gen::PID sender;
};

}  // namespace

TEST_CASE("notice order between nodes: behind all messages, or before them") {
  Pair pair("order_pid_");
  SUBCASE("in order") {
    pair.Watch(pair.sender);
    pair.SendAndEndWhileBusy(pair.SendLines());
    CHECK(pair.All(1002) == Expected(1, 1000));
  }
  SUBCASE("as usual") {
    pair.Watch(pair.sender, NoticeOrder::kUsual);
    pair.SendAndEndWhileBusy(pair.SendLines(3));
    CHECK(pair.All(5) == Words{"exit", "down", "1", "2", "3"});
  }
}

TEST_CASE("notice order between nodes: by a name and by an alias") {
  Pair pair("order_name_");
  gen::Target target = pair.sender;
  SUBCASE("name") {
    CHECK(pair.b.RegisterName("sends", pair.sender));
    target = gen::ProcessID{"sends", pair.b.Name()};
  }
  SUBCASE("alias") {
    pair.Run(pair.b, pair.sender, [&](Subject& self) { target = self.CreateAlias().value(); });
  }
  pair.Watch(target);
  pair.SendAndEndWhileBusy(pair.SendLines());
  CHECK(pair.All(1002) == Expected(1, 1000));
}

TEST_CASE("notice order between nodes: to a receiver that handles all meanwhile") {
  Pair pair("order_busy_");
  for (int round = 0; round < 20; ++round) {
    const std::size_t before = pair.words.size();
    if (round != 0) pair.Spawn();
    pair.Watch(pair.sender);
    pair.SendAndEnd(pair.SendLines(200));
    Words all = pair.All(before + 202);
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(before));
    REQUIRE(all.size() == 202);
    std::sort(all.end() - 2, all.end(), std::greater<>());  // each comes when it comes
    CHECK(all == Expected(1, 200));
  }
}

TEST_CASE(
    "notice order between nodes: a full mailbox has room for notices, one with an order, too") {
  gen::ProcessOptions options;
  Words expected;
  SUBCASE("it refuses what is too much") {
    options.mailbox_size = 100;
    expected = Expected(1, 100);
  }
  SUBCASE("it drops the oldest") {
    options.mailbox = gen::Mailbox::Bounded(100, gen::Overflow::kDropOldest);
    expected = Expected(901, 1000);
  }
  SUBCASE("by priority") {
    options.mailbox = gen::Mailbox::Priority<Line>([](const Line& line) { return -line.number; });
    expected = Expected(1, 1000);
  }
  Pair pair("order_full_", ClusterOptions(), options);
  pair.Watch(pair.sender);
  pair.SendAndEndWhileBusy(pair.SendLines());
  Words all = pair.All(expected.size());
  REQUIRE(all.size() == expected.size());
  const auto by_number = [](const std::string& left, const std::string& right) {
    return std::stoi(left) < std::stoi(right);
  };
  if (options.mailbox.HasQueue()) std::sort(all.begin(), all.end() - 2, by_number);
  CHECK(all == expected);
}

TEST_CASE(
    "notice order between nodes: in whichever way a message is sent, and of whichever priority") {
  Pair pair("order_ways_");
  CHECK(pair.a.RegisterName("receives", pair.receiver));
  gen::Alias alias;
  pair.Run(pair.a, pair.receiver, [&](Subject& self) { alias = self.CreateAlias().value(); });
  const gen::ProcessID name{"receives", pair.a.Name()};
  pair.Watch(pair.sender);
  pair.SendAndEndWhileBusy([&](Subject& self) {
    for (int i = 1; i <= 400; i += 4) {
      CHECK(self.Send(pair.receiver, Line{i, ""}));
      CHECK(self.Send(name, Line{i + 1, ""}));
      CHECK(self.Send(alias, Line{i + 2, ""}));
      CHECK(self.SendImportant(pair.receiver, Line{i + 3, ""}));
      CHECK(self.Send(pair.receiver, Hurry{i}));
    }
  });
  const Words all = pair.All(502);
  REQUIRE(all.size() == 502);
  for (std::size_t i = 0; i < 100; ++i) CHECK(all[i] == "hurry " + std::to_string(4 * i + 1));
  CHECK(Words(all.begin() + 100, all.end()) == Expected(1, 400));
}

TEST_CASE("notice order between nodes: a sender that has to wait for room") {
  ErlangOptions network = ClusterOptions();
  network.send_queue_bytes = 4096;
  Pair pair("order_slow_", network);
  pair.Watch(pair.sender);
  const std::string text(500, 'x');
  pair.SendAndEndWhileBusy([&](Subject& self) {
    for (int i = 1; i <= Pair::kMessages; ++i) CHECK(self.Send(pair.receiver, Line{i, text}));
  });
  CHECK(pair.All(1002) == Expected(1, 1000));
}

}  // namespace ergon::dist::notice_order_test
