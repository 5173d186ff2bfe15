// Who subscribes again to an event of another node gets each value once and in order, whatever waits in its mailbox.
#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <ergon/gen/event.h>
#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/signals/ergon_messages.h>

#include <cluster/client.h>
#include <cluster/cluster.h>
#include <cluster/erlang_peer.h>
#include <cluster/terms.h>

namespace ergon::dist::event_marks_test {
namespace {

using Numbers = std::vector<int>;

// Publishes the numbers of a Sum as lines; a bool makes the event anew.
class Prices : public act::Actor {
 public:
  explicit Prices(int buffer) : buffer_(buffer) {}

 private:
  gen::Status Init(const gen::Args&) override {
    token_ = RegisterEvent("prices", {.buffer = buffer_}).value();
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (request.Is<bool>()) {
      CHECK(UnregisterEvent("prices"));
      token_ = RegisterEvent("prices", {.buffer = buffer_}).value();
      return gen::Reply(true);
    }
    const auto* sum = request.As<Sum>();
    if (sum == nullptr) return Actor::HandleCall(from, ref, request);
    std::size_t got = 0;
    for (const int number : sum->numbers) {
      got = SendEvent("prices", token_, Line{number, {}}).value();
    }
    return gen::Reply(static_cast<std::int64_t>(got));
  }

  const int buffer_;
  gen::Ref token_;
};

struct Producing {
  explicit Producing(node::Node& of, int buffer = 100)
      : event{"prices", of.Name()}, pid(of.Spawn(gen::Factory<Prices>(buffer)).value()) {}
  // What this node has sent before is in the mailboxes here when it returns.
  std::int64_t Publish(gen::Messenger& by, Numbers numbers) const {
    return by.Call<std::int64_t>(pid, Sum{std::move(numbers)}, {.timeout = 60s}).value();
  }
  void MakeAnew(gen::Messenger& by) const { CHECK(by.Call<bool>(pid, true).value()); }

