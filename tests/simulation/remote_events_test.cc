// Events of another node under many interleavings of subscriptions, ends, cuts and values that wait: a subscriber gets
// each value once and in order, and misses none that was kept when it subscribed again.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/gen/event.h>
#include <ergon/gen/process.h>
#include <ergon/testkit/simulation.h>

#include <event_wire.h>

namespace ergon::testkit::remote_events_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

const gen::Event kNews{"news", "there@sim"};
struct Act {};
struct Settle {};  // subscribe, and stay so
struct Publish {
  int count = 1;
};

// What is known of the event where it is.
struct Published {
  int last = 0;
  std::size_t buffer = 0;
  std::deque<int> kept;
  // Those up to here are not kept any more.
  [[nodiscard]] int Gone() const { return kept.empty() ? last : kept.front() - 1; }
};

// What one subscriber has seen.
struct Account {
  int last = 0;
  int gone = 0;  // those up to here were not kept when it has subscribed
  std::size_t seen = 0;
  bool drops = false;        // its mailbox has a bound: some may be missing
  bool stays = false;        // it has been asked to, and does nothing else any more
  bool has_settled = false;  // and has subscribed

  void See(const gen::MessageEvent& event) {
    const int number = event.As<Number>()->value;
    CHECK(number > last);
    if (!drops) CHECK(number - 1 <= std::max(last, gone));
    last = number;
    ++seen;
  }
};

// Returns whether it has subscribed.
bool Subscribe(gen::Process& self, Account& account, bool link) {
  const auto missed = link ? self.LinkEvent(kNews) : self.MonitorEvent(kNews);
  if (missed) {
    for (const gen::MessageEvent& event : *missed) account.See(event);
    return true;
  }
  const auto code = missed.error().code();
  CHECK((code == gen::ErrorCode::kTaken || code == gen::ErrorCode::kProcessUnknown ||
         code == gen::ErrorCode::kNoConnection || code == gen::ErrorCode::kTimeout));
  return code == gen::ErrorCode::kTaken;
}

// Subscribes and unsubscribes at random, in the middle of what waits.
void Change(gen::Process& self, Simulation& sim, Account& account) {
  if (account.stays) return;
  for (std::int64_t changes = sim.Random(1, 4); changes > 0; --changes) {
    const bool link = sim.Chance(0.4);
    if (sim.Chance(0.6)) {
      (void)Subscribe(self, account, link);
    } else {
      (void)(link ? self.UnlinkEvent(kNews) : self.DemonitorEvent(kNews));
    }
    if (sim.Chance(0.2)) (void)self.Sleep(sim.Random(1us, 50us));
  }
}

void Stay(gen::Process& self, Account& account) {
  account.stays = true;
  account.has_settled = Subscribe(self, account, false);
}

class Subscriber : public act::Actor {
 public:
  Subscriber(Simulation* sim, Account* account, double restless)
      : sim_(*sim), account_(*account), restless_(restless) {}

 private:
  gen::Status Init(const gen::Args&) override {
    SetTrapExit(true);
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (message.Is<Settle>()) {
      Stay(Host(), account_);
    } else if (message.Is<Act>() || sim_.Chance(restless_)) {
      Change(Host(), sim_, account_);
    }
    return gen::Continue();
  }
  gen::Status HandleEvent(const gen::MessageEvent& event) override {
    account_.See(event);
    if (sim_.Chance(restless_)) Change(Host(), sim_, account_);
    return gen::Continue();
  }

  Simulation& sim_;
  Account& account_;
  const double restless_;
};

// The same, as a process that receives what it wants, some of it later.
void Receive(gen::Process& self, Simulation& sim, Account& account) {
  self.SetTrapExit(true);
  for (;;) {
    if (sim.Chance(0.2)) {  // passes over the values
      const auto act = self.Receive<Act>(10us);
      if (act) Change(self, sim, account);
      if (!act && act.error() != gen::ErrTimeout) return;
    }
    auto next = self.Receive<gen::MessageEvent, Act, Settle, gen::MessageDownEvent,
                             gen::MessageExitEvent>();
    if (!next) return;
    if (const auto* event = std::get_if<gen::MessageEvent>(&*next)) account.See(*event);
    if (std::holds_alternative<Settle>(*next)) Stay(self, account);
    if (std::holds_alternative<Act>(*next)) Change(self, sim, account);
  }
}

class Producer : public act::Actor {
 public:
  explicit Producer(Published* published) : published_(*published) {}

 private:
  gen::Status Init(const gen::Args&) override {
    token_ = RegisterEvent(kNews.name, {.buffer = static_cast<int>(published_.buffer)}).value();
    published_.kept.clear();
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const auto* publish = message.As<Publish>();
    if (publish == nullptr) return Actor::HandleMessage(from, message);
    for (int i = 0; i < publish->count; ++i) {
      CHECK(SendEvent(kNews.name, token_, Number{++published_.last}));
      published_.kept.push_back(published_.last);
      if (published_.kept.size() > published_.buffer) published_.kept.pop_front();
    }
    return gen::Continue();
  }

  Published& published_;
  gen::Ref token_;
};

gen::ProcessOptions MailboxOf(int number) {
  gen::ProcessOptions options;
  if (number == 1) options.mailbox = gen::Mailbox::Bounded(2);
  if (number == 2) options.mailbox = gen::Mailbox::Bounded(2, gen::Overflow::kDropOldest);
  if (number == 3) options.mailbox = gen::Mailbox::Priority<Act>([](const Act&) { return 1; });
  return options;
}

