#include <ergon/act/state_machine/timeouts.h>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <ergon/act/state_transition.h>

namespace ergon::act {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using What = TimeoutChange::What;

const TimeoutKey kState{StateEventKind::kStateTimeout};
const TimeoutKey kEvent{StateEventKind::kEventTimeout};

TimeoutKey Named(const char* name) { return {StateEventKind::kNamedTimeout, name}; }

struct TimeoutsSubject {
  void Set(const TimeoutKey& key, std::chrono::nanoseconds delay, int value = 0) {
    Apply(What::kSet, key, delay, value);
  }
  void Update(const TimeoutKey& key, int value) { Apply(What::kUpdate, key, 0ns, value); }
  void Cancel(const TimeoutKey& key) { Apply(What::kCancel, key, 0ns, 0); }
  void Apply(What what, const TimeoutKey& key, std::chrono::nanoseconds delay, int value) {
    std::vector<TimeoutChange> changes;
    changes.push_back({what, key, delay, detail::OwnValue(value)});
    timeouts.Apply(std::move(changes));
  }
  // What is to be done, as in "cancel 1, start 2 in 5".
  std::string Commands() {
    std::string text;
    for (const auto& command : timeouts.TakeCommands()) {
      if (!text.empty()) text += ", ";
      text += (command.start ? "start " : "cancel ") + std::to_string(command.id);
      if (command.start) text += " in " + std::to_string(command.delay.count());
    }
    return text;
  }
  // Which time-out that is, with its value, as in "state 7"; empty: none.
  static std::string Text(std::optional<OwnStateEvent> event) {
    if (!event) return "";
    const char* const kind = event->kind == StateEventKind::kStateTimeout   ? "state"
                             : event->kind == StateEventKind::kEventTimeout ? "event"
                                                                            : "";
    return kind + event->name.ToString() + " " + std::to_string(*event->value.View().As<int>());
  }
  std::string Fire(StateTimeouts::Id id) { return Text(timeouts.Fired(id)); }
  std::string Due() { return Text(timeouts.TakeDue()); }