  const gen::Event event;
  const gen::PID pid;
};

Numbers NumbersIn(const std::vector<gen::MessageEvent>& values) {
  Numbers numbers;
  for (const auto& value : values) numbers.push_back(value.As<Line>()->number);
  return numbers;
}

// All that is in the mailbox.
Numbers Waiting(gen::Process& self) {
  Numbers numbers;
  while (const auto value = self.Receive<gen::MessageEvent>(0ns)) {
    numbers.push_back(value->As<Line>()->number);
  }
  return numbers;
}

gen::Result<std::vector<gen::MessageEvent>> Subscribe(gen::Process& self, const gen::Event& event,
                                                      bool link) {
  return link ? self.LinkEvent(event) : self.MonitorEvent(event);
}
gen::Result<void> Unsubscribe(gen::Process& self, const gen::Event& event, bool link) {
  return link ? self.UnlinkEvent(event) : self.DemonitorEvent(event);
}

}  // namespace

TEST_CASE("event marks: who subscribes again while values wait gets each once and in order") {
  Cluster cluster("marks");
  const Producing prices(cluster.b);
  prices.Publish(cluster.b, {1});
  for (const auto& [first, second] : {std::pair{false, false}, {true, true}, {false, true}}) {
    InProcess(cluster.a, [&, first = first, second = second](gen::Process& self) {
      prices.MakeAnew(self);
      CHECK(prices.Publish(self, {1}) == 0);
      CHECK(NumbersIn(Subscribe(self, prices.event, first).value()) == Numbers{1});
      CHECK(prices.Publish(self, {2, 3}) == 1);
      CHECK(Unsubscribe(self, prices.event, first));
      CHECK(prices.Publish(self, {4, 5}) == 0);
      // They come behind what waits.
      CHECK(Subscribe(self, prices.event, second).value().empty());
      CHECK(prices.Publish(self, {6}) == 1);
      CHECK(Unsubscribe(self, prices.event, second));
      CHECK(Subscribe(self, prices.event, first).value().empty());
      CHECK(Subscribe(self, prices.event, !first).value().empty());
      CHECK(prices.Publish(self, {7}) == 1);
      CHECK(Waiting(self) == Numbers{2, 3, 4, 5, 6, 7});
      // One of two subscriptions ends: nothing is missing, and nothing comes twice.
      CHECK(Unsubscribe(self, prices.event, first));
      CHECK(prices.Publish(self, {8}) == 1);
      CHECK(Subscribe(self, prices.event, first).value().empty());
      CHECK(prices.Publish(self, {9}) == 1);
      CHECK(Waiting(self) == Numbers{8, 9});
      // Nothing waits: what was missed is returned.
      CHECK(Unsubscribe(self, prices.event, first));
      CHECK(Unsubscribe(self, prices.event, !first));
      CHECK(prices.Publish(self, {10, 11}) == 0);
      CHECK(NumbersIn(Subscribe(self, prices.event, second).value()) == Numbers{10, 11});
      CHECK(Waiting(self).empty());
    });
  }
}

TEST_CASE("event marks: each process of a node has its own") {
  Cluster cluster("own_marks");
  const Producing prices(cluster.b);
  InProcess(cluster.a, [&](gen::Process& self) {
    CHECK(self.MonitorEvent(prices.event));
    CHECK(prices.Publish(self, {1, 2}) == 1);
    CHECK(self.DemonitorEvent(prices.event));
    // One that comes later gets all that is kept, one that comes again what it has not had.
    const gen::PID first = self.Self();
    const auto late = self.Spawn([&, first](gen::Process& other) {
      CHECK(NumbersIn(other.MonitorEvent(prices.event).value()) == Numbers{1, 2});
      CHECK(other.Send(first, Line{0, "subscribed"}));
      for (const int number : {3, 4}) {
        const auto value = other.Receive<gen::MessageEvent>(20s);
        CHECK((value && value->As<Line>()->number == number));
      }
      CHECK(other.Send(first, Line{0, "has had them"}));
    });
    REQUIRE(late);
    REQUIRE(self.Receive<Line>(20s));
    CHECK(prices.Publish(self, {3}) == 1);
    CHECK(self.MonitorEvent(prices.event).value().empty());
    CHECK(prices.Publish(self, {4}) == 2);
    CHECK(Waiting(self) == Numbers{1, 2, 3, 4});
    CHECK(self.Receive<Line>(20s));
  });
}

TEST_CASE("event marks: another event of the same name is a new one, behind what waits") {
  Cluster cluster("anew");
  for (const bool by_end : {false, true}) {
    auto prices = std::make_unique<Producing>(cluster.b);
    InProcess(cluster.a, [&](gen::Process& self) {
      self.SetTrapExit(true);
      CHECK(self.LinkEvent(prices->event));
      CHECK(prices->Publish(self, {1, 2, 3}) == 1);
      CHECK(self.UnlinkEvent(prices->event));
      if (by_end) {
        // Not for a thread that runs processes.
        std::thread([&] {
          CHECK(cluster.b.SendExit(prices->pid, gen::Reason::Shutdown()));
          CHECK(cluster.b.WaitProcess(prices->pid));
          prices = std::make_unique<Producing>(cluster.b);
        }).join();
      } else {
        prices->MakeAnew(self);
      }
      CHECK(prices->Publish(self, {10, 11}) == 0);
      CHECK(self.LinkEvent(prices->event).value().empty());
      CHECK(prices->Publish(self, {12}) == 1);
      CHECK(Waiting(self) == Numbers{1, 2, 3, 10, 11, 12});
      // It ends while they have subscribed.
      CHECK(prices->Publish(self, {13}) == 1);
      prices->MakeAnew(self);
      CHECK(prices->Publish(self, {20}) == 0);
      CHECK(self.LinkEvent(prices->event).value().empty());
      CHECK(self.Receive<gen::MessageExitEvent>(20s));
      CHECK(prices->Publish(self, {21}) == 1);
      CHECK(Waiting(self) == Numbers{13, 20, 21});
    });
    CHECK(cluster.b.SendExit(prices->pid, gen::Reason::Shutdown()));
    CHECK(cluster.b.WaitProcess(prices->pid));
  }
}

TEST_CASE("event marks: a lost connection does not make values come twice") {
  Cluster cluster("lost_marks");
  const Producing prices(cluster.b);
  InProcess(cluster.a, [&](gen::Process& self) {
    self.SetTrapExit(true);
    CHECK(self.MonitorEvent(prices.event));
    CHECK(self.LinkEvent(prices.event));
    CHECK(prices.Publish(self, {1, 2}) == 1);
    REQUIRE(Disconnect(cluster.a, cluster.b.Name()));
    CHECK(self.Receive<gen::MessageDownEvent>(20s));
    CHECK(self.Receive<gen::MessageExitEvent>(20s));
    CHECK(prices.Publish(self, {3}) == 0);
    CHECK(self.LinkEvent(prices.event).value().empty());
    CHECK(prices.Publish(self, {4}) == 1);
    CHECK(Waiting(self) == Numbers{1, 2, 3, 4});
  });
}

TEST_CASE("event marks: what a full mailbox has not taken does not come later") {
  Cluster cluster("full_marks");
  const Producing prices(cluster.b);
  gen::ProcessOptions options;
  options.mailbox = gen::Mailbox::Bounded(2);
  std::promise<Numbers> got;
  const auto pid = cluster.a.Spawn(
      [&](gen::Process& self) {
        CHECK(self.MonitorEvent(prices.event));
        CHECK(prices.Publish(self, {1, 2, 3}) == 1);
        CHECK(self.DemonitorEvent(prices.event));
        CHECK(prices.Publish(self, {4}) == 0);
        CHECK(self.MonitorEvent(prices.event).value().empty());
        got.set_value(Waiting(self));
      },
      options);
  REQUIRE(pid);
  CHECK(got.get_future().get() == Numbers{1, 2, 4});
  CHECK(cluster.a.MessageBalance().dropped_mailbox_full == 1);
}

TEST_CASE("event marks: any sequence of subscriptions while values are published, and cuts") {
  constexpr int kProcesses = 4;
  constexpr int kEnough = kit::Scaled(3000, 3);
  constexpr int kCuts = kit::Scaled(20, 3);
  constexpr int kBetweenCuts = 300;  // values that were taken
  Cluster cluster("any_sequence");
  const Producing prices(cluster.b, 1'000'000);
  std::atomic<int> done{0};
  std::atomic<int> taken{0};
  std::mutex mutex;
  std::vector<std::string> wrong;
  const auto note = [&](const std::string& what) {
    std::lock_guard lock(mutex);
    wrong.push_back(what);
  };
  // Faster than the connection takes them, values would be dropped.
  const auto takes_more = [&] {
    constexpr std::size_t kFew = 64 * 1024;
    for (const auto& connection : InspectConnections(cluster.b)) {
      if (connection.queued_bytes > kFew) return false;
    }
    return true;
  };
  const std::jthread publisher([&](const std::stop_token& stops) {
    // Far ahead of them it goes slowly: what nobody has subscribed to is kept, and all of it would come at once later.
    constexpr int kAhead = 2000;
    for (int next = 1; !stops.stop_requested(); next += 2) {
      if (next > taken / kProcesses + kAhead) std::this_thread::sleep_for(1ms);
      (void)prices.Publish(cluster.b, {next, next + 1});
      // Sleeps: those who take them need the processors.
      while (!takes_more() && !stops.stop_requested()) std::this_thread::sleep_for(100us);
    }
  });
  std::vector<gen::PID> pids;
  for (unsigned seed = 0; seed < kProcesses; ++seed) {
    pids.push_back(cluster.a
                       .Spawn([&, seed](gen::Process& self) {
                         self.SetTrapExit(true);
                         std::minstd_rand random(seed + 1);
                         Numbers seen;
                         const auto take = [&](int number) {
                           if (!seen.empty() && number != seen.back() + 1) {
                             note(fmt::format("{} after {}", number, seen.back()));
                           }
                           seen.push_back(number);
                           ++taken;
                         };
                         while (seen.size() < kEnough) {
                           const bool link = random() % 2 == 0;
                           if (random() % 2 == 0) {
                             if (const auto missed = Subscribe(self, prices.event, link)) {
                               for (const int number : NumbersIn(*missed)) take(number);
                             }
                           } else {
                             (void)Unsubscribe(self, prices.event, link);
                           }
                           for (auto left = random() % 20; left != 0; --left) {
                             auto next = self.Receive<gen::MessageEvent>(1ms);
                             if (!next) break;
                             take(next->As<Line>()->number);
                           }
                         }
                         ++done;
                       })
                       .value());
  }
  for (int cut = 1; cut <= kCuts; ++cut) {
    const auto goes_on = [&] { return taken >= cut * kBetweenCuts || done == kProcesses; };
    while (!kit::Eventually(goes_on)) continue;  // a test that hangs shows where
    (void)Disconnect(cluster.a, cluster.b.Name());
  }
  for (const gen::PID pid : pids) CHECK(cluster.a.WaitProcess(pid));
  CHECK_MESSAGE(wrong.empty(), fmt::format("{}", fmt::join(wrong, "\n")));
  CHECK(cluster.b.MessageBalance().dropped_mailbox_full == 0);
  CHECK(cluster.a.MessageBalance().dropped_mailbox_full == 0);
}

// ---- nodes of earlier versions, and what is none

namespace {

// Asks as a node does, with a mark or without, and reads the answers.
class Asking : public ErlangPeer {
 public:
  using ErlangPeer::ErlangPeer;

