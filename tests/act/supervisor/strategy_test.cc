#include <ergon/act/supervisor/strategy.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <kit/eventually.h>
#include <kit/one_thread.h>

namespace ergon::act {
namespace {

using Kind = SupervisionStrategy::ActionKind;
using Key = SupervisionStrategy::Key;
using State = SupervisionStrategy::State;
using Then = SupervisionStrategy::Then;

constexpr std::int64_t kSecond = 1'000'000'000;

// A strategy with children a, b, c, ... (keys 1, 2, 3, ...), all of which run.
struct StrategySubject {
  explicit StrategySubject(SupervisorType type, SupervisorRestart restart = {}, int children = 3,
                           SupervisorAutoShutdown auto_shutdown = SupervisorAutoShutdown::kNever,
                           bool significant = false)
      : strategy(type, restart, auto_shutdown) {
    for (int i = 0; i < children; ++i) {
      const Key key = strategy.Add({.name = std::string(1, static_cast<char>('a' + i)),
                                    .strategy = restart.strategy,
                                    .significant = significant});
      REQUIRE(strategy.Start(key));
      strategy.Started(key);
    }
    (void)strategy.TakeActions();
  }

  // What is to be done, as in "stop c, start a".
  std::string Actions() {
    std::string text;
    for (const auto& [kind, key] : strategy.TakeActions()) {
      if (!text.empty()) text += ", ";
      const char* const kNames[] = {"start", "stop", "kill", "forget", "end"};
      text += kNames[static_cast<int>(kind)];
      if (key != 0) text += std::string(" ") + static_cast<char>('a' + key - 1);
    }
    return text;
  }
  std::string Fail(Key key) {
    strategy.Ended(key, gen::Reason::Error("failed"), now);
    return Actions();
  }
  std::string End(Key key, const gen::Reason& reason = gen::Reason::Shutdown()) {
    strategy.Ended(key, reason, now);
    return Actions();
  }
  std::string Started(Key key) {
    strategy.Started(key);
    return Actions();
  }
  State StateOf(Key key) const { return strategy.Find(key)->state; }

