// Where the notice of an end is handled: before the messages that were sent before it, or behind them
// (gen::NoticeOrder).
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <ergon/act/pool.h>
#include <ergon/gen/mailbox.h>
#include <ergon/gen/relation_options.h>

#include <kit/gate.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

using gen::NoticeOrder;
using Words = std::vector<std::string>;

std::string WordOf(gen::Message& message) {
  if (const auto* number = message.As<int>()) return std::to_string(*number);
  if (message.Is<gen::MessageDownPID>()) return "down";
  if (message.Is<gen::MessageDownProcessID>()) return "down of a name";
  if (message.Is<gen::MessageExitPID>()) return "exit";
  if (message.Is<gen::MessageExitProcessID>()) return "exit of a name";
  return std::string(message.TypeName());
}

// Traps exits and notes what it gets.
Handlers NoteAll(Notes<std::string>& words) {
  return {.init =
              [](Subject& self, const gen::Args&) {
                self.SetTrapExit(true);
                return gen::Continue();
              },
          .message =
              [&words](Subject&, gen::PID, gen::Message& message) {
                words.Add(WordOf(message));
                return gen::Continue();
              }};
}

// A process that is busy while others send it something and end.
class BusyReceiver {
 public:
  BusyReceiver(TestNode& t, gen::PID pid) : t_(t), pid_(pid), gate_(t.node) {
    t.Begin(pid, [gate = gate_.pid()](Subject& self) {
      (void)self.Call<bool>(gate, kit::EnterGate{}, {.timeout = gen::kInfinite});
    });
    REQUIRE(kit::Eventually([&] { return gate_.Entered() == 1; }));
  }
  // `sender` sends 1, 2 and 3, and ends.
  void SendResultsAndEnd(gen::PID sender) {
    CHECK(t_.Run(sender, [to = pid_](Subject& self) {
      for (int i = 1; i <= 3; ++i) (void)self.Send(to, i);
    }));
    CHECK(t_.node.Send(sender, End{}));
    REQUIRE(t_.Ended(sender));
  }
  void GoOn() { gate_.Open(); }

 private:
  TestNode& t_;
  const gen::PID pid_;
  kit::Gate gate_;
};

void Watch(TestNode& t, gen::PID watcher, gen::PID other, NoticeOrder order) {
  CHECK(t.Run(watcher, [=](Subject& self) {
    CHECK(self.Monitor(other, {.order = order}));
    CHECK(self.Link(other, {.order = order}));
  }));
}

}  // namespace

TEST_CASE("notice order: the notices of an end come first, or behind what was sent before") {
  for (const NoticeOrder order :
       {NoticeOrder::kUsual, NoticeOrder::kFirst, NoticeOrder::kInOrder}) {
    Notes<std::string> words;
    Notes<std::uint64_t> queued;
    TestNode t;
    const gen::PID sender = t.Spawn();
    Handlers handlers = NoteAll(words);
    handlers.message = [&, note = handlers.message](Subject& self, gen::PID from,
                                                    gen::Message& message) {
      queued.Add(t.node.ProcessInfo(self.Self())->messages_queued);
      return note(self, from, message);
    };
    const gen::PID receiver = t.Spawn(handlers);
    Watch(t, receiver, sender, order);
    BusyReceiver busy(t, receiver);
    busy.SendResultsAndEnd(sender);
    busy.GoOn();
    REQUIRE(kit::Eventually([&] { return words.size() == 5; }));
    CHECK(t.Run(receiver, [](Subject&) {}));
    // Notices are no messages, wherever they wait.
    CHECK(queued.All() == (order == NoticeOrder::kInOrder
                               ? std::vector<std::uint64_t>{2, 1, 0, 0, 0}
                               : std::vector<std::uint64_t>{3, 3, 2, 1, 0}));
    CHECK(words.All() == (order == NoticeOrder::kInOrder ? Words{"1", "2", "3", "exit", "down"}
                                                         : Words{"exit", "down", "1", "2", "3"}));
    CHECK(t.node.ProcessInfo(receiver)->messages_queued == 0);
  }
}

