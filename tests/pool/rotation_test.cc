// The exact rotation while others push into the same mailboxes, so that pushes may fail and are tried again: each of
// them must keep its turn.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <kit/node_fixture.h>
#include <kit/tally.h>
#include <kit/threads.h>

namespace ergon::rotation_test {
namespace {

constexpr int kSize = 3;
constexpr int kOutsider = -1;            // the number of messages that do not come through the pool
constexpr int kMostOutsiders = 100'000;  // so many of them wait

// Who has handled which message. Any thread.
class Handlers {
 public:
  explicit Handlers(int count)
      : ids_(std::make_unique<std::atomic<std::uint64_t>[]>(static_cast<std::size_t>(count))),
        count_(count) {}

  void Note(int number, gen::PID worker) {
    ids_[static_cast<std::size_t>(number)].store(worker.id, std::memory_order_relaxed);
    noted_.fetch_add(1, std::memory_order_release);  // partner: HasAll
  }
  [[nodiscard]] bool IsOf(int number, gen::PID worker) const {
    return ids_[static_cast<std::size_t>(number)].load(std::memory_order_relaxed) == worker.id;
  }
  // Whether all messages that came through the pool are noted.
  [[nodiscard]] bool HasAll() const { return noted_.load(std::memory_order_acquire) == count_; }
  void NoteOutsider() { outsiders_.fetch_add(1, std::memory_order_relaxed); }
  // How many messages have not come through the pool.
  [[nodiscard]] std::int64_t Outsiders() const {
    return outsiders_.load(std::memory_order_relaxed);
  }
  // How many messages that worker has handled.
  [[nodiscard]] int CountOf(gen::PID worker) const {
    int handled = 0;
    for (int i = 0; i < count_; ++i) handled += IsOf(i, worker) ? 1 : 0;
    return handled;
  }

 private:
  std::unique_ptr<std::atomic<std::uint64_t>[]> ids_;
  int count_;
  std::atomic<int> noted_{0};
  std::atomic<std::int64_t> outsiders_{0};
};

class NotingWorker final : public act::Actor {
 public:
  explicit NotingWorker(std::shared_ptr<Handlers> handlers) : handlers_(std::move(handlers)) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    const int number = message.As<kit::Numbered>()->number;
    if (number == kOutsider) {
      handlers_->NoteOutsider();
    } else {
      handlers_->Note(number, Self());
    }
    return gen::Continue();
  }

  std::shared_ptr<Handlers> handlers_;
};

struct RotationTest {
  explicit RotationTest(int count) : handlers(std::make_shared<Handlers>(count)) {}

  auto StartPool() {
    auto options = fixture.Options(kSize);
    options.worker_factory = gen::Factory<NotingWorker>(handlers);
    return fixture.StartPool(options);
  }

  kit::NodeFixture fixture;
  std::shared_ptr<Handlers> handlers;
};

TEST_CASE("rotation: one sender's messages take turns exactly, whoever else sends to the workers") {
  constexpr int kCount = kit::Scaled(400'000, 20);
  RotationTest test(kCount);
  auto pool = test.StartPool();
  const std::vector<gen::PID> workers = pool.Workers();
  std::atomic<std::int64_t> sent{0};
  kit::Threads outsiders;
  for (int i = 0; i < 2; ++i) {
    outsiders.Start([&] {
      while (!outsiders.stopped()) {
        if (sent.load() - test.handlers->Outsiders() > kMostOutsiders) {
          std::this_thread::yield();
          continue;
        }
        for (const gen::PID worker : workers) {
          test.fixture.node.Send(worker, kit::Numbered{kOutsider}).value();
        }
        sent.fetch_add(kSize);
      }
    });
  }
  REQUIRE(kit::Eventually([&] { return sent.load() > 0; }));
  kit::ProberHandle sender(test.fixture.node);
  SUBCASE("a process") {
    sender
        .Run([to = pool.pid()](kit::Prober& self) {
          for (int i = 0; i < kCount; ++i) self.Send(to, kit::Numbered{i}).value();
        })
        .value();
  }
  SUBCASE("a thread") {
    for (int i = 0; i < kCount; ++i) test.fixture.node.Send(pool.pid(), kit::Numbered{i}).value();
  }
  outsiders.StopAndJoin();
  REQUIRE(kit::Eventually([&] { return test.handlers->HasAll(); }));
  int misplaced = 0;
  for (int i = 0; i < kCount; ++i) misplaced += test.handlers->IsOf(i, workers[i % kSize]) ? 0 : 1;
  CHECK(misplaced == 0);
  CHECK(pool.EventuallyHandled(kCount));
}

TEST_CASE("rotation: of the messages of many senders each worker gets as many as every other one") {
  constexpr int kSenders = 8;
  constexpr int kEach = kit::Scaled(60'000, 20);
  constexpr int kCount = kSenders * kEach;
  static_assert(kCount % kSize == 0);
  RotationTest test(kCount);
  auto pool = test.StartPool();
  std::vector<kit::ProberHandle> senders;
  for (int s = 0; s < kSenders; ++s) senders.emplace_back(test.fixture.node);
  for (int s = 0; s < kSenders; ++s) {
    senders[s].Start([to = pool.pid(), s](kit::Prober& self) {
      for (int i = 0; i < kEach; ++i) self.Send(to, kit::Numbered{s * kEach + i}).value();
    });
  }
  for (auto& sender : senders) sender.Run([](kit::Prober&) {}).value();
  REQUIRE(kit::Eventually([&] { return test.handlers->HasAll(); }));
  for (const gen::PID worker : pool.Workers()) {
    CHECK(test.handlers->CountOf(worker) == kCount / kSize);
  }
  CHECK(pool.EventuallyHandled(kCount));
}

}  // namespace
}  // namespace ergon::rotation_test
