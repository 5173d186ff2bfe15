// Events of other Ergon nodes: what a subscriber gets, and what it is told when there is no more.
#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <ergon/act/pool.h>
#include <ergon/gen/dead_letter.h>
#include <ergon/gen/event.h>
#include <ergon/node/cluster/handshake/flags.h>

#include <cluster/client.h>
#include <cluster/cluster.h>
#include <kit/gate.h>

namespace ergon::dist {
namespace {

struct OnlyHere {};  // not registered

// Counts how often it is encoded or decoded, and does something when that happens next.
struct Watched {
  static constexpr const char* kTag = "watched";
  static inline std::atomic<int> calls{0};
  static inline std::function<void()> next;
  int number = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    ++calls;
    if (next) std::exchange(next, nullptr)();
    archive(number);
  }
};

// Publishes lines with the numbers that it is asked to, and counts its notices.
class Prices : public act::Actor {
 public:
  struct Notices {
    std::atomic<int> starts{0};
    std::atomic<int> stops{0};
  };
  explicit Prices(std::shared_ptr<Notices> notices) : notices_(std::move(notices)) {}

 private:
  gen::Status Init(const gen::Args&) override {
    token_ = RegisterEvent("prices", {.buffer = 3, .notify = true}).value();
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (message.Is<gen::MessageEventStart>()) {
      ++notices_->starts;
    } else if (message.Is<gen::MessageEventStop>()) {
      ++notices_->stops;
    } else {
      return Actor::HandleMessage(from, message);
    }
    return gen::Continue();
  }
  // The number of those who have got the last one.
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (request.Is<Line>()) {
      return gen::Reply(static_cast<std::int64_t>(SendEvent("prices", token_, OnlyHere{}).value()));
    }
    if (request.Is<gen::Atom>()) {  // what is no Line
      return gen::Reply(static_cast<std::int64_t>(
          SendEvent("prices", token_, Term::Tuple({Term::Atom("line"), 1, 2})).value()));
    }
    if (request.Is<bool>()) return gen::Reply(UnregisterEvent("prices").has_value());
    const auto* sum = request.As<Sum>();
    if (sum == nullptr) return Actor::HandleCall(from, ref, request);
    std::size_t got = 0;
    for (const int number : sum->numbers) {
      got = SendEvent("prices", token_, Line{number, "price"}).value();
    }
    return gen::Reply(static_cast<std::int64_t>(got));
  }

  const std::shared_ptr<Notices> notices_;
  gen::Ref token_;
};

struct Producing {
  explicit Producing(node::Node& of)
      : node(of), pid(node.Spawn(gen::Factory<Prices>(notices)).value()) {}
  // How many have got the last one.
  std::int64_t Publish(gen::Messenger& by, std::vector<int> numbers) const {
    return by.Call<std::int64_t>(pid, Sum{std::move(numbers)}, {.timeout = 60s}).value();
  }
  std::int64_t Publish(std::vector<int> numbers) const { return Publish(node, std::move(numbers)); }
  [[nodiscard]] bool Tells(int starts, int stops) const {
    return kit::Eventually([&] { return notices->starts == starts && notices->stops == stops; });
  }

  node::Node& node;
  const std::shared_ptr<Prices::Notices> notices = std::make_shared<Prices::Notices>();
  const gen::PID pid;
};

gen::Event PricesOf(const node::Node& node) { return {"prices", node.Name()}; }

std::vector<int> NumbersIn(const std::vector<gen::MessageEvent>& values) {
  std::vector<int> numbers;
  for (const auto& value : values) numbers.push_back(value.As<Line>()->number);
  return numbers;
}

int NextNumber(gen::Process& self) {
  const auto value = self.Receive<gen::MessageEvent>(20s);
  REQUIRE(value);
  REQUIRE(value->Is<Line>());
  return value->As<Line>()->number;
}

}  // namespace

