// Dropped messages as an event.
#include <algorithm>
#include <string>
#include <vector>

#include <ergon/gen/dead_letter.h>

#include <kit/gate.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

struct Parcel {
  int number = 0;
};

// Subscribes, and writes down what each letter says.
Handlers ReadLetters(Notes<std::string>& letters) {
  return {.init =
              [](Subject& self, const gen::Args&) {
                CHECK(self.MonitorEvent({gen::kDeadLetters, {}}));
                return gen::Continue();
              },
          .event =
              [&letters](Subject&, const gen::MessageEvent& event) {
                const auto* letter = event.As<gen::DeadLetter>();
                REQUIRE(letter != nullptr);
                const auto* parcel = letter->As<Parcel>();
                letters.Add(std::string(gen::ToString(letter->what().reason)) + " " +
                            (parcel == nullptr ? "?" : std::to_string(parcel->number)));
                CHECK(letter->what().behavior == "ergon::node::Subject");
                CHECK(letter->what().error.empty() == false);
                return gen::Continue();
              }};
}

TEST_CASE("dead letters: what nobody handles, with its value, while somebody reads them") {
  Notes<std::string> letters;
  kit::ThreadGate gate;
  TestNode t({.workers = 2});
  const auto busy = [&](const gen::ProcessOptions& options) {
    const int before = gate.Entered();
    const gen::PID pid = t.Spawn({}, options);
    t.Begin(pid, [hold = gate.Holder()](Subject&) { hold(); });
    REQUIRE(kit::Eventually([&] { return gate.Entered() == before + 1; }));
    return pid;
  };
  const gen::PID full = busy({.mailbox = gen::Mailbox::Bounded(1, gen::Overflow::kDropOldest)});
  CHECK(t.node.Send(full, Parcel{1}));
  CHECK(t.node.Send(full, Parcel{2}));  // in place of the first: nobody reads
  const gen::PID reader = t.Spawn(ReadLetters(letters));
  CHECK(t.node.Send(full, Parcel{3}));
  REQUIRE(kit::Eventually([&] { return letters.size() == 1; }));
  // It ends with a message, a request and a timer that nobody waits for any more.
  auto answer = t.node.CallAsync<int>(full, Parcel{5}, {.priority = gen::MessagePriority::kHigh});
  CHECK(t.node.Kill(full));
  gate.Open();
  CHECK(answer.get().error() == gen::ErrProcessTerminated);
  REQUIRE(kit::Eventually([&] { return letters.size() == 3; }));
  const auto all = letters.All();
  CHECK(all[0] == "mailbox full 2");
  CHECK(std::count(all.begin(), all.end(), "terminated 3") == 1);
  CHECK(std::count(all.begin(), all.end(), "terminated 5") == 1);
  CHECK(t.node.Send("nobody", Parcel{6}).error() == gen::ErrProcessUnknown);  // told, not dropped

  CHECK(t.Run(reader, [](Subject& self) { CHECK(self.DemonitorEvent({gen::kDeadLetters, {}})); }));
  const gen::PID other = t.Spawn();
  CHECK(t.node.Suspend(other));
  CHECK(t.node.Send(other, Parcel{7}));
  CHECK(t.node.Kill(other));
  CHECK(t.Ended(other));
  CHECK(t.Run(reader, [](Subject&) {}));
  CHECK(letters.size() == 3);
  CHECK(t.node.Info().dropped_terminated == 3);
}

TEST_CASE("dead letters: those that are dropped themselves make no others") {
  Notes<std::string> letters;
  kit::ThreadGate gate;
  TestNode t({.workers = 2});
  Handlers reads = ReadLetters(letters);
  const gen::PID reader =
      t.Spawn(reads, {.mailbox = gen::Mailbox::Bounded(2, gen::Overflow::kDropOldest)});
  t.Begin(reader, [hold = gate.Holder()](Subject&) { hold(); });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  constexpr int kParcels = 20;
  const gen::PID ends = t.Spawn();
  CHECK(t.node.Suspend(ends));
  for (int i = 0; i < kParcels; ++i) CHECK(t.node.Send(ends, Parcel{i}));
  CHECK(t.node.Kill(ends));
  CHECK(t.Ended(ends));
  gate.Open();
  CHECK(t.Run(reader, [](Subject&) {}));
  CHECK(letters.size() <= 2);
  CHECK(t.node.Info().dropped_terminated == kParcels);
  CHECK(t.node.Info().dropped_mailbox_full >= kParcels - 2);
}

TEST_CASE("dead letters: the event is the node's") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  CHECK(t.Run(pid, [](Subject& self) {
    CHECK(self.RegisterEvent(gen::kDeadLetters).error() == gen::ErrTaken);
    CHECK(self.UnregisterEvent(gen::kDeadLetters).error() == gen::ErrProcessUnknown);
  }));
}

}  // namespace
}  // namespace ergon::node