  SupervisionStrategy strategy;
  std::int64_t now = kSecond;
};

SupervisorRestart With(SupervisorStrategy strategy, bool keep_order = false, int intensity = 5) {
  return {.strategy = strategy, .intensity = intensity, .keep_order = keep_order};
}

TEST_CASE("supervisor strategy: who is restarted after which reason") {
  struct Row {
    SupervisorStrategy strategy;
    gen::Reason reason;
    bool again;
  };
  const Row rows[] = {
      {SupervisorStrategy::kPermanent, gen::Reason::Normal(), true},
      {SupervisorStrategy::kPermanent, gen::Reason::Shutdown(), true},
      {SupervisorStrategy::kPermanent, gen::Reason::Panic("x"), true},
      {SupervisorStrategy::kTransient, gen::Reason::Normal(), false},
      {SupervisorStrategy::kTransient, gen::Reason::Shutdown(), false},
      {SupervisorStrategy::kTransient, gen::Reason::Kill(), true},
      {SupervisorStrategy::kTransient, gen::Reason::Error("x"), true},
      {SupervisorStrategy::kTemporary, gen::Reason::Normal(), false},
      {SupervisorStrategy::kTemporary, gen::Reason::Kill(), false},
      {SupervisorStrategy::kTemporary, gen::Reason::Panic("x"), false},
  };
  for (const Row& row : rows) {
    CAPTURE(ToString(row.strategy));
    CAPTURE(row.reason.ToString());
    for (const auto type : {SupervisorType::kOneForOne, SupervisorType::kSimpleOneForOne}) {
      StrategySubject one(type, With(row.strategy));
      CHECK(one.End(2, row.reason) == (row.again ? "start b" : ""));
    }
    StrategySubject all(SupervisorType::kAllForOne, With(row.strategy));
    CHECK(all.End(2, row.reason) == (row.again ? "stop c, stop a" : ""));
    StrategySubject rest(SupervisorType::kRestForOne, With(row.strategy));
    CHECK(rest.End(2, row.reason) == (row.again ? "stop c" : ""));
  }
}

TEST_CASE("supervisor strategy: rest for one does not wait for a child before the round") {
  for (const bool keep_order : {false, true}) {
    CAPTURE(keep_order);
    StrategySubject rest(SupervisorType::kRestForOne,
                         With(SupervisorStrategy::kPermanent, keep_order));
    CHECK(rest.strategy.Stop(1, Then::kStay));  // which takes long
    CHECK(rest.Actions() == "stop a");
    CHECK(rest.Fail(2) == "stop c");
    CHECK(rest.End(3) == "start b");
    CHECK(rest.End(1) == "");
    CHECK(rest.Started(2) == "start c");
    CHECK(rest.Started(3) == "");
    CHECK(rest.strategy.MayCommand());
  }
  // But the others may need it: they start after it if it starts again.
  StrategySubject rest(SupervisorType::kRestForOne, {}, 4);
  CHECK(rest.strategy.Stop(1, Then::kStart));
  CHECK(rest.Actions() == "stop a");
  CHECK(rest.Fail(3) == "stop d");
  CHECK(rest.End(4) == "");
  CHECK(rest.End(1) == "start a");
  CHECK(rest.strategy.Find(2)->state == State::kRunning);
  CHECK(rest.Started(1) == "start c");
  CHECK(rest.Started(3) == "start d");
  // Also if one of the others ends while it starts.
  StrategySubject again(SupervisorType::kRestForOne, With(SupervisorStrategy::kTransient), 4);
  CHECK(again.strategy.Stop(1, Then::kStart));
  CHECK(again.Actions() == "stop a");
  CHECK(again.Fail(3) == "stop d");
  CHECK(again.End(4) == "");
  CHECK(again.End(1) == "start a");
  CHECK(again.End(2, gen::Reason::Normal()) == "");
  CHECK(again.Started(1) == "start c");
}

TEST_CASE("supervisor strategy: all for one stops at once and starts in order") {
  StrategySubject all(SupervisorType::kAllForOne);
  CHECK(all.Fail(2) == "stop c, stop a");
  CHECK(all.End(1) == "");
  CHECK(all.End(3) == "start a");
  CHECK(all.Started(1) == "start b");
  CHECK(all.Started(2) == "start c");
  CHECK(all.Started(3) == "");
  CHECK(all.strategy.MayCommand());
  CHECK(all.strategy.RecentRestarts(all.now) == 1);
  CHECK(all.strategy.Find(1)->restarts == 1);
}

TEST_CASE("supervisor strategy: who gets ready before a round stops it is restarted all the same") {
  StrategySubject all(SupervisorType::kAllForOne, With(SupervisorStrategy::kPermanent, true));
  REQUIRE(all.strategy.Stop(1, SupervisionStrategy::Then::kStart));
  CHECK(all.Actions() == "stop a");
  CHECK(all.End(1) == "start a");  // its Init lasts
  CHECK(all.Fail(2) == "stop c");
  CHECK(all.Started(1).empty());  // before it is its turn to be stopped
  CHECK(all.strategy.Find(1)->restarts == 0);
  CHECK(all.End(3) == "stop a");
  CHECK(all.End(1) == "start a");
  CHECK(all.Fail(1) == "start a");
}

TEST_CASE("supervisor strategy: with keep_order one ends after the other") {
  StrategySubject all(SupervisorType::kAllForOne, With(SupervisorStrategy::kPermanent, true));
  CHECK(all.Fail(2) == "stop c");
  CHECK(all.End(3) == "stop a");
  CHECK(all.End(1) == "start a");
}

TEST_CASE("supervisor strategy: rest for one leaves those before alone") {
  StrategySubject rest(SupervisorType::kRestForOne, {}, 4);
  CHECK(rest.Fail(2) == "stop d, stop c");
  CHECK(rest.End(3) == "");
  CHECK(rest.End(4) == "start b");
  CHECK(rest.Started(2) == "start c");
  CHECK(rest.Started(3) == "start d");
  CHECK(rest.StateOf(1) == State::kRunning);
}

TEST_CASE("supervisor strategy: what dies while it is to be stopped makes no second round") {
  for (const bool keep_order : {false, true}) {
    CAPTURE(keep_order);
    StrategySubject all(SupervisorType::kAllForOne,
                        With(SupervisorStrategy::kPermanent, keep_order, 1));
    all.Fail(2);
    all.Fail(1);
    CHECK(all.Fail(3) == "start a");
    CHECK_FALSE(all.strategy.ending());
    CHECK(all.strategy.RecentRestarts(all.now) == 1);
  }
}

TEST_CASE("supervisor strategy: a failure of others during a round extends it") {
  StrategySubject rest(SupervisorType::kRestForOne);
  CHECK(rest.Fail(3) == "start c");
  CHECK(rest.Fail(1) == "kill c, stop b");
  CHECK(rest.End(2) == "");
  CHECK(rest.End(3, gen::Reason::Kill()) == "start a");
  CHECK(rest.Started(1) == "start b");
  CHECK(rest.Started(2) == "start c");
  CHECK(rest.strategy.RecentRestarts(rest.now) == 2);
}

TEST_CASE("supervisor strategy: a restart that fails is tried again and counts") {
  StrategySubject one(SupervisorType::kOneForOne, With(SupervisorStrategy::kTransient, false, 2));
  CHECK(one.Fail(1) == "start a");
  CHECK(one.Fail(1) == "start a");
  CHECK(one.Fail(1) == "stop c");
  CHECK(one.strategy.gave_up());
  CHECK(one.strategy.end_reason().IsFailure());
  CHECK(one.strategy.end_reason().ToString() ==
        "restart intensity exceeded: more than 2 restarts within 5 s, the last for child 'a', "
        "failed");
  CHECK(one.End(3) == "stop b");
  CHECK(one.End(2) == "end");
}

TEST_CASE("supervisor strategy: a restart that fails is a failure, whatever the reason") {
  for (const gen::Reason& reason : {gen::Reason::Normal(), gen::Reason::Shutdown()}) {
    StrategySubject one(SupervisorType::kOneForOne, With(SupervisorStrategy::kTransient), 2,
                        SupervisorAutoShutdown::kAnySignificant, true);
    CHECK(one.Fail(1) == "start a");
    CHECK(one.End(1, reason) == "start a");
    CHECK(one.strategy.RecentRestarts(one.now) == 2);
    CHECK(one.Started(1) == "");
    CHECK_FALSE(one.strategy.ending());
    StrategySubject all(SupervisorType::kAllForOne, With(SupervisorStrategy::kTransient), 2);
    CHECK(all.Fail(1) == "stop b");
    CHECK(all.End(2) == "start a");
    CHECK(all.Started(1) == "start b");
    CHECK(all.End(2, reason) == "stop a");
    CHECK(all.End(1) == "start a");
  }
}

TEST_CASE("supervisor strategy: a restart that fails in a round stops those started before it") {
  StrategySubject all(SupervisorType::kAllForOne);
  all.Fail(1);
  all.End(2);
  CHECK(all.End(3) == "start a");
  CHECK(all.Started(1) == "start b");
  CHECK(all.Fail(2) == "stop a");
  CHECK(all.End(1) == "start a");
}

TEST_CASE("supervisor strategy: restarts count within the period only") {
  StrategySubject one(SupervisorType::kOneForOne,
                      {.strategy = SupervisorStrategy::kPermanent, .intensity = 1, .period_s = 5});
  CHECK(one.Fail(1) == "start a");
  one.Started(1);
  one.now += 5 * kSecond + 1;
  CHECK(one.Fail(1) == "start a");
  one.Started(1);
  CHECK(one.strategy.Find(1)->restarts == 2);
  one.now += 5 * kSecond;
  CHECK(one.Fail(1) == "stop c");
  CHECK(one.strategy.gave_up());
}

TEST_CASE("supervisor strategy: intensity 0 allows no restart") {
  StrategySubject one(SupervisorType::kOneForOne, With(SupervisorStrategy::kPermanent, false, 0));
  CHECK(one.Fail(2) == "stop c");
  CHECK(one.End(3) == "stop a");
  CHECK(one.End(1) == "end");
}

TEST_CASE("supervisor strategy: temporary and disabled children are stopped by a round only") {
  StrategySubject all(SupervisorType::kAllForOne, {}, 2);
  const Key temporary = all.strategy.Add({.name = "t", .strategy = SupervisorStrategy::kTemporary});
  REQUIRE(all.strategy.Start(temporary));
  all.Actions();
  all.Started(temporary);
  REQUIRE(all.strategy.Stop(2, Then::kDisable));
  CHECK(all.Actions() == "stop b");
  CHECK(all.End(2) == "");
  CHECK(all.Fail(1) == "stop c");
  CHECK(all.End(temporary) == "start a");
  CHECK(all.Started(1) == "");
  CHECK(all.strategy.Start(2).error() == gen::ErrChildDisabled);
  REQUIRE(all.strategy.Enable(2));
  CHECK(all.Actions() == "start b");
}

TEST_CASE("supervisor strategy: a round keeps the command to restart a temporary child") {
  StrategySubject all(SupervisorType::kAllForOne, {}, 1);
  const Key temporary = all.strategy.Add({.name = "t", .strategy = SupervisorStrategy::kTemporary});
  REQUIRE(all.strategy.Start(temporary));
  all.Actions();
  all.Started(temporary);
  REQUIRE(all.strategy.Stop(temporary, Then::kStart));
  CHECK(all.Actions() == "stop b");
  CHECK(all.Fail(1) == "");
  CHECK(all.End(temporary) == "start a");
  CHECK(all.Started(1) == "start b");
  CHECK(all.Started(temporary) == "");
  // Not so the next round.
  CHECK(all.Fail(1) == "stop b");
  CHECK(all.End(temporary) == "start a");
  CHECK(all.Started(1) == "");
}

TEST_CASE("supervisor strategy: a round starts what had ended before") {
  StrategySubject all(SupervisorType::kAllForOne, With(SupervisorStrategy::kTransient));
  CHECK(all.End(1, gen::Reason::Normal()) == "");
  REQUIRE(all.strategy.Stop(2, Then::kStay));
  CHECK(all.Actions() == "stop b");
  CHECK(all.End(2) == "");
  CHECK(all.Fail(3) == "start a");
  CHECK(all.Started(1) == "start b");
}

TEST_CASE("supervisor strategy: commands") {
  StrategySubject one(SupervisorType::kOneForOne);
  CHECK(one.strategy.Start(1).error().ToString() == "child is running: 'a'");
  CHECK(one.strategy.Remove(1).error() == gen::ErrChildRunning);
  CHECK(one.strategy.Enable(1).error().detail() == "child 'a' is not disabled");

  REQUIRE(one.strategy.Stop(1, Then::kStart));
  CHECK(one.Actions() == "stop a");
  CHECK(one.strategy.Stop(1, Then::kStay).error().detail() == "child 'a' is being ended");
  CHECK(one.Fail(1) == "start a");  // no failure: it was to end
  CHECK(one.strategy.RecentRestarts(one.now) == 0);
  CHECK(one.Fail(1) == "");  // a first start that fails is not tried again
  CHECK(one.StateOf(1) == State::kEnded);

  REQUIRE(one.strategy.Stop(1, Then::kStart));
  CHECK(one.Actions() == "start a");
  REQUIRE(one.strategy.Stop(1, Then::kStay));
  CHECK(one.Actions() == "kill a");  // it is in its Init
  CHECK(one.Started(1) == "");       // too late
  CHECK(one.End(1, gen::Reason::Kill()) == "");
  REQUIRE(one.strategy.Remove(1));
  CHECK(one.strategy.Find(1) == nullptr);
}

TEST_CASE("supervisor strategy: no commands during a round or at the end") {
  StrategySubject all(SupervisorType::kAllForOne);
  all.Fail(1);
  CHECK(all.strategy.Stop(2, Then::kStay).error().detail() == "children are being restarted");
  CHECK(all.strategy.MayCommand().error() == gen::ErrNotAllowed);
  all.strategy.End(gen::Reason::Normal());
  CHECK(all.strategy.Start(1).error().detail() == "the supervisor is ending");
}

TEST_CASE("supervisor strategy: the end is in reverse order, also of what is starting") {
  StrategySubject one(SupervisorType::kOneForOne, {}, 4);
  CHECK(one.Fail(3) == "start c");
  one.strategy.End(gen::Reason::Shutdown());
  CHECK(one.Actions() == "stop d");
  CHECK(one.Fail(1) == "");  // died meanwhile
  CHECK(one.End(4) == "kill c");
  CHECK(one.End(3) == "stop b");
  one.strategy.End(gen::Reason::Error("later"));
  CHECK(one.End(2) == "end");
  CHECK(one.strategy.end_reason() == gen::Reason::Shutdown());
}

TEST_CASE("supervisor strategy: very many children are restarted, and end, in order") {
  // With a look at each of them for each of them this would not end.
  constexpr Key kMany = 100'000;
  for (const bool keep_order : {false, true}) {
    CAPTURE(keep_order);
    SupervisionStrategy strategy(SupervisorType::kAllForOne,
                                 With(SupervisorStrategy::kPermanent, keep_order),
                                 SupervisorAutoShutdown::kNever);
    for (Key key = 1; key <= kMany; ++key) {
      REQUIRE(strategy.Add({.name = "many"}) == key);
      REQUIRE(strategy.Start(key));
      strategy.Started(key);
    }
    (void)strategy.TakeActions();
    std::vector<Key> stopped;
    std::vector<Key> started;
    std::size_t ends = 0;
    const auto go_on = [&] {
      for (auto actions = strategy.TakeActions(); !actions.empty();
           actions = strategy.TakeActions()) {
        for (const auto& [kind, key] : actions) {
          REQUIRE((kind == Kind::kStop || kind == Kind::kStart || kind == Kind::kEnd));
          if (kind == Kind::kStop) {
            stopped.push_back(key);
            strategy.Ended(key, gen::Reason::Shutdown(), kSecond);
          } else if (kind == Kind::kStart) {
            started.push_back(key);
            strategy.Started(key);
          } else {
            ++ends;
          }
        }
      }
    };
    strategy.Ended(kMany / 2, gen::Reason::Error("failed"), kSecond);
    go_on();
    CHECK(stopped.size() == kMany - 1);
    CHECK(started.size() == kMany);
    CHECK(std::is_sorted(stopped.rbegin(), stopped.rend()));
    CHECK(std::is_sorted(started.begin(), started.end()));
    stopped.clear();
    strategy.End(gen::Reason::Shutdown());
    go_on();
    CHECK(stopped.size() == kMany);
    CHECK(std::is_sorted(stopped.rbegin(), stopped.rend()));
    CHECK(ends == 1);
  }
}

TEST_CASE("supervisor strategy: the end without children is at once") {
  StrategySubject one(SupervisorType::kOneForOne, {}, 0);
  one.strategy.End(gen::Reason::Normal());
  CHECK(one.Actions() == "end");
}

TEST_CASE("supervisor strategy: children of templates come and go") {
  StrategySubject simple(SupervisorType::kSimpleOneForOne, With(SupervisorStrategy::kTransient), 0);
  for (int i = 0; i < 3; ++i) {
    const Key key = simple.strategy.Add(
        {.name = "a", .strategy = SupervisorStrategy::kTransient, .forgotten_when_ended = true});
    REQUIRE(simple.strategy.Start(key));
    CHECK(simple.Actions() == std::string("start ") + static_cast<char>('a' + i));
    simple.Started(key);
  }
  CHECK(simple.Fail(2) == "start b");
  CHECK(simple.Started(2) == "");
  CHECK(simple.End(2, gen::Reason::Normal()) == "forget b");
  CHECK(simple.strategy.Find(2) == nullptr);
  simple.strategy.End(gen::Reason::Shutdown());
  CHECK(simple.Actions() == "stop c, stop a");
  CHECK(simple.End(1) == "forget a");
  CHECK(simple.End(3) == "forget c, end");
}

TEST_CASE("supervisor strategy: what is added and fails to start is forgotten") {
  StrategySubject one(SupervisorType::kOneForOne, {}, 0);
  const Key key = one.strategy.Add({.name = "a", .forgotten_unless_started = true});
  REQUIRE(one.strategy.Start(key));
  CHECK(one.Actions() == "start a");
  CHECK(one.Fail(key) == "forget a");
}

TEST_CASE("supervisor strategy: what is added and told to end before it has started is forgotten") {
  StrategySubject one(SupervisorType::kOneForOne, {}, 0);
  const Key key = one.strategy.Add({.name = "a", .forgotten_unless_started = true});
  REQUIRE(one.strategy.Start(key));
  CHECK(one.Actions() == "start a");
  REQUIRE(one.strategy.Stop(key, Then::kStay));
  CHECK(one.Actions() == "kill a");
  CHECK(one.End(key) == "forget a");
}

TEST_CASE("supervisor strategy: significant children end the supervisor") {
  const auto transient = With(SupervisorStrategy::kTransient);
  SUBCASE("any") {
    StrategySubject any(SupervisorType::kOneForOne, transient, 3,
                        SupervisorAutoShutdown::kAnySignificant, true);
    CHECK(any.Fail(1) == "start a");
    any.Started(1);
    CHECK(any.End(1, gen::Reason::Normal()) == "stop c");
    CHECK(any.strategy.end_reason() == gen::Reason::Shutdown());
    CHECK_FALSE(any.strategy.gave_up());
  }
  SUBCASE("all") {
    StrategySubject all(SupervisorType::kOneForOne, transient, 3,
                        SupervisorAutoShutdown::kAllSignificant, true);
    CHECK(all.End(1, gen::Reason::Normal()) == "");
    CHECK(all.End(2, gen::Reason::Shutdown()) == "");
    CHECK(all.End(3, gen::Reason::Normal()) == "end");
  }
  SUBCASE("not those that were told to end") {
    StrategySubject any(SupervisorType::kOneForOne, transient, 2,
                        SupervisorAutoShutdown::kAnySignificant, true);
    REQUIRE(any.strategy.Stop(1, Then::kStay));
    any.Actions();
    CHECK(any.End(1) == "");
    CHECK_FALSE(any.strategy.ending());
  }
  SUBCASE("not others") {
    StrategySubject any(SupervisorType::kOneForOne, transient, 2,
                        SupervisorAutoShutdown::kAnySignificant);
    CHECK(any.End(1, gen::Reason::Normal()) == "");
    CHECK_FALSE(any.strategy.ending());
  }
}

// Every sequence of so many events, of all that can happen to three children: the actions are
// possible, and whatever has happened, it comes to rest when everybody does as told.
class Explorer {
 public:
  Explorer(SupervisorType type, const SupervisorRestart& restart)
      : ordered_(type != SupervisorType::kOneForOne), start_(type, restart) {
    for (Key key = 1; key <= 3; ++key) start_processes_[key] = State::kRunning;
  }

