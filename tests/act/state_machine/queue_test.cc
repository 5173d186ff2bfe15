#include <ergon/act/state_machine/queue.h>

#include <doctest/doctest.h>

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <kit/one_thread.h>

namespace ergon::act {
namespace {

std::vector<OwnStateEvent> Events(const std::string& names) {
  std::vector<OwnStateEvent> events;
  for (const char name : names) events.push_back({.name = std::string(1, name)});
  return events;
}
std::string Names(const std::vector<OwnStateEvent>& events) {
  std::string names;
  for (const auto& event : events) names += event.name.ToString();
  return names;
}

// A machine whose events are letters, together with its mailbox and what is put aside: what
// StateMachineBase and the runtime do with the decisions. '|' is the mark.
struct QueueSubject {
  struct Answer {
    bool changes = false;
    bool postpones = false;
    std::string raises = {};
  };
  explicit QueueSubject(std::string waiting) : mailbox(waiting.begin(), waiting.end()) {}

  // Handles one event; false: there is none.
  bool Step() {
    char event = 0;
    if (auto raised = queue.TakeRaised()) {
      event = raised->name.ToString()[0];
    } else {
      if (mailbox.empty()) return false;
      event = mailbox.front();
      mailbox.pop_front();
      if (event == '|') {
        queue.RetriesEnded();
        return true;
      }
    }
    log += event;
    const Answer answer = handler(event);
    if (answer.postpones) {
      aside += event;
      queue.Postponed();
    }
    if (answer.changes) {
      if (auto behind = queue.StateChanged()) {
        aside += Names(behind->events) + (behind->mark ? "|" : "");
        mailbox.insert(mailbox.begin(), aside.begin(), aside.end());
        aside.clear();
      }
    }
    queue.Raise(Events(answer.raises));
    return true;
  }
  std::string Run() {
    while (Step()) {
    }
    return log;
  }