TEST_CASE("remote events: what was missed, and then each value, in order") {
  Cluster cluster("values");
  Producing prices(cluster.b);
  const gen::Event event = PricesOf(cluster.b);
  CHECK(prices.Publish({1, 2, 3, 4}) == 0);
  InProcess(cluster.a, [&](gen::Process& self) {
    const auto missed = self.MonitorEvent(event);
    REQUIRE(missed);
    CHECK(NumbersIn(*missed) == std::vector{2, 3, 4});
    CHECK((*missed)[0].event() == event);
    CHECK((*missed)[0].timestamp() <= (*missed)[1].timestamp());
    CHECK(prices.Tells(1, 0));
    CHECK(prices.Publish(self, {5, 6}) == 1);
    CHECK(NextNumber(self) == 5);
    CHECK(NextNumber(self) == 6);
    // Twice the same; in another way too, but each value comes once.
    CHECK(self.MonitorEvent(event).error() == gen::ErrTaken);
    const auto linked = self.LinkEvent(event);
    REQUIRE(linked);
    CHECK(linked->empty());
    CHECK(prices.Publish(self, {7, 8}) == 1);
    CHECK(NextNumber(self) == 7);
    CHECK(NextNumber(self) == 8);
    CHECK(self.UnlinkEvent(event));
    CHECK(prices.Publish(self, {9}) == 1);
    CHECK(NextNumber(self) == 9);
    CHECK(self.DemonitorEvent(event));
    CHECK(self.DemonitorEvent(event).error() == gen::ErrProcessUnknown);
    CHECK(prices.Tells(1, 1));
    CHECK(prices.Publish(self, {10}) == 0);
    CHECK(Ping(self, cluster.b.Name()));  // behind all that was sent
    CHECK(self.Receive<gen::MessageEvent>(0ns).error() == gen::ErrTimeout);
    // And again: what it has not had.
    CHECK(NumbersIn(self.MonitorEvent(event).value()) == std::vector{10});
  });
  CHECK(prices.Tells(2, 2));  // the subscriber has ended
}

TEST_CASE("remote events: a value is encoded once, whoever gets it, and may publish meanwhile") {
  kit::LogCapture log;
  gen::NodeOptions options;
  options.types.Register<Watched>();
  node::Node here = TryStart("encoded_a@127.0.0.1", log, ClusterOptions(), options).value();
  node::Node there = TryStart("encoded_b@127.0.0.1", log, ClusterOptions(), options).value();
  std::atomic<int> subscribed{0};
  std::atomic<int> in_order{0};
  std::atomic<bool> registered{false};
  constexpr int kSubscribers = 3;
  const auto publisher = there.Spawn([&](gen::Process& self) {
    const gen::Ref token = self.RegisterEvent("watched").value();
    registered = true;
    while (subscribed != kSubscribers) self.Sleep(1ms);
    Watched::next = [&] {
      CHECK(self.SendEvent("watched", token, Line{1, "first"}).value() == kSubscribers);
    };
    Watched::calls = 0;
    CHECK(self.SendEvent("watched", token, Watched{2}).value() == kSubscribers);
  });
  REQUIRE(publisher);
  REQUIRE(kit::Eventually([&] { return registered.load(); }));
  for (int i = 0; i < kSubscribers; ++i) {
    REQUIRE(here.Spawn([&](gen::Process& self) {
      CHECK(self.MonitorEvent({"watched", there.Name()}));
      ++subscribed;
      const auto first = self.Receive<gen::MessageEvent>(20s);
      const auto second = self.Receive<gen::MessageEvent>(20s);
      if (first && first->Is<Line>() && second && second->Is<Watched>()) ++in_order;
    }));
  }
  CHECK(kit::Eventually([&] { return in_order == kSubscribers; }));
  CHECK(Watched::calls == 1 + kSubscribers);
}

TEST_CASE("remote events: none is missing and none comes twice when it is published meanwhile") {
  Cluster cluster("meanwhile");
  Producing prices(cluster.b);
  std::atomic<int> last{0};
  // Faster than the connection takes them, values would be dropped.
  const auto takes_more = [&] {
    constexpr std::size_t kFew = 64 * 1024;
    return std::ranges::all_of(InspectConnections(cluster.b), [](const auto& connection) {
      return connection.queued_bytes <= kFew;
    });
  };
  const std::jthread publisher([&](const std::stop_token& stops) {
    while (!stops.stop_requested()) {
      ++last;
      (void)prices.Publish({last});
      while (!takes_more() && !stops.stop_requested()) std::this_thread::sleep_for(100us);
    }
  });
  for (int round = 0; round < 30; ++round) {
    InProcess(cluster.a, [&](gen::Process& self) {
      const auto missed = self.MonitorEvent(PricesOf(cluster.b));
      REQUIRE(missed);
      std::vector<int> numbers = NumbersIn(*missed);
      while (numbers.size() < 50) numbers.push_back(NextNumber(self));
      for (std::size_t i = 1; i < numbers.size(); ++i) CHECK(numbers[i] == numbers[i - 1] + 1);
    });
  }
}