  void Explore(int events) { Explore(start_.strategy, start_processes_, events); }
  std::uint64_t runs = 0;

 private:
  using Processes = std::map<Key, State>;  // as the actions have left them

  bool Obey(SupervisionStrategy& strategy, Processes& processes) const {
    bool ended = false;
    for (const auto& [kind, key] : strategy.TakeActions()) {
      REQUIRE_FALSE(ended);
      switch (kind) {
        case Kind::kStart:
          REQUIRE(processes[key] == State::kEnded);
          for (const auto& [other, state] : processes) {
            const bool later = ordered_ && other > key && strategy.Find(other)->restarting;
            REQUIRE_FALSE((later && state == State::kStarting));
          }
          processes[key] = State::kStarting;
          break;
        case Kind::kStop:
          REQUIRE(processes[key] == State::kRunning);
          processes[key] = State::kStopping;
          break;
        case Kind::kKill:
          REQUIRE(processes[key] == State::kStarting);
          processes[key] = State::kStopping;
          break;
        case Kind::kForget:
          FAIL("no child of a template");
          break;
        case Kind::kEnd:
          for (const auto& [other, state] : processes) REQUIRE(state == State::kEnded);
          ended = true;
          break;
      }
    }
    for (const auto& [key, state] : processes) REQUIRE(strategy.Find(key)->state == state);
    return ended;
  }