  StateQueue queue;
  std::deque<char> mailbox;
  std::string aside;
  std::string log;
  std::function<Answer(char)> handler;
};

TEST_CASE("state queue: raised events come first, the latest batch before those of earlier") {
  StateQueue queue;
  CHECK(queue.IsEmpty());
  queue.Raise(Events("ab"));
  queue.Raise(Events("cd"));
  CHECK_FALSE(queue.IsEmpty());
  std::string order;
  while (auto event = queue.TakeRaised()) order += event->name.ToString();
  CHECK(order == "cdab");
  CHECK(queue.IsEmpty());
}

TEST_CASE("state queue: without a change of state nothing is retried") {
  StateQueue queue;
  queue.Postponed();
  CHECK(queue.postponed() == 1);
  CHECK(queue.IsEmpty());
  auto behind = queue.StateChanged();
  REQUIRE(behind);
  CHECK(behind->events.empty());
  CHECK(behind->mark);
  CHECK(queue.postponed() == 0);
  CHECK_FALSE(queue.IsEmpty());       // retried events are in the mailbox
  CHECK_FALSE(queue.StateChanged());  // nothing was postponed since
  queue.Postponed();
  CHECK_FALSE(queue.StateChanged()->mark);  // there is one already
  queue.RetriesEnded();
  CHECK(queue.IsEmpty());
}

TEST_CASE("state queue: postponed events are retried in order, before newer ones") {
  QueueSubject subject("abcXde");
  bool open = false;
  subject.handler = [&](char event) -> QueueSubject::Answer {
    if (event == 'X') return {.changes = std::exchange(open, true) == false};
    return {.postpones = !open};
  };
  CHECK(subject.Run() == "abcXabcde");
}

TEST_CASE("state queue: what is postponed again waits for the next change") {
  QueueSubject subject("abXcYd");
  int state = 0;
  subject.handler = [&](char event) -> QueueSubject::Answer {
    if (event == 'X' || event == 'Y') return {.changes = ++state > 0};
    return {.postpones = state < 2 && event != 'c'};
  };
  CHECK(subject.Run() == "abXabcYabd");
}

TEST_CASE("state queue: postponed by the transition that changes the state, it comes at once") {
  QueueSubject subject("aXb");
  bool open = false;
  subject.handler = [&](char event) -> QueueSubject::Answer {
    if (event != 'X') return {.postpones = !open};
    if (open) return {};
    open = true;
    return {.changes = true, .postpones = true};
  };
  CHECK(subject.Run() == "aXaXb");
}

TEST_CASE("state queue: raised by the change, then postponed, then raised before it") {
  // P raises X and r; X changes the state and raises n: r was queued before.
  QueueSubject subject("pPm");
  bool open = false;
  subject.handler = [&](char event) -> QueueSubject::Answer {
    if (event == 'p') return {.postpones = !open};
    if (event == 'P') return {.raises = "Xr"};
    if (event != 'X') return {};
    open = true;
    return {.changes = true, .raises = "n"};
  };
  CHECK(subject.Run() == "pPXnprm");
  CHECK(subject.queue.IsEmpty());
}

TEST_CASE(
    "state queue: a change while events are retried puts newer postponed ones before the rest") {
  // a is postponed again, b changes the state: a comes before c, which has not been retried yet.
  QueueSubject subject("abcXd");
  int state = 0;
  subject.handler = [&](char event) -> QueueSubject::Answer {
    if (state == 0 && event != 'X') return {.postpones = true};
    if (event == 'X') return {.changes = ++state > 0};
    if (state == 1 && event == 'a') return {.postpones = true};
    if (state == 1 && event == 'b') return {.changes = ++state > 0};
    return {};
  };
  CHECK(subject.Run() == "abcXabacd");
  CHECK(subject.queue.IsEmpty());
}

// Every machine of two events and two states, against the rule in its plainest form: one list of
// all that waits.
TEST_CASE("state queue: all small machines agree with a single list" * kit::OneThread()) {
  struct Reference {
    static std::string Run(std::string waiting,
                           const std::function<QueueSubject::Answer(char)>& handler) {
      std::string log;
      std::string postponed;
      while (!waiting.empty() && log.size() < 40) {
        const char event = waiting.front();
        waiting.erase(0, 1);
        log += event;
        const QueueSubject::Answer answer = handler(event);
        if (answer.postpones) postponed += event;
        if (answer.changes) waiting = std::exchange(postponed, "") + waiting;
        waiting = answer.raises + waiting;
      }
      return log;
    }
  };
  const char* const kRaises[] = {"", "c", "ab"};
  constexpr int kAnswers = 2 * 2 * 3;
  int compared = 0;
  // What a and b do in state 0, and c in any; in state 1, a and b do what the other does in state
  // 0.
  for (int code = 0; code < kAnswers * kAnswers * kAnswers; ++code) {
    const auto answer_of = [&](int number) -> QueueSubject::Answer {
      return {.changes = number % 2 == 1,
              .postpones = number / 2 % 2 == 1,
              .raises = kRaises[number / 4]};
    };
    const auto machine = [&](int& state, int& handled) {
      return [&](char event) {
        const int one = code % kAnswers;
        const int two = code / kAnswers % kAnswers;
        QueueSubject::Answer answer = event == 'c' ? answer_of(code / kAnswers / kAnswers)
                                      : (event == 'a') == (state == 0) ? answer_of(one)
                                                                       : answer_of(two);
        if (++handled > 12) answer.raises.clear();  // comes to an end
        if (handled > 24) answer.postpones = false;
        if (answer.changes) state = 1 - state;
        return answer;
      };
    };
    int state = 0;
    int handled = 0;
    const std::string expected = Reference::Run("abcab", machine(state, handled));
    state = handled = 0;
    QueueSubject subject("abcab");
    subject.handler = machine(state, handled);
    while (subject.log.size() < expected.size() && subject.Step()) {
    }
    CAPTURE(code);
    REQUIRE(subject.log == expected);
    ++compared;
  }
  CHECK(compared == kAnswers * kAnswers * kAnswers);
}

}  // namespace
}  // namespace ergon::act
