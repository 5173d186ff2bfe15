// While the collector looks at very many processes, others run, and what it counts does not fall.
#include <ergon/node/observer/numbers/figures.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include <doctest/doctest.h>

#include <ergon/core/dispatcher.h>
#include <ergon/node/observer/views/process_tree.h>
#include <ergon/node/runtime/runtime.h>

#include <kit/eventually.h>
#include <node/subject.h>

namespace ergon::node::figures_test {

constexpr int kSlices = kit::kSanitized ? 2 : 3;
constexpr int kProcesses = kSlices * 4'096;

// Calls a function before each turn.
class BeforeTurns : public core::DispatcherHooks {
 public:
  void BeforeTurn(core::Schedulable&, int) override {
    const int turn = turns.fetch_add(1) + 1;
    if (call) call(turn);
  }

  std::function<void(int)> call;  // set while there are no turns
  std::atomic<int> turns{0};
};

// Very many processes, which have nothing to do.
struct Crowded {
  Crowded() {
    for (int i = 0; i < kProcesses; ++i) (void)t.Spawn();
  }

  // Runs `look` in a process. Returns its turns: each time that it lets others run it gets another one.
  int Look(std::function<void(gen::Process&, BehaviorIndex&)> look) {
    int turns = 0;
    const auto looker = t.node.Spawn([&, look](gen::Process& self) {
      BehaviorIndex index(RuntimeOf(self.Node(), "test").addresses(), 100);
      const int before = hooks->turns;
      look(self, index);
      turns = hooks->turns - before;
    });
    REQUIRE(looker);
    REQUIRE(t.node.WaitProcess(*looker, kit::kDeadline));
    return turns;
  }

  std::shared_ptr<BeforeTurns> hooks = std::make_shared<BeforeTurns>();
  TestNode t{{.workers = 2, .hooks = hooks}};
};

TEST_CASE("figures: others run while messages are summed up") {
  Crowded crowded;
  const ObserverOptions options;
  const int turns = crowded.Look([&](gen::Process& self, BehaviorIndex& index) {
    (void)FiguresCollector(self, index, options).Collect();
  });
  CHECK(turns >= 2 * kSlices);  // as many as for the census
}

TEST_CASE("figures: others run while the tree is sorted, and children are chosen") {
  Crowded crowded;
  const int turns = crowded.Look([](gen::Process& self, BehaviorIndex& index) {
    CHECK(FindTree(self, index, {}).in_all >= kProcesses);
  });
  CHECK(turns >= 4 * kSlices);  // as many to find them, to sort, to merge and to choose
}

TEST_CASE("figures: what a process has handled that ends meanwhile is not missing") {
  constexpr int kMessages = 100;
  std::atomic<int> kill_at{0};  // a turn
  Crowded crowded;
  const gen::PID last = crowded.t.Spawn();
  for (int i = 0; i < kMessages; ++i) CHECK(crowded.t.Run(last, [](Subject&) {}));
  crowded.hooks->call = [&](int turn) {
    if (turn != kill_at) return;
    // Here nobody may wait for a process.
    std::thread([&] {
      CHECK(crowded.t.node.Kill(last));
      CHECK(crowded.t.Ended(last));
    }).join();
  };
  const ObserverOptions options;
  crowded.Look([&](gen::Process& self, BehaviorIndex& index) {
    FiguresCollector collector(self, index, options);
    const gen::MessageBalance before = collector.Collect().messages;
    CHECK(before.handled >= kMessages);
    // After it was looked at which processes have ended, and before the last one is.
    kill_at = crowded.hooks->turns + kSlices + 1;
    const gen::MessageBalance after = collector.Collect().messages;
    CHECK(after.handled >= before.handled);
    CHECK(after.accepted >= before.accepted);
  });
  CHECK(!crowded.t.node.ProcessInfo(last));
}

}  // namespace ergon::node::figures_test