  struct Answer {
    std::string error;  // as text
    std::size_t values = 0;
    std::optional<node::EventMark> mark;
  };
  Answer Subscribe(std::uint64_t number, const std::optional<node::EventMark>& mark) {
    std::string text;
    if (mark) {
      AppendMark(text, "prices", number, *mark);
      Send(text);
      text.clear();
    }
    const std::string reference = Reference(number);
    AppendSubscribe(text, reference, "prices", number, false);
    Send(text);
    Flush();
    return ReadAnswer(std::string(Await(SignalKind::kSendToAlias).payload));
  }
  void Unsubscribe(std::uint64_t number) {
    std::string text;
    AppendUnsubscribe(text, "prices", number, false);
    Send(text);
    Flush();
  }
  // The number of the next value; 0: none.
  std::uint64_t NextNumber(const std::string& own) {
    for (;;) {
      const std::string text(Await(SignalKind::kSendToName).payload);
      const auto message = ReadErgonMessage(text, own, 100);
      if (message && message->kind == ErgonMessage::Kind::kValue) return message->mark.seen;
    }
  }

 private:
  void Send(const std::string& text) {
    Add({.kind = SignalKind::kSendToName, .from = Pid(1), .name = kErgonName, .payload = text});
  }
  static Answer ReadAnswer(const std::string& payload) {
    ControlReader reader(payload, 100);
    std::size_t size = 0;
    std::string_view term;
    std::string_view word;
    Answer answer;
    REQUIRE((reader.ReadTuple(size) && reader.ReadTerm(term) && reader.ReadTuple(size)));
    REQUIRE(reader.ReadAtom(word));
    if (word != "ok") {
      answer.error = payload;
      return answer;
    }
    REQUIRE(reader.ReadTerm(term));
    ControlReader list(term, 100);
    (void)list.ReadList(answer.values);
    node::EventMark mark;
    if (size == 4) {
      REQUIRE((reader.ReadNumber(mark.event) && reader.ReadNumber(mark.seen)));
      answer.mark = mark;
    } else {
      REQUIRE(size == 2);
    }
    return answer;
  }
};

constexpr auto kErgonWithoutPacks = kOwnFlags & ~kFlagPacks;

}  // namespace

TEST_CASE("event marks: a subscriber of an earlier version gets neither marks nor numbers") {
  NodeForPeers there("before_marks");
  const Producing prices(there.node);
  prices.Publish(there.node, {1, 2});
  Asking older(there.node, "older_asks@127.0.0.1", there.port(), kErgonWithoutPacks);
  const Asking::Answer answer = older.Subscribe(7, std::nullopt);
  CHECK(answer.values == 2);
  CHECK_FALSE(answer.mark);
  CHECK(prices.Publish(there.node, {3}) == 1);
  CHECK(older.NextNumber("older_asks@127.0.0.1") == 0);
}

TEST_CASE("event marks: only what comes after the mark is sent, if it is of that event") {
  NodeForPeers there("asked_with_marks");
  const Producing prices(there.node);
  prices.Publish(there.node, {1, 2, 3});
  Asking peer(there.node, "asks_with_marks@127.0.0.1", there.port(), kErgonWithoutPacks);
  Asking::Answer answer = peer.Subscribe(1, node::EventMark());
  CHECK(answer.values == 3);
  REQUIRE(answer.mark);
  node::EventMark mark = *answer.mark;
  CHECK(mark.event != 0);
  CHECK(mark.seen == 3);
  mark.creation = prices.pid.creation;
  CHECK(prices.Publish(there.node, {4}) == 1);
  CHECK(peer.NextNumber("asks_with_marks@127.0.0.1") == 4);
  peer.Unsubscribe(1);
  CHECK(peer.Subscribe(2, mark).values == 1);
  peer.Unsubscribe(2);
  // Of a former incarnation of the node, of another event, of another subscription.
  mark.creation += 1;
  CHECK(peer.Subscribe(3, mark).values == 4);
  peer.Unsubscribe(3);
  mark.creation -= 1;
  CHECK(peer.Subscribe(4, node::EventMark{mark.event + 1, 3, mark.creation}).values == 4);
  peer.Unsubscribe(4);
  CHECK(peer.Subscribe(5, node::EventMark{mark.event, 4, mark.creation}).values == 0);
  peer.Unsubscribe(5);
  CHECK(peer.Subscribe(6, std::nullopt).values == 4);
  peer.Unsubscribe(6);
  // More than there have been.
  mark.seen = 5;
  answer = peer.Subscribe(7, mark);
  CHECK(answer.error.find("mark: says that 5 values of event prices were seen, but it has "
                          "published only 4") != std::string::npos);
  CHECK(prices.Publish(there.node, {5}) == 0);
}

TEST_CASE("event marks: a node of an earlier version answers with all that it keeps") {
  NodeForPeers there("asks_older");
  Asking older(there.node, "answers_older@127.0.0.1", there.port(), kErgonWithoutPacks);
  const auto next = [&](ErgonMessage::Kind kind) {
    for (;;) {
      const Signal asked = older.Await(SignalKind::kSendToName);
      auto message = ReadErgonMessage(asked.payload, "answers_older@127.0.0.1", 100);
      if (message && message->kind == kind) return *message;
    }
  };
  const std::string line =
      terms::Tuple({terms::SmallAtom("line"), terms::Small(1), terms::Binary("")});
  const std::string ok = terms::SmallAtom("ok");
  const std::string list = terms::List({terms::Tuple({terms::Small(1), line})});
  for (const auto& [text, outcome] :
       {std::pair{terms::Tuple({ok, list}), "1"},
        {terms::Tuple({ok, list}), "1"},
        {terms::Tuple({ok, list, terms::Small(7), terms::Small(1)}), "1"},
        {terms::Tuple({ok, list, terms::Small(7)}), "no list of values"},
        {terms::Tuple({ok, list, terms::Small(0), terms::Small(1)}), "a mark that is none"},
        {terms::Tuple({ok, list, terms::Small(7), ok}), "a mark that is none: the atom 'ok'"}}) {
    std::promise<std::string> told;
    CHECK(there.node.Spawn([&](gen::Process& self) {
      const auto missed = self.MonitorEvent({"prices", "answers_older@127.0.0.1"});
      told.set_value(missed ? std::to_string(missed->size()) : missed.error().ToString());
    }));
    const std::string reference(next(ErgonMessage::Kind::kSubscribe).reference);
    const std::string said = terms::Tuple({reference, text});
    older
        .Add({.kind = SignalKind::kSendToAlias,
              .from = older.Pid(1),
              .ref = reference,
              .payload = said})
        .Flush();
    const std::string said_to_be = told.get_future().get();
    CHECK_MESSAGE(said_to_be.find(outcome) != std::string::npos, said_to_be);
    (void)next(ErgonMessage::Kind::kUnsubscribe);
  }
}

}  // namespace ergon::dist::event_marks_test
