// Events under many interleavings of subscriptions, ends and values that wait: a subscriber gets what a model of one
// list says, each value once and in order.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/gen/event.h>
#include <ergon/gen/process.h>
#include <ergon/testkit/simulation.h>

namespace ergon::testkit::events_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

// What one subscriber should get, and gets.
struct Account {
  std::vector<int> expected;
  std::vector<int> seen;
  bool drops = false;  // its mailbox has a bound: some may be missing
  bool is_killed = false;
};

// One event, as a list of values.
class EventModel {
 public:
  void Registered(int buffer) {
    buffer_ = static_cast<std::size_t>(buffer);
    is_there_ = true;
    last_.clear();
    subscribed_.clear();
    told_.clear();
  }
  void Ended() {
    is_there_ = false;
    subscribed_.clear();
  }
  int Next() { return next_ + 1; }
  void Published() {
    last_.push_back(++next_);
    if (last_.size() > buffer_) last_.pop_front();
    for (const auto& [account, ways] : subscribed_) Tell(*account, next_);
  }
  // What is returned now is part of what is expected.
  void Subscribed(Account& account, bool link) {
    auto [found, is_new] = subscribed_.try_emplace(&account);
    found->second.insert(link);
    if (!is_new) return;
    for (const int value : last_) {
      if (value > told_[&account]) Tell(account, value);
    }
  }
  void Unsubscribed(Account& account, bool link) {
    const auto found = subscribed_.find(&account);
    if (found == subscribed_.end()) return;
    found->second.erase(link);
    if (found->second.empty()) subscribed_.erase(found);
  }
  [[nodiscard]] bool is_there() const { return is_there_; }

 private:
  void Tell(Account& account, int value) {
    account.expected.push_back(value);
    told_[&account] = value;
  }

  std::size_t buffer_ = 0;
  bool is_there_ = false;
  int next_ = 0;
  std::deque<int> last_;
  std::map<Account*, std::set<bool>> subscribed_;
  std::map<Account*, int> told_;
};

const gen::Event kNews{"news", {}};
struct Act {};
struct Publish {
  int count = 1;
};

void Note(Account& account, const std::vector<gen::MessageEvent>& events) {
  for (const gen::MessageEvent& event : events) account.seen.push_back(*event.As<int>());
}

// Subscribes and unsubscribes at random, in the middle of what waits.
void Change(gen::Process& self, Simulation& sim, EventModel& model, Account& account) {
  for (std::int64_t changes = sim.Random(1, 4); changes > 0; --changes) {
    const bool link = sim.Chance(0.4);
    if (sim.Chance(0.6)) {
      const auto missed = link ? self.LinkEvent(kNews) : self.MonitorEvent(kNews);
      CHECK((missed ||
             missed.error() == (model.is_there() ? gen::ErrTaken : gen::ErrProcessUnknown)));
      if (missed) model.Subscribed(account, link);
      if (missed) Note(account, *missed);
    } else if (link ? self.UnlinkEvent(kNews) : self.DemonitorEvent(kNews)) {
      model.Unsubscribed(account, link);
    }
    if (sim.Chance(0.2)) (void)self.Sleep(sim.Random(1us, 50us));
  }
}

class Subscriber : public act::Actor {
 public:
  Subscriber(Simulation* sim, std::shared_ptr<EventModel> model, Account* account, double restless)
      : sim_(*sim), model_(std::move(model)), account_(*account), restless_(restless) {}

 private:
  gen::Status Init(const gen::Args&) override {
    SetTrapExit(true);
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (message.Is<Act>() || sim_.Chance(restless_)) Change(Host(), sim_, *model_, account_);
    return gen::Continue();
  }
  gen::Status HandleEvent(const gen::MessageEvent& event) override {
    account_.seen.push_back(*event.As<int>());
    if (sim_.Chance(restless_)) Change(Host(), sim_, *model_, account_);
    return gen::Continue();
  }

  Simulation& sim_;
  const std::shared_ptr<EventModel> model_;
  Account& account_;
  const double restless_;
};

// The same, as a process that receives what it wants, some of it later.
void Receive(gen::Process& self, Simulation& sim, EventModel& model, Account& account) {
  self.SetTrapExit(true);
  for (;;) {
    if (sim.Chance(0.2)) {  // passes over the values
      const auto act = self.Receive<Act>(10us);
      if (act) Change(self, sim, model, account);
      if (!act && act.error() != gen::ErrTimeout) return;
    }
    auto next =
        self.Receive<gen::MessageEvent, Act, gen::MessageDownEvent, gen::MessageExitEvent>();
    if (!next) return;
    if (const auto* event = std::get_if<gen::MessageEvent>(&*next)) {
      account.seen.push_back(*event->As<int>());
      if (!sim.Chance(0.3)) continue;
    }
    Change(self, sim, model, account);
  }
}