TEST_CASE("notice order: what is unstashed before a notice does not let it overtake the others") {
  std::vector<gen::ProcessOptions> kinds(2);
  kinds[0].mailbox = gen::Mailbox::Bounded(10, gen::Overflow::kDropOldest);
  kinds[1].mailbox_size = 10;
  for (const gen::ProcessOptions& options : kinds) {
    Notes<std::string> words;
    std::atomic<bool> stashed{false};
    bool unstashed = false;
    TestNode t;
    const gen::PID sender = t.Spawn();
    const gen::PID receiver =
        t.Spawn({.message =
                     [&](Subject& self, gen::PID, gen::Message& message) {
                       const int* const number = message.As<int>();
                       if (number != nullptr && *number == 100 && !unstashed) {
                         self.Stash(message);
                         stashed = true;
                         return gen::Continue();
                       }
                       if (number != nullptr && *number == 1) {
                         unstashed = true;
                         self.UnstashAll();
                       }
                       words.Add(WordOf(message));
                       return gen::Continue();
                     }},
                options);
    CHECK(t.Run(receiver, [sender](Subject& self) {
      CHECK(self.Monitor(sender, {.order = NoticeOrder::kInOrder}));
    }));
    CHECK(t.node.Send(receiver, 100));
    REQUIRE(kit::Eventually([&] { return stashed.load(); }));
    BusyReceiver busy(t, receiver);
    busy.SendResultsAndEnd(sender);
    busy.GoOn();
    REQUIRE(kit::Eventually([&] { return words.size() == 5; }));
    CHECK(words.All() == Words{"1", "100", "2", "3", "down"});
  }
}

TEST_CASE("notice order: by a name, too, and a second link may change it") {
  Notes<std::string> words;
  TestNode t;
  const gen::PID sender = t.Spawn();
  const gen::PID receiver = t.Spawn(NoteAll(words));
  CHECK(t.node.RegisterName("sends", sender));
  CHECK(t.Run(receiver, [](Subject& self) {
    const gen::ProcessID name{"sends", {}};
    CHECK(self.Monitor(name, {.order = NoticeOrder::kInOrder}));
    CHECK(self.Link(name));
    CHECK(self.Link(name, {.order = NoticeOrder::kInOrder}));
    CHECK(self.Link(name));  // and changes nothing
  }));
  BusyReceiver busy(t, receiver);
  busy.SendResultsAndEnd(sender);
  busy.GoOn();
  REQUIRE(kit::Eventually([&] { return words.size() == 5; }));
  CHECK(words.All() == Words{"1", "2", "3", "exit of a name", "down of a name"});
}

TEST_CASE("notice order: a full mailbox and one with an order of its own have room for notices") {
  gen::ProcessOptions bounded;
  bounded.mailbox_size = 3;
  gen::ProcessOptions dropping;
  dropping.mailbox = gen::Mailbox::Bounded(2, gen::Overflow::kDropOldest);
  gen::ProcessOptions priority;
  priority.mailbox = gen::Mailbox::Priority<int>([](const int& number) { return -number; });
  const std::vector<std::pair<gen::ProcessOptions, Words>> cases = {
      {bounded, {"1", "2", "3", "exit", "down"}},
      {dropping, {"2", "3", "exit", "down"}},
      {priority, {"3", "2", "1", "exit", "down"}}};
  for (const auto& [options, expected] : cases) {
    Notes<std::string> words;
    TestNode t;
    const gen::PID sender = t.Spawn();
    const gen::PID receiver = t.Spawn(NoteAll(words), options);
    Watch(t, receiver, sender, NoticeOrder::kInOrder);
    BusyReceiver busy(t, receiver);
    busy.SendResultsAndEnd(sender);
    busy.GoOn();
    REQUIRE(kit::Eventually([&] { return words.size() == expected.size(); }));
    Words got = words.All();
    if (&options == &cases.back().first) std::sort(got.begin(), got.begin() + 3, std::greater<>());
    CHECK(got == expected);
    CHECK(t.node.ProcessInfo(receiver)->messages_queued == 0);
  }
}

TEST_CASE("notice order: what is not trapped ends its receiver at once, with what waits") {
  Notes<std::string> words;
  TestNode t;
  const gen::PID sender = t.Spawn();
  Handlers handlers = NoteAll(words);
  handlers.init = {};
  const gen::PID receiver = t.Spawn(handlers);
  CHECK(t.Run(receiver,
              [=](Subject& self) { CHECK(self.Link(sender, {.order = NoticeOrder::kInOrder})); }));
  BusyReceiver busy(t, receiver);
  CHECK(t.node.Send(receiver, 1));
  CHECK(t.node.Send(sender, End{gen::Reason::Error("broken")}));
  CHECK(t.Ended(receiver));
  CHECK(words.All().empty());
}