TEST_CASE("remote events: the end of an event is told once, as subscribed") {
  for (const bool by_producer : {true, false}) {
    CAPTURE(by_producer);
    Cluster cluster(by_producer ? "ended" : "unregistered");
    Producing prices(cluster.b);
    const gen::Event event = PricesOf(cluster.b);
    std::atomic<int> ready{0};
    const auto subscribe = [&](gen::Process& self) {
      (void)self.MonitorEvent(event).value();
      (void)self.LinkEvent(event).value();
      ++ready;
    };
    const gen::Reason reason =
        by_producer ? gen::Reason::Shutdown() : gen::Reason::Error("event unregistered");
    std::atomic<int> told{0};
    const gen::PID trapping = cluster.a
                                  .Spawn([&](gen::Process& self) {
                                    self.SetTrapExit(true);
                                    subscribe(self);
                                    const auto down = self.Receive<gen::MessageDownEvent>(20s);
                                    const auto exit = self.Receive<gen::MessageExitEvent>(20s);
                                    if (down && down->event == event && down->reason == reason)
                                      ++told;
                                    if (exit && exit->event == event && exit->reason == reason)
                                      ++told;
                                    (void)Ping(self, cluster.b.Name());
                                    if (self.Receive<gen::MessageDownEvent>(0ns)) ++told;
                                    if (self.MonitorEvent(event).error() == gen::ErrProcessUnknown)
                                      ++told;
                                  })
                                  .value();
    const gen::PID linked = cluster.a
                                .Spawn([&](gen::Process& self) {
                                  subscribe(self);
                                  (void)self.Receive<Line>(20s);
                                })
                                .value();
    REQUIRE(kit::Eventually([&] { return ready == 2; }));
    if (by_producer) {
      CHECK(cluster.b.SendExit(prices.pid, gen::Reason::Shutdown()));
    } else {
      CHECK(cluster.b.Call<bool>(prices.pid, true).value());
    }
    CHECK(cluster.a.WaitProcess(trapping));
    CHECK(cluster.a.WaitProcess(linked));
    CHECK(told == 3);
  }
}

TEST_CASE("remote events: what cannot be subscribed to is refused with words") {
  Cluster cluster("refused");
  InProcess(cluster.a, [&](gen::Process& self) {
    const auto unknown = self.MonitorEvent({"nothing_at_all", cluster.b.Name()});
    CHECK(unknown.error() == gen::ErrProcessUnknown);
    CHECK(unknown.error().detail() == "no event nothing_at_all");
    const auto letters = self.MonitorEvent({gen::Atom(gen::kDeadLetters), cluster.b.Name()});
    CHECK(letters.error() == gen::ErrUnsupported);
    CHECK(self.LinkEvent({"prices", "nowhere@127.0.0.1"}).error() == gen::ErrNoConnection);
    CHECK(self.DemonitorEvent({"prices", cluster.b.Name()}).error() == gen::ErrProcessUnknown);
    CHECK(Ping(self, cluster.b.Name()));  // nothing has ended this process
  });
}

TEST_CASE("remote events: a value that other nodes do not know ends what they have subscribed to") {
  Cluster cluster("types");
  Producing prices(cluster.b);
  const gen::Event event = PricesOf(cluster.b);
  std::atomic<int> here{0};
  std::atomic<bool> ready{false};
  cluster.b
      .Spawn([&](gen::Process& self) {
        (void)self.MonitorEvent(event).value();
        ready = true;
        const auto value = self.Receive<gen::MessageEvent>(20s);
        if (value && value->Is<OnlyHere>()) ++here;
      })
      .value();
  REQUIRE(kit::Eventually([&] { return ready.load(); }));
  InProcess(cluster.a, [&](gen::Process& self) {
    (void)self.MonitorEvent(event).value();
    CHECK(self.Call<std::int64_t>(prices.pid, Line{}).value() == 1);
    const auto down = self.Receive<gen::MessageDownEvent>(20s);
    REQUIRE(down);
    CHECK(down->reason.ToString().find("OnlyHere is not registered") != std::string::npos);
    // The buffer has it still.
    CHECK(self.MonitorEvent(event).error() == gen::ErrUnsupported);
  });
  CHECK(kit::Eventually([&] { return here == 1; }));
  CHECK(kit::Eventually([&] { return prices.notices->starts == prices.notices->stops; }));
}

// Publishes a term, which its buffer keeps.
class DeepPrices : public act::Actor {
 public:
  explicit DeepPrices(Term term) : term_(std::move(term)) {}