class Producer : public act::Actor {
 public:
  Producer(std::shared_ptr<EventModel> model, int buffer)
      : model_(std::move(model)), buffer_(buffer) {}

 private:
  gen::Status Init(const gen::Args&) override {
    token_ = RegisterEvent(kNews.name, {.buffer = buffer_}).value();
    model_->Registered(buffer_);
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const auto* publish = message.As<Publish>();
    if (publish == nullptr) return Actor::HandleMessage(from, message);
    for (int i = 0; i < publish->count; ++i) {
      CHECK(SendEvent(kNews.name, token_, model_->Next()));
      model_->Published();
    }
    return gen::Continue();
  }
  void Terminate(const gen::Reason&) override {
    // The event ends here, for the model and for all others at once.
    CHECK(UnregisterEvent(kNews.name));
    model_->Ended();
  }

  const std::shared_ptr<EventModel> model_;
  const int buffer_;
  gen::Ref token_;
};

gen::ProcessOptions MailboxOf(int number) {
  gen::ProcessOptions options;
  if (number == 1) options.mailbox = gen::Mailbox::Bounded(2);
  if (number == 2) options.mailbox = gen::Mailbox::Bounded(2, gen::Overflow::kDropOldest);
  if (number == 3) options.mailbox = gen::Mailbox::Priority<Act>([](const Act&) { return 1; });
  return options;
}

void Check(const Account& account) {
  CHECK(std::is_sorted(account.seen.begin(), account.seen.end()));
  CHECK(std::adjacent_find(account.seen.begin(), account.seen.end()) == account.seen.end());
  CHECK(std::includes(account.expected.begin(), account.expected.end(), account.seen.begin(),
                      account.seen.end()));
  if (!account.drops && !account.is_killed) CHECK(account.seen == account.expected);
}

TEST_CASE("events: each value comes once and in order, over any sequence of subscriptions") {
  std::size_t values = 0;
  Simulation::ForSeeds(1, 500, [&](Simulation& sim) {
    gen::Node& node = sim.Node("events@sim");
    const auto model = std::make_shared<EventModel>();
    std::vector<std::unique_ptr<Account>> accounts;
    std::vector<gen::PID> subscribers;
    const double restless = static_cast<double>(sim.Random(0, 5)) / 10;
    for (int number = 0; number < 5; ++number) {
      Account& account = *accounts.emplace_back(std::make_unique<Account>());
      account.drops = number == 1 || number == 2;
      const auto pid = number == 4
                           ? node.Spawn([&sim, model, &account](gen::Process& self) {
                               Receive(self, sim, *model, account);
                             })
                           : node.Spawn(gen::Factory<Subscriber>(&sim, model, &account, restless),
                                        MailboxOf(number));
      REQUIRE(pid);
      subscribers.push_back(*pid);
    }
    for (std::int64_t rounds = sim.Random(1, 3); rounds > 0; --rounds) {
      const auto producer =
          node.Spawn(gen::Factory<Producer>(model, static_cast<int>(sim.Random(0, 6))));
      REQUIRE(producer);
      for (std::int64_t steps = sim.Random(5, 25); steps > 0; --steps) {
        sim.After(sim.Random(0us, 400us), [&node, to = *producer, count = sim.Random(1, 4)] {
          (void)node.Send(to, Publish{static_cast<int>(count)});
        });
        const auto who = static_cast<std::size_t>(sim.Random(0, 4));
        sim.After(sim.Random(0us, 400us),
                  [&node, to = subscribers[who]] { (void)node.Send(to, Act{}); });
      }
      if (sim.Chance(0.1)) {
        sim.After(sim.Random(0us, 400us), [&node, &accounts, pid = subscribers[0]] {
          accounts[0]->is_killed = true;
          (void)node.Kill(pid);
        });
      }
      sim.RunFor(sim.Random(50us, 500us));
      REQUIRE(node.SendExit(*producer, gen::Reason::Shutdown()));
      REQUIRE(sim.RunUntil([&] { return !node.ProcessInfo(*producer); }));
    }
    sim.RunUntilIdle();
    sim.ExpectConservation();
    for (const auto& account : accounts) {
      Check(*account);
      values += account->seen.size();
    }
  });
  CHECK(values > 0);
}

}  // namespace
}  // namespace ergon::testkit::events_test