class TwoNodes {
 public:
  static constexpr int kSubscribers = 5;

  TwoNodes(Simulation& sim, Wire& wire)
      : sim_(sim), wire_(wire), here_(sim.Node("here@sim")), there_(sim.Node("there@sim")) {
    const double restless = static_cast<double>(sim.Random(0, 5)) / 10;
    for (int number = 0; number < kSubscribers; ++number) {
      Account& account = accounts_[number];
      account.drops = number == 1 || number == 2;
      const auto pid =
          number == 4
              ? here_.Spawn([&sim, &account](gen::Process& self) { Receive(self, sim, account); })
              : here_.Spawn(gen::Factory<Subscriber>(&sim, &account, restless), MailboxOf(number));
      REQUIRE(pid);
      pids_.push_back(*pid);
    }
    wire.subscribes = [this](gen::PID subscriber) {
      const auto found = std::find(pids_.begin(), pids_.end(), subscriber);
      if (found == pids_.end()) return;
      Account& account = accounts_[found - pids_.begin()];
      account.gone = std::max(account.gone, published_.Gone());
    };
    Pump();
  }

  // A producer's life, with what happens to it and its subscribers meanwhile.
  void Round() {
    published_.buffer = static_cast<std::size_t>(sim_.Chance(0.3) ? 1000 : sim_.Random(0, 6));
    const auto producer = there_.Spawn(gen::Factory<Producer>(&published_));
    REQUIRE(producer);
    for (std::int64_t steps = sim_.Random(5, 25); steps > 0; --steps) {
      sim_.After(sim_.Random(0us, 1ms), [this, to = *producer, count = sim_.Random(1, 4)] {
        (void)there_.Send(to, Publish{static_cast<int>(count)});
      });
      const auto who = static_cast<std::size_t>(sim_.Random(0, kSubscribers - 1));
      sim_.After(sim_.Random(0us, 1ms), [this, to = pids_[who]] { (void)here_.Send(to, Act{}); });
    }
    if (sim_.Chance(0.3)) {
      sim_.After(sim_.Random(0us, 1ms), [this, by = kNodes[sim_.Random(0, 1)]] {
        const auto end = wire_.ends.find(gen::Atom(by));
        if (end != wire_.ends.end()) end->second->Cut();
      });
    }
    sim_.RunFor(sim_.Random(100us, 1200us));
    if (sim_.Chance(0.1)) {  // nothing goes through: who waits for an answer gives up
      is_held_ = true;
      sim_.RunFor(6s);
      is_held_ = false;
    }
    REQUIRE(there_.SendExit(*producer, gen::Reason::Shutdown()));
    REQUIRE(sim_.RunUntil([&] { return !there_.ProcessInfo(*producer); }));
  }

  // At the end all are subscribed, and get what is published next.
  void Finish() {
    const auto producer = there_.Spawn(gen::Factory<Producer>(&published_));
    REQUIRE(producer);
    sim_.RunFor(2ms);  // what was planned
    for (Account& account : accounts_) account.has_settled = false;
    for (int tries = 0; tries < 50 && !AllOf(&Account::has_settled); ++tries) {
      for (int i = 0; i < kSubscribers; ++i) {
        if (!accounts_[i].has_settled) (void)here_.Send(pids_[i], Settle{});
      }
      sim_.RunFor(1ms);
    }
    CHECK(AllOf(&Account::has_settled));
    sim_.RunFor(5ms);
    REQUIRE(there_.Send(*producer, Publish{}));
    sim_.RunFor(5ms);
    for (const Account& account : accounts_) CHECK(account.last == published_.last);
    is_over_ = true;
    sim_.RunUntilIdle();
    sim_.ExpectConservation();
  }
  [[nodiscard]] std::size_t Seen() const {
    std::size_t seen = 0;
    for (const Account& account : accounts_) seen += account.seen;
    return seen;
  }

 private:
  static constexpr const char* kNodes[] = {"here@sim", "there@sim"};

  [[nodiscard]] bool AllOf(bool Account::*member) const {
    return std::all_of(std::begin(accounts_), std::end(accounts_),
                       [&](const Account& account) { return account.*member; });
  }
  void Pump() {
    // While nothing is taken, it only looks now and then whether that is over.
    sim_.After(is_held_ ? 1ms : sim_.Random(1us, 30us), [this] {
      for (std::int64_t pieces = sim_.Random(1, 4); pieces > 0 && !is_held_; --pieces) {
        (void)wire_.context.poll_one();
      }
      if (!is_over_) Pump();
    });
  }

  Simulation& sim_;
  Wire& wire_;
  gen::Node& here_;
  gen::Node& there_;
  Published published_;
  Account accounts_[kSubscribers];
  std::vector<gen::PID> pids_;
  bool is_held_ = false;
  bool is_over_ = false;
};

TEST_CASE("remote events: each value comes once and in order, over any sequence of subscriptions") {
  std::size_t values = 0;
  for (const std::uint64_t seed : SeedsToRun(1, 200)) {
    Wire wire;
    SimulationOptions options;
    options.network = std::make_shared<WireNetwork>(wire);
    const SeedNotice notice(seed);
    DOCTEST_INFO("simulation: seed ", seed, "; run it again with ERGON_SEED=", seed);
    Simulation sim(seed, options);
    TwoNodes nodes(sim, wire);
    for (std::int64_t rounds = sim.Random(1, 3); rounds > 0; --rounds) nodes.Round();
    nodes.Finish();
    values += nodes.Seen();
  }
  CHECK(values > 0);
}

}  // namespace
}  // namespace ergon::testkit::remote_events_test