  StateTimeouts timeouts;
};

TEST_CASE("state timeouts: each fires once, with its value") {
  TimeoutsSubject subject;
  subject.Set(kState, 5ns, 1);
  subject.Set(kEvent, 6ns, 2);
  subject.Set(Named("a"), 7ns, 3);
  subject.Set(Named("b"), 8ns, 4);
  CHECK(subject.Commands() == "start 1 in 5, start 2 in 6, start 3 in 7, start 4 in 8");
  CHECK(subject.timeouts.ToString() == "state, event, a, b");
  CHECK(subject.Fire(3) == "a 3");
  CHECK(subject.Fire(1) == "state 1");
  CHECK(subject.Fire(2) == "event 2");
  CHECK(subject.Fire(3).empty());
  CHECK(subject.timeouts.ToString() == "b");
  CHECK(subject.Commands().empty());
}

TEST_CASE("state timeouts: what cancels which") {
  struct Row {
    const char* what;
    void (*happens)(TimeoutsSubject&);
    const char* left;
    const char* commands;
  };
  const Row rows[] = {
      {"an event", [](TimeoutsSubject& s) { s.timeouts.OnEvent(); }, "state, a", "cancel 2"},
      {"a change of state", [](TimeoutsSubject& s) { s.timeouts.OnStateChange(); }, "event, a",
       "cancel 1"},
      {"by hand: state", [](TimeoutsSubject& s) { s.Cancel(kState); }, "event, a", "cancel 1"},
      {"by hand: event", [](TimeoutsSubject& s) { s.Cancel(kEvent); }, "state, a", "cancel 2"},
      {"by hand: a name", [](TimeoutsSubject& s) { s.Cancel(Named("a")); }, "state, event",
       "cancel 3"},
      {"another name", [](TimeoutsSubject& s) { s.Cancel(Named("b")); }, "state, event, a", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    TimeoutsSubject subject;
    subject.Set(kState, 5ns);
    subject.Set(kEvent, 5ns);
    subject.Set(Named("a"), 5ns);
    subject.Commands();
    row.happens(subject);
    CHECK(subject.timeouts.ToString() == row.left);
    CHECK(subject.Commands() == row.commands);
  }
}

TEST_CASE("state timeouts: a stale one never fires") {
  TimeoutsSubject subject;
  subject.Set(kState, 5ns, 1);
  subject.Cancel(kState);
  CHECK(subject.Fire(1).empty());
  subject.Set(kState, 5ns, 2);
  subject.Set(kState, 9ns, 3);  // replaces it
  CHECK(subject.Commands() == "start 1 in 5, cancel 1, start 2 in 5, cancel 2, start 3 in 9");
  CHECK(subject.Fire(2).empty());
  CHECK(subject.Fire(3) == "state 3");
  CHECK(subject.Fire(0).empty());
}

TEST_CASE("state timeouts: an update keeps the time, or fires at once") {
  TimeoutsSubject subject;
  subject.Set(Named("a"), 5ns, 1);
  subject.Commands();
  subject.Update(Named("a"), 2);
  CHECK(subject.Commands().empty());
  CHECK(subject.Fire(1) == "a 2");
  subject.Update(Named("a"), 3);
  CHECK(subject.Commands().empty());
  CHECK(subject.Due() == "a 3");
  CHECK(subject.timeouts.size() == 0);
}

TEST_CASE("state timeouts: of several changes the last counts") {
  TimeoutsSubject subject;
  std::vector<TimeoutChange> changes;
  changes.push_back({What::kSet, kState, 0ns, detail::OwnValue(1)});
  changes.push_back({What::kSet, Named("a"), 5ns, detail::OwnValue(2)});
  changes.push_back({What::kSet, kState, 7ns, detail::OwnValue(3)});
  changes.push_back({What::kCancel, Named("a"), 0ns, {}});
  subject.timeouts.Apply(std::move(changes));
  CHECK(subject.Commands() == "start 1 in 7");
  CHECK(subject.Due().empty());
  CHECK(subject.timeouts.ToString() == "state");
}

TEST_CASE("state timeouts: very many names, set, replaced, cancelled and fired") {
  // With a look at each of them for each of them this would not end.
  constexpr int kMany = 100'000;
  const auto name = [](int i) { return "many" + std::to_string(i); };
  TimeoutsSubject subject;
  std::vector<TimeoutChange> changes;
  for (int i = 0; i < kMany; ++i) {
    const TimeoutKey key = Named(name(i).c_str());
    changes.push_back({What::kSet, key, 5ns, detail::OwnValue(-1)});
    changes.push_back({What::kSet, key, i % 2 == 0 ? 0ns : 5ns, detail::OwnValue(i)});
  }
  subject.timeouts.Apply(std::move(changes));
  CHECK(subject.timeouts.size() == kMany);
  CHECK(subject.timeouts.TakeCommands().size() == kMany / 2);
  for (int i = 0; i < kMany; ++i) {
    subject.timeouts.OnEvent();
    subject.timeouts.OnStateChange();
    const auto number = std::to_string(i);
    if (i % 2 == 0) {
      if (i % 4 == 0)
        subject.Cancel(Named(name(i).c_str()));
      else
        REQUIRE(subject.Due() == name(i) + " " + number);
    } else {
      REQUIRE(subject.Fire(static_cast<StateTimeouts::Id>(i / 2 + 1)) == name(i) + " " + number);
    }
  }
  CHECK(subject.timeouts.size() == 0);
  CHECK(subject.Due().empty());
  CHECK(subject.Commands().empty());
}

TEST_CASE("state timeouts: a delay of 0 is due, in the order set, and can be cancelled") {
  TimeoutsSubject subject;
  subject.Set(Named("a"), 0ns, 1);
  subject.Set(kState, -5ns, 2);
  subject.Set(kEvent, 0ns, 3);
  subject.Set(Named("a"), 0ns, 4);  // goes to the end
  CHECK(subject.Commands().empty());
  CHECK(subject.timeouts.ToString() == "state, event, a");
  subject.timeouts.OnEvent();
  CHECK(subject.Due() == "state 2");
  CHECK(subject.Due() == "a 4");
  CHECK(subject.Due().empty());
}

}  // namespace
}  // namespace ergon::act