  void Explore(const SupervisionStrategy& strategy, const Processes& processes, int events) {
    ComesToRest(strategy, processes);
    ++runs;
    if (events == 0) return;
    const auto then = [&](const std::function<void(SupervisionStrategy&)>& event, Key key,
                          State state) {
      SupervisionStrategy next = strategy;
      Processes after = processes;
      if (key != 0) after[key] = state;
      event(next);
      if (!Obey(next, after)) Explore(next, after, events - 1);
    };
    const auto ends = [&](Key key, const gen::Reason& reason) {
      then([&](auto& next) { next.Ended(key, reason, 0); }, key, State::kEnded);
    };
    for (const auto& [key, state] : processes) {
      if (state == State::kEnded) {
        if (strategy.MayCommand()) then([&](auto& next) { (void)next.Start(key); }, 0, state);
        continue;
      }
      if (state == State::kStarting) {
        then([&](auto& next) { next.Started(key); }, key, State::kRunning);
      }
      ends(key, gen::Reason::Error("x"));
      if (state != State::kStopping) ends(key, gen::Reason::Normal());
    }
    if (strategy.MayCommand()) {
      for (const Then what : {Then::kStay, Then::kDisable, Then::kStart}) {
        then([&](auto& next) { (void)next.Stop(2, what); }, 0, State::kEnded);
      }
    }
    then([](auto& next) { next.End(gen::Reason::Shutdown()); }, 0, State::kEnded);
  }

