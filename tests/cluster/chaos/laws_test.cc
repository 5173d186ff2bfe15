// That the laws find what they are for: a run without a fault, and the same with each kind of violation.
#include <cluster/chaos/laws.h>

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace ergon::chaos {
namespace {

using Lines = std::vector<std::string>;

const Lines kSender = {"session a1.s/1 b ordered",
                       "watch a1.s/1 b",
                       "sent a1.s/1 1 plain",
                       "sent a1.s/1 2 important",
                       "sent a1.s/1 3 plain",
                       "closed a1.s/1 3",
                       "unwatch a1.s/1",
                       "call a1.c 1 b patient",
                       "answer a1.c 1 1",
                       "watch a1.w1 b",
                       "signal a1.w1 noconnection",
                       "balance 0 0 0",
                       "left processes 0",
                       "end"};
const Lines kReceiver = {"opened a1.s/1", "got a1.s/1 1", "got a1.s/1 2",  "got a1.s/1 3",
                         "ended a1.s/1",  "asked a1.c 1", "balance 0 0 0", "end"};

// One run: what a node `a` and what a node `b` has written.
struct Run {
  Lines a = kSender;
  Lines b = kReceiver;
  bool a_killed = false;
  bool b_killed = false;
  bool b_erlang = false;
  std::vector<NodeLedger> more = {};

  Run& Without(Lines& lines, const std::string& line) {
    const auto found = std::find(lines.begin(), lines.end(), line);
    REQUIRE(found != lines.end());
    lines.erase(found);
    return *this;
  }
  Run& Put(Lines& lines, const std::string& before, const std::string& line) {
    const auto found = std::find(lines.begin(), lines.end(), before);
    REQUIRE(found != lines.end());
    lines.insert(found, line);
    return *this;
  }
  Run& Change(Lines& lines, const std::string& line, const std::string& other) {
    Put(lines, line, other);
    return Without(lines, line);
  }
  [[nodiscard]] Judgement Judged() const {
    std::vector<NodeLedger> ledgers = {{"a", false, a_killed, a}, {"b", b_erlang, b_killed, b}};
    ledgers.insert(ledgers.end(), more.begin(), more.end());
    return Judge(ledgers);
  }
  // The only law that is broken.
  [[nodiscard]] std::string Broken() const {
    const auto broken = Judged().broken;
    if (broken.empty()) return "none";
    return broken.size() == 1 ? broken.front().substr(0, broken.front().find(':'))
                              : "several: " + broken[0] + broken[1];
  }
};

}  // namespace

TEST_CASE("chaos laws: a run without a fault") {
  const Judgement judgement = Run().Judged();
  CHECK(judgement.broken.empty());
  CHECK(judgement.tally.sent == 3);
  CHECK(judgement.tally.handled == 3);
  CHECK(judgement.tally.calls == 1);
  CHECK(judgement.tally.answers == 1);
  CHECK(judgement.tally.watches == 2);
  CHECK(judgement.tally.signals == 1);
  CHECK(judgement.tally.undone == 1);
}

TEST_CASE("chaos laws: what is lost must be covered") {
  Run run;
  run.Without(run.a, "closed a1.s/1 3").Without(run.b, "got a1.s/1 3");
  CHECK(run.Broken() == "sent, not handled, and its sender was not told of a lost connection");
  run.Change(run.a, "unwatch a1.s/1", "signal a1.s/1 noconnection");
  CHECK(run.Broken() == "none");
  CHECK(run.Judged().tally.covered == 1);
  // A signal covers only what was sent before.
  run.Without(run.a, "signal a1.s/1 noconnection");
  run.Put(run.a, "sent a1.s/1 3 plain", "signal a1.s/1 noconnection");
  CHECK(run.Broken() == "sent, not handled, and its sender was not told of a lost connection");
}

TEST_CASE("chaos laws: what the receiver has said to have must be handled") {
  Run run;
  run.Without(run.b, "got a1.s/1 3");
  run.a_killed = true;
  CHECK(run.Broken() == "the receiver had all, but one is missing");
}

TEST_CASE("chaos laws: no gap within a connection") {
  Run run;
  run.Without(run.a, "closed a1.s/1 3")
      .Without(run.b, "got a1.s/1 2")
      .Change(run.a, "sent a1.s/1 2 important", "sent a1.s/1 2 plain")
      .Change(run.a, "unwatch a1.s/1", "signal a1.s/1 noconnection");
  CHECK(run.Broken() == "a message is missing on a connection that was not lost");
  // The loss was told before what came on the next connection.
  run.Put(run.b, "got a1.s/1 3", "lost a1.s/1");
  CHECK(run.Broken() == "none");
  run.Without(run.b, "lost a1.s/1")
      .Put(run.b, "ended a1.s/1", "lost a1.s/1")
      .Without(run.b, "ended a1.s/1");
  CHECK(run.Broken() == "a message is missing on a connection that was not lost");
  // Erlang may tell of it later.
  run.b_erlang = true;
  CHECK(run.Broken() == "none");
}

TEST_CASE("chaos laws: nothing twice, in order, and only what was sent") {
  Run twice;
  twice.more = {{"c", false, false, {"got a1.s/1 2", "end"}}};
  CHECK(twice.Broken() == "a message was handled twice");
  Run late;
  late.Without(late.b, "got a1.s/1 2")
      .Put(late.b, "ended a1.s/1", "got a1.s/1 2")
      .Put(late.b, "got a1.s/1 3", "lost a1.s/1");
  CHECK(late.Broken() == "a message was overtaken by a later one");
  Run unsent;
  unsent.Put(unsent.b, "ended a1.s/1", "got a1.s/1 4");
  CHECK(unsent.Broken() == "a message was handled that nobody has sent");
  unsent.Put(unsent.a, "closed a1.s/1 3", "unsure a1.s/1 4");
  CHECK(unsent.Broken() == "none");
  unsent.Change(unsent.a, "unsure a1.s/1 4", "refused a1.s/1 4 noconnection");
  CHECK(unsent.Broken() == "a message was refused, and handled nevertheless");
  Run nobody;
  nobody.Put(nobody.b, "end", "got a1.x/1 1");
  CHECK(nobody.Broken() == "messages of nobody");
  Run refused;
  refused.Put(refused.a, "closed a1.s/1 3", "refused a1.s/1 4 busy");
  CHECK(refused.Broken() == "a message was refused for no reason");
}

TEST_CASE("chaos laws: an important message is handled, unless its receiver was killed") {
  Run run;
  run.Without(run.a, "closed a1.s/1 3")
      .Without(run.b, "got a1.s/1 2")
      .Without(run.b, "got a1.s/1 3")
      .Change(run.a, "unwatch a1.s/1", "signal a1.s/1 noconnection");
  CHECK(run.Broken() == "an important message has arrived, but was not handled");
  run.b_killed = true;
  CHECK(run.Broken() == "none");
}

TEST_CASE("chaos laws: a full mailbox counts what it drops") {
  Run run;
  run.a.insert(run.a.begin(), {"session a1.t/1 b tight", "watch a1.t/1 b", "sent a1.t/1 1 plain",
                               "sent a1.t/1 2 plain", "unwatch a1.t/1"});
  run.b.insert(run.b.begin(), "got a1.t/1 2");
  CHECK(run.Broken() == "sent, not handled, and nobody has counted it");
  run.Change(run.b, "balance 0 0 0", "balance 0 0 1");
  CHECK(run.Broken() == "none");
  CHECK(run.Judged().tally.dropped == 1);
}

TEST_CASE("chaos laws: a call has one outcome, and an answer was given by one") {
  Run none;
  none.Without(none.a, "answer a1.c 1 1");
  CHECK(none.Broken() == "a call has another number of outcomes than one");
  none.a_killed = true;
  CHECK(none.Broken() == "none");
  Run two;
  two.Put(two.a, "end", "error a1.c 1 noconnection");
  CHECK(two.Broken() == "a call has another number of outcomes than one");
  Run unhandled;
  unhandled.Without(unhandled.b, "asked a1.c 1");
  CHECK(unhandled.Broken() == "an answer to what nobody has handled");
  Run twice;
  twice.Put(twice.b, "end", "asked a1.c 1");
  CHECK(twice.Broken() == "a request was handled twice");
  Run wrong;
  wrong.Change(wrong.a, "answer a1.c 1 1", "answer a1.c 1 2");
  CHECK(wrong.Broken() == "the answer to another question");
  Run stranger;
  stranger.Put(stranger.b, "end", "asked a1.c 2");
  CHECK(stranger.Broken() == "a call of nobody");
}

TEST_CASE("chaos laws: a call fails for a reason") {
  Run run;
  run.Change(run.a, "answer a1.c 1 1", "error a1.c 1 noconnection");
  CHECK(run.Broken() == "none");
  run.Change(run.a, "error a1.c 1 noconnection", "error a1.c 1 timeout");
  CHECK(run.Broken() == "a call has failed for no reason");
  run.Change(run.a, "call a1.c 1 b patient", "call a1.c 1 b hasty");
  CHECK(run.Broken() == "none");
  run.Change(run.a, "error a1.c 1 timeout", "error a1.c 1 busy");
  CHECK(run.Broken().rfind("several: a call has failed", 0) == 0);
  run.Change(run.a, "call a1.c 1 b hasty", "call a1.c 1 b async");
  CHECK(run.Broken() == "a request was refused, and handled nevertheless");
  run.Change(run.a, "error a1.c 1 busy", "error a1.c 1 unknown");
  run.Without(run.b, "asked a1.c 1");
  CHECK(run.Broken() == "a call has failed for no reason");
  run.more = {{"b", false, true, {}}};
  CHECK(run.Broken() == "none");
}

TEST_CASE("chaos laws: each monitor and link has one signal") {
  Run none;
  none.Without(none.a, "signal a1.w1 noconnection");
  CHECK(none.Broken() == "a monitor or link has another number of signals than one");
  none.a_killed = true;
  CHECK(none.Broken() == "none");
  Run two;
  two.Put(two.a, "end", "signal a1.w1 noconnection");
  CHECK(two.Broken() == "a monitor or link has another number of signals than one");
  Run undone;
  undone.Put(undone.a, "end", "signal a1.s/1 noconnection");
  CHECK(undone.Broken() == "a signal of what was ended before");
  Run strange;
  strange.Change(strange.a, "signal a1.w1 noconnection", "signal a1.w1 noproc");
  CHECK(strange.Broken() == "a signal with a wrong reason");
  strange.more = {{"b", false, true, {}}};
  CHECK(strange.Broken() == "none");
  Run stray;
  stray.Put(stray.a, "end", "signal a1.w2 noconnection");
  CHECK(stray.Broken() == "a signal of what nobody has made");
}

TEST_CASE("chaos laws: a subscription brings each value once, in order, until its end") {
  const auto with = [](const Lines& lines) {
    Run run;
    run.Put(run.a, "end", "subscribe a1.e/1 b");
    for (const std::string& line : lines) run.Put(run.a, "end", line);
    return run;
  };
  const Run good = with({"value a1.e/1 4", "value a1.e/1 5", "latest a1.e/1 5"});
  CHECK(good.Broken() == "none");
  CHECK(good.Judged().tally.subscriptions == 1);
  CHECK(good.Judged().tally.values == 2);
  CHECK(with({"value a1.e/1 4", "event_end a1.e/1 noconnection"}).Broken() == "none");
  CHECK(with({"value a1.e/1 4", "value a1.e/1 4"}).Broken() ==
        "a value came twice, or was overtaken by a later one");
  const std::string lost = "sent, not handled, and nobody has counted it";
  for (Run gap : {with({"value a1.e/1 4", "value a1.e/1 6"}),
                  with({"value a1.e/1 4", "latest a1.e/1 5"}), with({"latest a1.e/1 1"})}) {
    CHECK(gap.Broken() == lost);
    gap.Change(gap.b, "balance 0 0 0", "balance 0 0 1");
    CHECK(gap.Broken() == "none");
    gap.Change(gap.b, "balance 0 0 1", "balance 0 0 0");
    gap.b_killed = true;
    CHECK(gap.Broken() == "none");
  }
  CHECK(with({"event_end a1.e/1 noconnection", "value a1.e/1 1"}).Broken() ==
        "a value after the end of its subscription");
  CHECK(with({"event_end a1.e/1 noconnection", "event_end a1.e/1 noconnection"}).Broken() ==
        "a subscription has ended twice");
  CHECK(with({"event_end a1.e/1 normal"}).Broken() == "a subscription has ended for no reason");
  CHECK(with({"event_end a1.e/1 timeout"}).Broken() == "a subscription has ended for no reason");
  CHECK(with({"no_event a1.e/1 timeout"}).Broken() == "none");
  Run unknown = with({"no_event a1.e/1 unknown"});
  CHECK(unknown.Broken() == "a subscription has ended for no reason");
  unknown.more = {{"b", false, true, {}}};
  CHECK(unknown.Broken() == "none");
  Run stray;
  stray.Put(stray.a, "end", "value a1.e/1 1");
  CHECK(stray.Broken() == "values of nobody");
}

TEST_CASE("chaos laws: a node ends in order, balanced, and empty") {
  Run unbalanced;
  unbalanced.Change(unbalanced.b, "balance 0 0 0", "balance -1 0 0");
  CHECK(unbalanced.Broken() == "a node's messages are not balanced");
  Run waiting;
  waiting.Change(waiting.b, "balance 0 0 0", "balance 0 1 0");
  CHECK(waiting.Broken() == "messages wait at a node that has ended");
  Run left;
  left.Change(left.a, "left processes 0", "left processes 2");
  CHECK(left.Broken() == "something is left over");
  Run terms;
  terms.Put(terms.a, "end", "packed 0").Put(terms.b, "end", "packed 0");
  CHECK(terms.Broken() == "nothing has travelled packed");
  terms.Change(terms.b, "packed 0", "packed 1");
  CHECK(terms.Broken() == "none");
  CHECK(terms.Judged().tally.packed == 1);
  Run endless;
  endless.Without(endless.b, "end");
  CHECK(endless.Broken() == "a node has not come to its end");
  endless.b_killed = true;
  CHECK(endless.Broken() == "none");
  Run strange;
  strange.Put(strange.a, "end", "what is this");
  CHECK(strange.Broken() == "a line that nobody understands");
}

TEST_CASE("chaos laws: spawned processes") {
  Run run;
  run.Put(run.a, "end", "spawn a1.pb/1 b linked")
      .Put(run.a, "end", "spawned a1.pb/1")
      .Put(run.a, "end", "child_exit a1.pb/1 told")
      .Put(run.a, "end", "child_down a1.pb/1 told")
      .Put(run.a, "end", "spawn a1.pb/2 b monitored")
      .Put(run.a, "end", "no_spawn a1.pb/2 noconnection");
  CHECK(run.Broken() == "none");
  CHECK(run.Judged().tally.spawns == 2);
  CHECK(run.Judged().tally.children == 1);
  const Run good = run;
  run.Put(run.a, "end", "child_down a1.pb/1 told");
  CHECK(run.Broken() == "the end of a spawned process was told another number of times than once");
  run = good;
  run.Without(run.a, "child_down a1.pb/1 told");
  CHECK(run.Broken() == "the end of a spawned process was told another number of times than once");
  run.a_killed = true;
  CHECK(run.Broken() == "none");
  run = good;
  run.Without(run.a, "child_exit a1.pb/1 told");
  CHECK(run.Broken() == "a link with a spawned process has told another number of times than once");
  run = good;
  run.Change(run.a, "spawn a1.pb/1 b linked", "spawn a1.pb/1 b monitored");
  CHECK(run.Broken() == "a link with a spawned process has told another number of times than once");
  run = good;
  run.Without(run.a, "no_spawn a1.pb/2 noconnection");
  CHECK(run.Broken() == "a spawn has another number of outcomes than one");
  run = good;
  run.Change(run.a, "no_spawn a1.pb/2 noconnection", "no_spawn a1.pb/2 busy");
  CHECK(run.Broken() == "a process was not spawned for no reason");
  run = good;
  run.Change(run.a, "child_down a1.pb/1 told", "child_down a1.pb/1 killed");
  CHECK(run.Broken() == "a spawned process has ended for no reason");
  run = good;
  run.Put(run.a, "end", "child_down none told");
  CHECK(run.Broken() == "the end of what nobody has spawned");
}

}  // namespace ergon::chaos