 private:
  gen::Status Init(const gen::Args&) override {
    const gen::Ref token = RegisterEvent("prices", {.buffer = 1}).value();
    CHECK(SendEvent("prices", token, term_));
    return gen::Continue();
  }
  const Term term_;
};

TEST_CASE("remote events: what was missed may be as deep as a term may be") {
  ErlangOptions options = ClusterOptions();
  options.max_term_depth = 50;
  Cluster cluster("deep", options);
  for (int depth = 45; depth <= 50; ++depth) {
    Term term = 1;
    for (int level = 0; level < depth; ++level) term = Term::List({term});
    const gen::PID pid = cluster.b.Spawn(gen::Factory<DeepPrices>(term)).value();
    InProcess(cluster.a, [&](gen::Process& self) {
      const auto values = self.MonitorEvent(PricesOf(cluster.b));
      REQUIRE_MESSAGE(values, values.error().ToString());
      REQUIRE(values->size() == 1);
      CHECK(*values->front().As<Term>() == term);
    });
    CHECK(cluster.b.Kill(pid));
    CHECK(cluster.b.WaitProcess(pid, kit::kDeadline));
  }
}

TEST_CASE(
    "remote events: a value that does not fit its type ends the subscription, rather than a gap") {
  Cluster cluster("unfit");
  Producing prices(cluster.b);
  const gen::Event event = PricesOf(cluster.b);
  InProcess(cluster.a, [&](gen::Process& self) {
    self.SetTrapExit(true);
    (void)self.MonitorEvent(event).value();
    (void)self.LinkEvent(event).value();
    CHECK(self.Call<std::int64_t>(prices.pid, gen::Atom("unfit")).value() == 1);
    const auto down = self.Receive<gen::MessageDownEvent>(20s);
    const auto exit = self.Receive<gen::MessageExitEvent>(20s);
    REQUIRE(down);
    REQUIRE(exit);
    CHECK(down->reason.ToString().find("line.2: expected a binary") != std::string::npos);
    CHECK(exit->reason == down->reason);
    CHECK(prices.Tells(1, 1));
    CHECK(self.DemonitorEvent(event).error() == gen::ErrProcessUnknown);
  });
}

TEST_CASE(
    "remote events: a lost connection ends subscriptions on both nodes, and they can begin anew") {
  Cluster cluster("lost");
  Producing prices(cluster.b);
  const gen::Event event = PricesOf(cluster.b);
  InProcess(cluster.a, [&](gen::Process& self) {
    self.SetTrapExit(true);
    for (int round = 1; round <= 5; ++round) {
      (void)self.MonitorEvent(event).value();
      (void)self.LinkEvent(event).value();
      CHECK(prices.Tells(round, round - 1));
      REQUIRE(Disconnect(cluster.a, cluster.b.Name()));
      const auto down = self.Receive<gen::MessageDownEvent>(20s);
      const auto exit = self.Receive<gen::MessageExitEvent>(20s);
      REQUIRE(down);
      REQUIRE(exit);
      CHECK(down->reason == gen::Reason::NoConnection());
      CHECK(exit->reason == gen::Reason::NoConnection());
      CHECK(prices.Tells(round, round));
      CHECK(self.Receive<gen::MessageDownEvent>(0ns).error() == gen::ErrTimeout);
    }
  });
}

TEST_CASE("remote events: who is killed while it waits for the answer leaves nothing") {
  Cluster cluster("killed");
  Producing prices(cluster.b);
  for (int round = 0; round < 100; ++round) {
    std::atomic<bool> begins{false};
    const gen::PID pid = cluster.a
                             .Spawn([&](gen::Process& self) {
                               begins = true;
                               (void)self.MonitorEvent(PricesOf(cluster.b));
                               (void)self.Receive<Line>(20s);
                             })
                             .value();
    while (!begins) std::this_thread::yield();
    (void)cluster.a.Kill(pid);
    CHECK(cluster.a.WaitProcess(pid));
  }
  // The last one's question may still be under way.
  CHECK(kit::Eventually([&] { return prices.Publish({1}) == 0; }));
  CHECK(Ping(cluster.a, cluster.b.Name()));
  CHECK(kit::Eventually(
      [&] { return prices.Publish({1}) == 0 && prices.notices->starts == prices.notices->stops; }));
}