  void ComesToRest(SupervisionStrategy strategy, Processes processes) const {
    for (int steps = 0;; ++steps) {
      REQUIRE(steps < 30);
      Key next = 0;
      for (const auto& [key, state] : processes) {
        if (state == State::kStarting || state == State::kStopping) next = key;
      }
      if (next == 0) break;
      if (processes[next] == State::kStarting) {
        processes[next] = State::kRunning;
        strategy.Started(next);
      } else {
        processes[next] = State::kEnded;
        strategy.Ended(next, gen::Reason::Shutdown(), 0);
      }
      if (Obey(strategy, processes)) return;
    }
    REQUIRE_FALSE(strategy.ending());
    REQUIRE(strategy.MayCommand());
    for (const auto& [key, child] : strategy.children()) {
      REQUIRE_FALSE(child.must_stop);
      REQUIRE_FALSE(child.must_start);
      REQUIRE_FALSE((child.restarting && child.state == State::kRunning));
    }
  }

  const bool ordered_;  // the starts are
  StrategySubject start_;
  Processes start_processes_;
};

TEST_CASE("supervisor strategy: whatever happens, in whatever order" * kit::OneThread()) {
  std::uint64_t runs = 0;
  for (const auto type :
       {SupervisorType::kOneForOne, SupervisorType::kAllForOne, SupervisorType::kRestForOne}) {
    for (const auto strategy : {SupervisorStrategy::kPermanent, SupervisorStrategy::kTransient,
                                SupervisorStrategy::kTemporary}) {
      for (const bool keep_order : {false, true}) {
        for (const int intensity : {1, 5}) {
          Explorer explorer(type, With(strategy, keep_order, intensity));
          explorer.Explore(kit::kSanitized ? 3 : 4);
          runs += explorer.runs;
        }
      }
    }
  }
  CHECK(runs > kit::Scaled(100'000));
}

}  // namespace
}  // namespace ergon::act