TEST_CASE("notice order: a notice that waits is none after Demonitor and Unlink") {
  Notes<std::string> words;
  std::atomic<std::uint64_t> ref{0};
  TestNode t;
  const gen::PID sender = t.Spawn();
  Handlers handlers = NoteAll(words);
  handlers.message = [&ref, sender, note = handlers.message](Subject& self, gen::PID from,
                                                             gen::Message& message) {
    if (message.Is<int>() && *message.As<int>() == 3) {
      gen::Ref monitor = self.MakeRef();
      monitor.id = ref;
      CHECK(self.Demonitor(monitor));
      CHECK(self.Unlink(sender));
    }
    return note(self, from, message);
  };
  const gen::PID receiver = t.Spawn(handlers);
  CHECK(t.Run(receiver, [&](Subject& self) {
    ref = self.Monitor(sender, {.order = NoticeOrder::kInOrder}).value().id;
    CHECK(self.Link(sender, {.order = NoticeOrder::kInOrder}));
  }));
  BusyReceiver busy(t, receiver);
  busy.SendResultsAndEnd(sender);
  busy.GoOn();
  REQUIRE(kit::Eventually([&] { return words.size() == 3; }));
  CHECK(t.Run(receiver, [](Subject&) {}));
  CHECK(words.All() == Words{"1", "2", "3"});
}

TEST_CASE("notice order: a receiver that ends before leaves nothing behind") {
  Notes<std::string> words;
  TestNode t;
  for (int time = 0; time < 3; ++time) {  // in the same slot
    const gen::PID sender = t.Spawn();
    Handlers handlers = NoteAll(words);
    handlers.message = [](Subject&, gen::PID, gen::Message& message) {
      return message.Is<int>() ? gen::Status(gen::Stop(gen::Reason::Normal())) : gen::Continue();
    };
    const gen::PID receiver = t.Spawn(handlers);
    Watch(t, receiver, sender, NoticeOrder::kInOrder);
    BusyReceiver busy(t, receiver);
    busy.SendResultsAndEnd(sender);
    busy.GoOn();
    CHECK(t.Ended(receiver));
  }
  const gen::PID next = t.Spawn();
  CHECK(t.Run(next, [](Subject&) {}));
  CHECK(t.node.ProcessInfo(next)->messages_queued == 0);
}

TEST_CASE("notice order: a function receives in that order, whatever it takes first") {
  Notes<std::string> words;
  TestNode t;
  const gen::PID sender = t.Spawn();
  kit::Gate gate(t.node);
  const gen::PID receiver =
      t.node
          .Spawn([&](gen::Process& self) {
            self.SetTrapExit(true);
            CHECK(self.Monitor(sender, {.order = NoticeOrder::kInOrder}));
            CHECK(self.Link(sender, {.order = NoticeOrder::kInOrder}));
            (void)self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite});
            // Passes all over that it does not want; what was passed over is looked at first.
            CHECK_FALSE(self.Receive<double>(0ns));
            for (;;) {
              auto got = self.Receive<int, gen::MessageDownPID, gen::MessageExitPID>(0ns);
              if (!got) break;
              if (const auto* number = std::get_if<int>(&*got)) {
                words.Add(std::to_string(*number));
              } else {
                words.Add(std::holds_alternative<gen::MessageDownPID>(*got) ? "down" : "exit");
              }
            }
          })
          .value();
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(t.Run(sender, [receiver](Subject& self) {
    for (int i = 1; i <= 3; ++i) CHECK(self.Send(receiver, i));
  }));
  CHECK(t.node.Send(sender, End{}));
  REQUIRE(t.Ended(sender));
  CHECK(t.node.ProcessInfo(receiver)->messages_queued == 3);
  gate.Open();
  CHECK(t.Ended(receiver));
  CHECK(words.All() == Words{"1", "2", "3", "exit", "down"});
}

TEST_CASE("notice order: a function that wants the end only does not wait for messages") {
  std::atomic<int> got{0};
  TestNode t;
  const gen::PID sender = t.Spawn();
  kit::Gate gate(t.node);
  const gen::PID receiver =
      t.node
          .Spawn([&](gen::Process& self) {
            CHECK(self.Monitor(sender, {.order = NoticeOrder::kInOrder}));
            (void)self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite});
            if (self.Receive<gen::MessageDownPID>(0ns)) ++got;
            if (self.Receive<int>(0ns).value_or(0) == 1) ++got;
          })
          .value();
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(t.Run(sender, [receiver](Subject& self) { CHECK(self.Send(receiver, 1)); }));
  CHECK(t.node.Send(sender, End{}));
  REQUIRE(t.Ended(sender));
  gate.Open();
  CHECK(t.Ended(receiver));
  CHECK(got == 2);
}

}  // namespace ergon::node
