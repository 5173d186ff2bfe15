#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include <ergon/gen/dead_letter.h>

#include <node/subject.h>

namespace ergon::node {
namespace {

struct Seen {
  gen::PID pid;
  std::string what;
  friend bool operator==(const Seen&, const Seen&) = default;
};

Handlers Subscriber(Notes<Seen>& seen) {
  return {.message =
              [&seen](Subject& self, gen::PID, gen::Message& message) {
                const auto* down = message.As<gen::MessageDownEvent>();
                seen.Add({self.Self(),
                          down->event.name.ToString() + " down: " + down->reason.ToString()});
                return gen::Continue();
              },
          .event =
              [&seen](Subject& self, const gen::MessageEvent& event) {
                seen.Add({self.Self(),
                          event.event().name.ToString() + " " + std::to_string(*event.As<int>())});
                return gen::Continue();
              }};
}
void Subscribe(TestNode& t, gen::PID pid, gen::Event event) {
  CHECK(t.Run(pid, [&](Subject& self) { self.MonitorEvent(event).value(); }));
}

TEST_CASE("events: published to all subscribers, in order, until they leave") {
  Notes<Seen> seen;
  gen::Ref token;
  std::vector<std::string> of_one;
  std::vector<std::string> of_two;
  TestNode t;
  const gen::PID producer = t.Spawn();
  CHECK(t.Run(producer, [&](Subject& self) {
    token = self.RegisterEvent("prices").value();
    CHECK(self.RegisterEvent("prices").error() == gen::ErrTaken);
    CHECK(self.RegisterEvent("").error() == gen::ErrIncorrect);
    CHECK(self.SendEvent("prices", token, 0).value() == 0);
  }));
  const gen::PID one = t.Spawn(Subscriber(seen));
  const gen::PID two = t.Spawn(Subscriber(seen));
  Subscribe(t, one, {"prices", {}});
  Subscribe(t, two, {"prices", t.node.Name()});
  CHECK(t.Run(one, [](Subject& self) {
    CHECK(self.MonitorEvent({"prices", {}}).error() == gen::ErrTaken);
    CHECK(self.MonitorEvent({"nothing", {}}).error() == gen::ErrProcessUnknown);
    CHECK(self.MonitorEvent({"prices", "other@localhost"}).error() == gen::ErrNoConnection);
    CHECK(self.DemonitorEvent({"nothing", {}}).error() == gen::ErrProcessUnknown);
  }));
  CHECK(t.Run(producer, [&](Subject& self) {
    CHECK(self.SendEvent("prices", token, 1).value() == 2);
    CHECK(self.SendEvent("prices", token, 2).value() == 2);
    CHECK(self.SendEvent("prices", self.MakeRef(), 3).error() == gen::ErrNotAllowed);
    CHECK(self.SendEvent("nothing", token, 3).error() == gen::ErrProcessUnknown);
  }));
  CHECK(kit::Eventually([&] { return seen.size() == 4; }));
  CHECK(t.Run(one, [](Subject& self) {
    CHECK(self.DemonitorEvent({"prices", {}}));
    CHECK(self.DemonitorEvent({"prices", {}}).error() == gen::ErrProcessUnknown);
  }));
  // Anybody may publish who has the token.
  CHECK(t.Run(one, [&](Subject& self) { CHECK(self.SendEvent("prices", token, 5).value() == 1); }));
  CHECK(t.Run(two, [](Subject&) {}));
  for (const Seen& s : seen.All()) (s.pid == one ? of_one : of_two).push_back(s.what);
  CHECK(of_one == std::vector<std::string>{"prices 1", "prices 2"});
  CHECK(of_two == std::vector<std::string>{"prices 1", "prices 2", "prices 5"});
}

TEST_CASE("events: subscribers share one value") {
  Notes<const void*> addresses;
  gen::Ref token;
  std::vector<gen::PID> pids;
  TestNode t;
  struct Value {
    explicit Value(std::shared_ptr<int> alive_in) : alive(std::move(alive_in)) {}
    std::shared_ptr<int> alive;
  };
  const auto alive = std::make_shared<int>(1);
  const gen::PID producer = t.Spawn();
  CHECK(t.Run(producer, [&](Subject& self) { token = self.RegisterEvent("e").value(); }));
  for (int i = 0; i < 5; ++i) {
    pids.push_back(t.Spawn({.event = [&](Subject& self, const gen::MessageEvent& event) {
      CHECK(event.Is<Value>());
      CHECK(!event.Is<int>());
      CHECK(event.timestamp() <= self.Now());
      addresses.Add(event.As<Value>());
      return gen::Continue();
    }}));
    Subscribe(t, pids.back(), {"e", {}});
  }
  CHECK(t.Run(producer, [&](Subject& self) {
    CHECK(self.SendEvent("e", token, Value(alive)).value() == 5);
  }));
  CHECK(kit::Eventually([&] { return addresses.size() == 5; }));
  for (const void* address : addresses.All()) CHECK(address == addresses.All()[0]);
  // The value goes with its last reader.
  CHECK(kit::Eventually([&] { return alive.use_count() == 1; }));
}

TEST_CASE("events: subscribers hear of the event's end") {
  Notes<Seen> seen;
  TestNode t;
  const gen::PID one = t.Spawn(Subscriber(seen));
  const gen::PID producer = t.Spawn();
  auto make = [&] {
    CHECK(t.Run(producer, [](Subject& self) { self.RegisterEvent("e").value(); }));
    Subscribe(t, one, {"e", {}});
  };
  make();
  CHECK(t.Run(producer, [](Subject& self) {
    CHECK(self.UnregisterEvent("e"));
    CHECK(self.UnregisterEvent("e").error() == gen::ErrProcessUnknown);
  }));
  CHECK(kit::Eventually([&] { return seen.size() == 1; }));
  make();
  CHECK(t.Run(one, [](Subject& self) {
    CHECK(self.UnregisterEvent("e").error() == gen::ErrProcessUnknown);  // not its own
  }));
  CHECK(t.node.Send(producer, End{gen::Reason::Error("broke")}));
  CHECK(kit::Eventually([&] { return seen.size() == 2; }));
  CHECK(seen.All()[0].what == "e down: event unregistered");
  CHECK(seen.All()[1].what == "e down: broke");
  // The name is free, and the subscriber can subscribe again.
  const gen::PID next = t.Spawn();
  CHECK(t.Run(next, [](Subject& self) { CHECK(self.RegisterEvent("e")); }));
  Subscribe(t, one, {"e", {}});
}

TEST_CASE("events: a subscriber's end is not the producer's problem; full mailboxes are counted") {
  Notes<Seen> seen;
  gen::Ref token;
  TestNode t;
  const gen::PID producer = t.Spawn();
  CHECK(t.Run(producer, [&](Subject& self) { token = self.RegisterEvent("e").value(); }));
  const gen::PID gone = t.Spawn(Subscriber(seen));
  Subscribe(t, gone, {"e", {}});
  CHECK(t.node.Kill(gone));
  CHECK(t.Ended(gone));
  const gen::PID full = t.Spawn(Subscriber(seen), {.mailbox_size = 2});
  Subscribe(t, full, {"e", {}});
  t.Begin(full, [](Subject& self) { (void)self.Sleep(gen::kInfinite); });
  CHECK(t.EventuallyWaiting(full));
  CHECK(t.Run(producer, [&](Subject& self) {
    CHECK(self.SendEvent("e", token, 1).value() == 1);
    CHECK(self.SendEvent("e", token, 2).value() == 1);
    CHECK(self.SendEvent("e", token, 3).value() == 0);
  }));
  CHECK(t.node.Info().dropped_mailbox_full == 1);
  CHECK(t.node.Kill(full));
}

// Publishes when the last message that has it is destroyed.
struct Farewell {
  explicit Farewell(std::function<void()> say) : say_(std::move(say)) {}
  Farewell(const Farewell&) = delete;
  Farewell& operator=(const Farewell&) = delete;
  ~Farewell() { say_(); }