TEST_CASE("remote events: a full mailbox there does not get a value, which is counted") {
  Cluster cluster("full");
  Producing prices(cluster.b);
  std::atomic<bool> ready{false};
  std::atomic<bool> goes_on{false};
  std::atomic<int> got{0};
  gen::ProcessOptions options;
  options.mailbox = gen::Mailbox::Bounded(2);
  const gen::PID slow = cluster.a
                            .Spawn(
                                [&](gen::Process& self) {
                                  (void)self.MonitorEvent(PricesOf(cluster.b)).value();
                                  ready = true;
                                  while (!goes_on) self.Sleep(1ms);
                                  while (self.Receive<gen::MessageEvent>(0ns)) ++got;
                                },
                                options)
                            .value();
  REQUIRE(kit::Eventually([&] { return ready.load(); }));
  CHECK(prices.Publish({1, 2, 3, 4, 5}) == 1);
  CHECK(kit::Eventually([&] { return cluster.a.MessageBalance().dropped_mailbox_full == 3; }));
  goes_on = true;
  CHECK(cluster.a.WaitProcess(slow));
  CHECK(got == 2);
}

TEST_CASE("remote events: a pool that has too much to do does not get a value, which is counted") {
  class Slow : public act::Actor {
   public:
    explicit Slow(std::shared_ptr<std::atomic<int>> handled) : handled_(std::move(handled)) {}

   private:
    gen::Status HandleEvent(const gen::MessageEvent&) override {
      std::this_thread::sleep_for(1ms);
      ++*handled_;
      return gen::Continue();
    }
    const std::shared_ptr<std::atomic<int>> handled_;
  };
  class Readers : public act::Pool {
   public:
    Readers(gen::Event event, std::shared_ptr<std::atomic<int>> handled)
        : event_(event), handled_(std::move(handled)) {}

   private:
    gen::Result<act::PoolOptions> Init(const gen::Args&) override {
      (void)MonitorEvent(event_).value();
      return act::PoolOptions{
          .pool_size = 1, .worker_factory = gen::Factory<Slow>(handled_), .admission_limit = 20ms};
    }
    const gen::Event event_;
    const std::shared_ptr<std::atomic<int>> handled_;
  };
  Cluster cluster("overloaded");
  Producing prices(cluster.b);
  const auto handled = std::make_shared<std::atomic<int>>(0);
  REQUIRE(cluster.a.Spawn(gen::Factory<Readers>(PricesOf(cluster.b), handled)));
  // First alone, until it is known how long one takes.
  constexpr int kAlone = 20;
  for (int i = 1; i <= kAlone; ++i) {
    CHECK(prices.Publish({i}) == 1);
    REQUIRE(kit::Eventually([&] { return *handled == i; }));
  }
  constexpr int kTogether = 200;
  CHECK(prices.Publish(std::vector<int>(kTogether, 0)) == 1);
  CHECK(kit::Eventually([&] {
    const auto dropped = static_cast<int>(cluster.a.MessageBalance().dropped_mailbox_full);
    return dropped > 0 && *handled + dropped == kAlone + kTogether;
  }));
}

TEST_CASE("remote events: what a value pushes out may take its time at its end") {
  struct PushedOut {
    std::shared_ptr<int> end;
  };
  Cluster cluster("pushed_out");
  Producing prices(cluster.b);
  std::promise<void> may_end;
  std::atomic<int> subscribed{0};
  std::atomic<bool> is_ending{false};
  std::atomic<bool> has_unsubscribed{false};
  std::atomic<bool> goes_on{false};
  gen::ProcessOptions options;
  options.mailbox = gen::Mailbox::Bounded(1, gen::Overflow::kDropOldest);
  const gen::PID full = cluster.a
                            .Spawn(
                                [&](gen::Process& self) {
                                  (void)self.MonitorEvent(PricesOf(cluster.b)).value();
                                  ++subscribed;
                                  while (!goes_on) self.Sleep(1ms);
                                },
                                options)
                            .value();
  const gen::PID other = cluster.a
                             .Spawn([&](gen::Process& self) {
                               (void)self.MonitorEvent(PricesOf(cluster.b)).value();
                               ++subscribed;
                               while (!is_ending) self.Sleep(1ms);
                               self.DemonitorEvent(PricesOf(cluster.b)).value();
                               has_unsubscribed = true;
                             })
                             .value();
  REQUIRE(kit::Eventually([&] { return subscribed == 2; }));
  std::shared_ptr<int> end(new int(0), [&](int* number) {
    is_ending = true;
    may_end.get_future().wait();
    delete number;
  });
  CHECK(cluster.a.Send(full, PushedOut{std::move(end)}));
  CHECK(prices.Publish({1}) == 2);
  CHECK(kit::Eventually([&] { return has_unsubscribed.load(); }));
  may_end.set_value();
  goes_on = true;
  CHECK(cluster.a.WaitProcess(full));
  CHECK(cluster.a.WaitProcess(other));
}

