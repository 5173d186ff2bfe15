#include <algorithm>

#include <ergon/node/delivery/drop_memory.h>

#include <kit/gate.h>
#include <kit/manual_time.h>
#include <kit/threads.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

struct DroppedParcel {
  static constexpr const char* kTag = "parcel";
  int number = 0;
};

TEST_CASE("last drops: what was dropped, whose it was, and why; newest first") {
  TestNode t;
  CHECK(t.node.LastDrops().empty());
  kit::ThreadGate gate;
  const gen::PID sender = t.Spawn();
  const gen::PID full =
      t.Spawn({}, {.mailbox = gen::Mailbox::Bounded(1, gen::Overflow::kDropNewest)});
  t.Begin(full, [hold = gate.Holder()](Subject&) { hold(); });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  const auto before = t.node.Info().uptime;
  CHECK(t.Run(sender, [&](Subject& self) {
    CHECK(self.Send(full, 1));
    CHECK(self.Send(full, DroppedParcel{2}));  // no room
  }));
  const auto drops = t.node.LastDrops();
  REQUIRE(drops.size() == 1);
  CHECK(drops[0].to == full);
  CHECK(drops[0].from == sender);
  CHECK(drops[0].behavior == "ergon::node::Subject");
  CHECK(drops[0].type == "parcel");
  CHECK(drops[0].reason == gen::DropReason::kMailboxFull);
  CHECK(gen::ToString(drops[0].reason) == "mailbox full");
  CHECK(drops[0].error == "process mailbox is full");
  CHECK(drops[0].uptime >= before);
  CHECK(drops[0].uptime <= t.node.Info().uptime);
  CHECK(drops[0].time >= drops[0].uptime);

  // It ends with one message left, and with a request whose caller is told the same.
  std::future<gen::Result<int>> answer =
      t.node.CallAsync<int>(full, 3, {.priority = gen::MessagePriority::kHigh});
  CHECK(t.node.Kill(full));
  gate.Open();
  CHECK(answer.get().error() == gen::ErrProcessTerminated);
  CHECK(t.Ended(full));
  const auto later = t.node.LastDrops();
  REQUIRE(later.size() == 3);
  CHECK(later[2].reason == gen::DropReason::kMailboxFull);
  for (int i = 0; i < 2; ++i) {
    const auto& drop = later[static_cast<std::size_t>(i)];
    CHECK(drop.to == full);
    CHECK(drop.behavior == "ergon::node::Subject");
    CHECK(drop.type == "int");
    CHECK(drop.reason == gen::DropReason::kTerminated);
    CHECK(drop.error == "process terminated: killed");
    CHECK(drop.time >= later[2].time);
  }
  CHECK(t.node.Info().drops_not_remembered == 0);
}

TEST_CASE("last drops: expired requests, delayed sends, and events for a full subscriber") {
  const kit::ManualTime time;
  TestNode t(time.Into());
  kit::ThreadGate gate;
  const gen::PID slow = t.Spawn();
  t.Begin(slow, [hold = gate.Holder()](Subject&) { hold(); });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  auto answer = t.node.CallAsync<int>(slow, DroppedParcel{1}, {.timeout = 1s});
  time.Pass(2s);
  CHECK(answer.get().error() == gen::ErrTimeout);
  gate.Open();
  CHECK(t.Run(slow, [](Subject&) {}));
  REQUIRE(t.node.LastDrops().size() == 1);
  CHECK(t.node.LastDrops()[0].reason == gen::DropReason::kExpired);
  CHECK(t.node.LastDrops()[0].to == slow);
  CHECK(t.node.LastDrops()[0].from == t.node.Self());

  CHECK(t.node.SendAfter("nobody", DroppedParcel{2}, 1s));
  time.Pass(1s);
  REQUIRE(t.node.LastDrops().size() == 2);
  CHECK(!t.node.LastDrops()[0].to);
  CHECK(t.node.LastDrops()[0].behavior.empty());
  CHECK(t.node.LastDrops()[0].error == t.node.Send("nobody", 1).error().ToString());

  kit::ThreadGate other;
  const gen::PID producer = t.Spawn();
  const gen::PID subscriber = t.Spawn({}, {.mailbox_size = 1});
  gen::Ref token;
  CHECK(t.Run(producer, [&](Subject& self) { token = self.RegisterEvent("news").value(); }));
  CHECK(t.Run(subscriber, [&](Subject& self) {
    CHECK(self.MonitorEvent({"news", self.Node().Name()}));
  }));
  t.Begin(subscriber, [hold = other.Holder()](Subject&) { hold(); });
  REQUIRE(kit::Eventually([&] { return other.Entered() == 1; }));
  CHECK(t.node.Send(subscriber, 1));
  CHECK(t.Run(producer, [&](Subject& self) {
    CHECK(self.SendEvent("news", token, DroppedParcel{3}).value() == 0);
  }));
  CHECK(t.node.LastDrops()[0].to == subscriber);
  CHECK(t.node.LastDrops()[0].from == producer);
  CHECK(t.node.LastDrops()[0].reason == gen::DropReason::kMailboxFull);
}

TEST_CASE("last drops: as many as were asked for, none with 0") {
  for (const int size : {0, 1, 3}) {
    CAPTURE(size);
    const kit::ManualTime time;
    TestNode t(time.Into({.drops_remembered = size}));
    for (int i = 0; i < 5; ++i) CHECK(t.node.SendAfter("nobody", DroppedParcel{i}, 1s));
    time.Pass(1s);
    CHECK(t.node.MessageBalance().Dropped() == 5);
    CHECK(t.node.LastDrops().size() == static_cast<std::size_t>(size));
  }
}

DropMemory::Drop At(std::int64_t time) { return {.time = time}; }

TEST_CASE("last drops: the ring") {
  DropMemory memory(3);
  for (int i = 1; i <= 7; ++i) {
    memory.Note([&] { return At(10 * i); });
    const auto drops = memory.Newest(5);
    REQUIRE(drops.size() == static_cast<std::size_t>(std::min(i, 3)));
    for (std::size_t k = 0; k < drops.size(); ++k) {
      CHECK(drops[k].time.count() == 10 * (i - static_cast<int>(k)));
      CHECK(drops[k].uptime.count() == drops[k].time.count() - 5);
    }
  }
  CHECK(memory.skipped() == 0);
}

TEST_CASE("last drops: a storm from many threads: each is noted or counted as skipped") {
  constexpr int kThreads = 4;
  const int each = kit::Scaled(50'000);
  DropMemory memory(DropMemory::kMost);
  std::atomic<int> left{kThreads};
  std::atomic<std::uint64_t> noted{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < each; ++k) {
        memory.Note([&] {
          noted.fetch_add(1);
          return At(k);
        });
      }
      left.fetch_sub(1);
    });
  }
  while (left != 0) CHECK(memory.Newest(0).size() <= DropMemory::kMost);
  threads.clear();
  CHECK(noted + memory.skipped() == static_cast<std::uint64_t>(kThreads * each));
  // Nobody is in the way any more.
  memory.Note([] { return At(-1); });
  CHECK(memory.Newest(0).front().time == -1ns);
}

}  // namespace
}  // namespace ergon::node