 private:
  std::function<void()> say_;
};
struct LastWords {
  std::shared_ptr<Farewell> farewell;
};

TEST_CASE("events: what a subscriber drops for a value may publish at its end") {
  Notes<Seen> seen;
  gen::Ref token;
  TestNode t;
  const gen::PID producer = t.Spawn();
  CHECK(t.Run(producer, [&](Subject& self) { token = self.RegisterEvent("e").value(); }));
  const gen::PID full =
      t.Spawn(Subscriber(seen), {.mailbox = gen::Mailbox::Bounded(1, gen::Overflow::kDropOldest)});
  const gen::PID other = t.Spawn(Subscriber(seen));
  Subscribe(t, full, {"e", {}});
  Subscribe(t, other, {"e", {}});
  CHECK(t.node.Suspend(full));
  CHECK(t.Run(producer, [&](Subject& self) {
    auto farewell =
        std::make_shared<Farewell>([&] { CHECK(self.SendEvent("e", token, 2).value() == 2); });
    CHECK(self.Send(full, LastWords{std::move(farewell)}));
    CHECK(self.SendEvent("e", token, 1).value() == 2);
  }));
  CHECK(t.node.Info().dropped_mailbox_full == 2);  // the words, and the first value
  CHECK(t.node.Resume(full));
  REQUIRE(kit::Eventually([&] { return seen.size() == 3; }));
  std::vector<std::string> of_other;
  for (const Seen& s : seen.All()) {
    if (s.pid == other) of_other.push_back(s.what);
    if (s.pid == full) CHECK(s.what == "e 2");
  }
  CHECK(of_other == std::vector<std::string>{"e 1", "e 2"});
}

TEST_CASE(
    "events: so may what a reader of dead letters drops for a value that nobody had room for") {
  Notes<Seen> seen;
  gen::Ref token;
  TestNode t;
  const gen::PID producer = t.Spawn();
  CHECK(t.Run(producer, [&](Subject& self) { token = self.RegisterEvent("e").value(); }));
  const gen::PID full = t.Spawn(Subscriber(seen), {.mailbox_size = 1});
  const gen::PID reader =
      t.Spawn(Subscriber(seen), {.mailbox = gen::Mailbox::Bounded(1, gen::Overflow::kDropOldest)});
  Subscribe(t, full, {"e", {}});
  Subscribe(t, reader, {gen::kDeadLetters, {}});
  CHECK(t.node.Suspend(full));
  CHECK(t.node.Suspend(reader));
  int published = 0;
  CHECK(t.Run(producer, [&](Subject& self) {
    auto farewell = std::make_shared<Farewell>([&] {
      ++published;
      CHECK(self.SendEvent("e", token, 3).value() == 0);
    });
    CHECK(self.Send(reader, LastWords{std::move(farewell)}));
    CHECK(self.SendEvent("e", token, 1).value() == 1);
    CHECK(self.SendEvent("e", token, 2).value() == 0);
  }));
  CHECK(published == 1);
  // Two values, the words, and the letter about the first of the values, for that about the second.
  CHECK(t.node.Info().dropped_mailbox_full == 4);
  CHECK(t.node.Kill(full));
  CHECK(t.node.Kill(reader));
}

TEST_CASE("events: subscribing and leaving while others publish and end") {
  std::atomic<std::size_t> published{0};
  std::atomic<std::size_t> events{0};
  std::atomic<int> downs{0};
  std::atomic<int> subscribed{0};
  std::atomic<int> left{0};
  std::atomic<bool> done{false};
  std::vector<gen::PID> subscribers;
  TestNode t;
  const int rounds = kit::Scaled(2'000);
  for (int i = 0; i < 3; ++i) {
    subscribers.push_back(t.Spawn({.message =
                                       [&](Subject&, gen::PID, gen::Message& message) {
                                         if (message.Is<gen::MessageDownEvent>())
                                           downs.fetch_add(1);
                                         return gen::Continue();
                                       },
                                   .event =
                                       [&](Subject&, const gen::MessageEvent&) {
                                         events.fetch_add(1);
                                         return gen::Continue();
                                       }}));
    t.Begin(subscribers.back(), [&, i](Subject& self) {
      for (int k = 0; !done; ++k) {
        if (self.MonitorEvent({"shared", {}})) {
          subscribed.fetch_add(1);
          if ((k + i) % 3 == 0 && self.DemonitorEvent({"shared", {}})) left.fetch_add(1);
        }
        (void)self.Sleep(10us);
      }
    });
  }
  for (int i = 0; i < rounds; ++i) {
    const gen::PID producer = t.Spawn();
    CHECK(t.Run(producer, [&](Subject& self) {
      const gen::Ref token = self.RegisterEvent("shared").value();
      for (int k = 0; k < 3; ++k) published += self.SendEvent("shared", token, k).value();
      (void)self.Sleep(20us);
      for (int k = 0; k < 3; ++k) published += self.SendEvent("shared", token, k).value();
    }));
    CHECK(t.node.Send(producer, End{}));
    CHECK(t.Ended(producer));
  }
  done = true;
  for (const gen::PID pid : subscribers) CHECK(t.Run(pid, [](Subject&) {}));
  // Each subscription ended in exactly one way.
  CHECK(subscribed == downs + left);
  CHECK(events == published);
}

}  // namespace
}  // namespace ergon::node