TEST_CASE("remote events: of a node that does not run Ergon, or does not answer") {
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  kit::LogCapture log;
  auto node = TryStart("wants@127.0.0.1", log, options).value();
  Client foreign(static_cast<std::uint16_t>(options.listen_port));
  Client silent(static_cast<std::uint16_t>(options.listen_port));
  REQUIRE(foreign.ShakeHands("otherkind@127.0.0.1", "wants@127.0.0.1", kOwnFlags & ~kFlagErgon));
  REQUIRE(silent.ShakeHands("mute@127.0.0.1", "wants@127.0.0.1"));
  REQUIRE(kit::Eventually([&] { return Nodes(node).size() == 2; }));
  InProcess(node, [&](gen::Process& self) {
    const auto refused = self.MonitorEvent({"prices", "otherkind@127.0.0.1"});
    CHECK(refused.error() == gen::ErrUnsupported);
    CHECK(refused.error().ToString().find("otherkind@127.0.0.1 is no Ergon node") !=
          std::string::npos);
  });
  std::atomic<bool> lost{false};
  const gen::PID waiting =
      node.Spawn([&](gen::Process& self) {
            lost = self.LinkEvent({"prices", "mute@127.0.0.1"}).error() == gen::ErrNoConnection;
          })
          .value();
  std::string said;
  while (said.find("subscribe") == std::string::npos) said += silent.Read();
  silent.Close();
  CHECK(node.WaitProcess(waiting));
  CHECK(lost);
  node.Stop();
  kit::CheckBalance(node);
}

TEST_CASE("remote events: cuts while many publish and subscribe") {
  Cluster cluster("cuts");
  Producing prices(cluster.b);
  const gen::Event event = PricesOf(cluster.b);
  std::atomic<bool> is_over{false};
  std::atomic<int> rounds{0};
  std::mutex mutex;
  std::vector<std::string> wrong;
  const auto note = [&](std::string what) {
    std::lock_guard lock(mutex);
    wrong.push_back(std::move(what));
  };
  std::jthread publisher([&](const std::stop_token& stops) {
    for (int number = 0; !stops.stop_requested(); number += 10) {
      (void)prices.Publish({number, number + 1, number + 2, number + 3});
    }
  });
  std::vector<gen::PID> subscribers;
  for (int i = 0; i < 6; ++i) {
    subscribers.push_back(
        cluster.a
            .Spawn([&](gen::Process& self) {
              while (!is_over) {
                const auto missed = self.MonitorEvent(event);
                if (!missed) {
                  if (missed.error() != gen::ErrNoConnection) note(missed.error().ToString());
                  while (self.Receive<gen::MessageEvent>(0ns)) continue;
                  continue;
                }
                std::vector<int> numbers = NumbersIn(*missed);
                for (int left = 20; left != 0; --left) {
                  // Until it is told that there is no more.
                  auto next = self.Receive<gen::MessageEvent, gen::MessageDownEvent>(20s);
                  if (!next) note(next.error().ToString());
                  if (!next || std::holds_alternative<gen::MessageDownEvent>(*next)) break;
                  numbers.push_back(std::get<gen::MessageEvent>(*next).As<Line>()->number);
                }
                if (!std::is_sorted(numbers.begin(), numbers.end()) ||
                    std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end()) {
                  note(fmt::format("{}", fmt::join(numbers, " ")));
                }
                (void)self.DemonitorEvent(event);
                while (self.Receive<gen::MessageEvent>(0ns)) continue;
                ++rounds;
              }
            })
            .value());
  }
  for (int cut = 0; cut < (kit::kSanitized ? 10 : 30); ++cut) {
    const int before = rounds;
    CHECK(kit::Eventually([&] { return rounds >= before + 10; }));
    (void)Disconnect(cut % 2 == 0 ? cluster.a : cluster.b,
                     cut % 2 == 0 ? cluster.b.Name() : cluster.a.Name());
  }
  is_over = true;
  for (const gen::PID pid : subscribers) CHECK(cluster.a.WaitProcess(pid));
  publisher.request_stop();
  publisher.join();
  CHECK_MESSAGE(wrong.empty(), fmt::format("{}", fmt::join(wrong, "\n")));
  CHECK(kit::Eventually([&] { return prices.notices->starts == prices.notices->stops; }));
}

}  // namespace ergon::dist
