// Does the explorer find what it is for? Each fault is sown, found, and gone when it is corrected.
#include "shim.h"

namespace ergon::model {
namespace {

using core::CpuPause;
using core::FutexWait;
using core::FutexWake;
using core::SpinLock;

// Each says "I am here" and then looks for the other: both must not miss each other.
template <std::memory_order kStoreOrder>
class Dekker : public Model {
 public:
  void Run(int thread) override {
    here_[thread].store(true, kStoreOrder);
    missed_[thread] = !here_[1 - thread].load(std::memory_order_seq_cst);
  }
  void Finish() override { Check(!missed_[0] || !missed_[1], "both missed each other"); }

 private:
  std::atomic<bool> here_[2]{};
  bool missed_[2]{};
};

TEST_CASE("model: the explorer finds Dekker's pattern without seq_cst stores") {
  const Result relaxed = Explore<Dekker<std::memory_order_relaxed>>({.name = "dekker-relaxed"});
  CHECK(relaxed.failure.find("both missed each other") != std::string::npos);
  CHECK(relaxed.failure.find("ERGON_MODEL_REPLAY='dekker-relaxed:") != std::string::npos);
  const Result release = Explore<Dekker<std::memory_order_release>>({.name = "dekker-release"});
  CHECK(release.failure.find("both missed each other") != std::string::npos);
  const Result buffered = Explore<Dekker<std::memory_order_release>>(
      {.name = "dekker-without-buffers", .store_buffers = false});
  CHECK(buffered.failure == "");
  const Result right = Explore<Dekker<std::memory_order_seq_cst>>({.name = "dekker"});
  CHECK(right.failure == "");
  CHECK(right.complete);
  CHECK(right.executions >= 3);
}

template <bool kAtomic, int kThreads = 3>
class Counter : public Model {
 public:
  void Run(int) override {
    if (kAtomic) {
      counter_.fetch_add(1, std::memory_order_relaxed);
    } else {
      counter_.store(counter_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  }
  void Finish() override { Check(counter_.load() == kThreads, "an increment is lost"); }

 private:
  std::atomic<int> counter_{0};
};

TEST_CASE("model: the explorer finds a lost increment") {
  Options options{.name = "increment-in-two-steps", .threads = 3};
  CHECK(Explore<Counter<false>>(options).failure.find("is lost") != std::string::npos);
  options.detours = 1;
  CHECK(Explore<Counter<false>>(options).failure.find("is lost") != std::string::npos);
  options.detours = 0;
  options.store_buffers = false;
  const Result uninterrupted = Explore<Counter<false>>(options);
  CHECK(uninterrupted.failure == "");
  CHECK(uninterrupted.executions == 1);
  const Result right = Explore<Counter<true>>({.name = "increment", .threads = 3});
  CHECK(right.failure == "");
  CHECK(right.executions == 6);
}

TEST_CASE(
    "model: orders chosen by chance find a lost increment among sixteen threads, again and again") {
  const Options options{.name = "increment-by-chance", .threads = 16, .seeds = 30};
  using InTwoSteps = Counter<false, 16>;
  const Result lost = Explore<InTwoSteps>(options);
  CHECK(lost.failure.find("is lost") != std::string::npos);
  CHECK(Explore<InTwoSteps>(options).failure == lost.failure);
  const std::string sign = "ERGON_MODEL_REPLAY='";
  const std::size_t begin = lost.failure.rfind(sign) + sign.size();
  const std::string schedule = lost.failure.substr(begin, lost.failure.size() - begin - 1);
  CHECK(schedule.find_first_of("ABCDEF") != std::string::npos);
  REQUIRE(setenv("ERGON_MODEL_REPLAY", schedule.c_str(), 1) == 0);
  const Result replayed = Explore<InTwoSteps>({.name = "increment-by-chance", .threads = 16});
  unsetenv("ERGON_MODEL_REPLAY");
  CHECK(replayed.failure == lost.failure);
  const Result right = Explore<Counter<true, 16>>(options);
  CHECK(right.failure == "");
  CHECK(right.complete);
  CHECK(right.executions == 30);
}

// A sleeper that must be woken, and a waker who wakes only if it sees that somebody sleeps.
template <bool kLookAgain>
class WakeUp : public Model {
 public:
  void Run(int thread) override {
    if (thread == 0) {
      sleeps_.store(1);
      // Without this look the word may have been set before, by somebody who saw no sleeper.
      if (kLookAgain && ready_.load()) return;
      FutexWait(sleeps_, 1);
    } else {
      ready_.store(true);
      if (sleeps_.load() != 1) return;
      sleeps_.store(0);
      FutexWake(sleeps_, 1);
    }
  }

 private:
  std::atomic<std::uint32_t> sleeps_{0};
  std::atomic<bool> ready_{false};
};

TEST_CASE("model: the explorer finds a lost wake-up") {
  const Result lost = Explore<WakeUp<false>>({.name = "wake-up-lost"});
  CHECK(lost.failure.find("lost wake-up") != std::string::npos);
  const Result right = Explore<WakeUp<true>>({.name = "wake-up"});
  CHECK(right.failure == "");
  CHECK(right.complete);
}

template <std::memory_order kStoreOrder, std::memory_order kLoadOrder>
class Publication : public Model {
 public:
  void Run(int thread) override {
    if (thread == 0) {
      data_.Write(42);
      ready_.store(true, kStoreOrder);
    } else if (ready_.load(kLoadOrder)) {
      Check(data_.Read() == 42, "wrong data");
    }
  }

 private:
  std::atomic<bool> ready_{false};
  Plain<int> data_{0};
};

TEST_CASE("model: the explorer finds a missing release and a missing acquire") {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  constexpr auto kRelease = std::memory_order_release;
  constexpr auto kAcquire = std::memory_order_acquire;
  const std::string race = "reads plain data that another thread may be writing";
  const Options options{.name = "publication"};
  CHECK(Explore<Publication<kRelaxed, kAcquire>>(options).failure.find(race) != std::string::npos);
  CHECK(Explore<Publication<kRelease, kRelaxed>>(options).failure.find(race) != std::string::npos);
  const Result right = Explore<Publication<kRelease, kAcquire>>(options);
  CHECK(right.failure == "");
  CHECK(right.executions == 2);
}

class TwoLocks : public Model {
 public:
  void Run(int thread) override {
    std::lock_guard first(locks_[thread]);
    std::lock_guard second(locks_[1 - thread]);
  }

 private:
  SpinLock locks_[2];
};

TEST_CASE("model: the explorer finds a deadlock, of spinning threads too") {
  for (const bool locks_block : {true, false}) {
    const Result result = Explore<TwoLocks>({.name = "two-locks", .locks_block = locks_block});
    CHECK(result.failure.find("a deadlock") != std::string::npos);
  }
}

class Endless : public Model {
 public:
  void Run(int) override {
    while (word_.exchange(true) || true) {
    }
  }

 private:
  std::atomic<std::uint32_t> word_{0};
};

TEST_CASE("model: the explorer finds threads that run for ever") {
  CHECK(Explore<Endless>({.name = "endless"}).failure.find("runs for ever") != std::string::npos);
}

// The other thread destroys the word as soon as it has seen it, which is too early.
class Destruction : public Model {
 public:
  Destruction() { word_.emplace(0); }
  void Run(int thread) override {
    if (thread == 0) {
      word_->store(1, std::memory_order_release);
      (void)word_->load(std::memory_order_relaxed);
    } else if (word_->load(std::memory_order_acquire) == 1) {
      word_.reset();
    }
  }

 private:
  std::optional<std::atomic<int>> word_;
};

TEST_CASE("model: the explorer finds the use of a destroyed atomic") {
  const Result result = Explore<Destruction>({.name = "destruction"});
  CHECK(result.failure.find("destroy") != std::string::npos);
}

// All a program of loads, stores and exchanges can end with, with and without leaving out
// executions that are the same as others.
class Mixture : public Model {
 public:
  static inline std::set<std::array<int, 6>>* outcomes;

  void Run(int thread) override {
    switch (thread) {
      case 0:
        x_.store(1, std::memory_order_release);
        seen_[0] = y_.load();
        seen_[1] = x_.load();
        break;
      case 1:
        y_.store(1, std::memory_order_relaxed);
        seen_[2] = x_.exchange(2);
        seen_[3] = y_.load();
        break;
      default:
        seen_[4] = x_.load();
        y_.store(2, std::memory_order_relaxed);
        seen_[5] = x_.load();
    }
  }
  void Finish() override { outcomes->insert(seen_); }

 private:
  std::atomic<int> x_{0};
  std::atomic<int> y_{0};
  std::array<int, 6> seen_{};
};

TEST_CASE("model: leaving out equal executions loses no outcome") {
  for (const bool store_buffers : {false, true}) {
    std::set<std::array<int, 6>> all;
    std::set<std::array<int, 6>> found;
    Options options{.name = "mixture", .threads = 3, .store_buffers = store_buffers};
    Mixture::outcomes = &found;
    const Result reduced = Explore<Mixture>(options);
    options.reduce = false;
    Mixture::outcomes = &all;
    const Result complete = Explore<Mixture>(options);
    CHECK(reduced.complete);
    CHECK(complete.complete);
    CHECK(found == all);
    CHECK(all.size() > 20);
    CHECK(complete.executions > 10 * reduced.executions);
  }
}

// Waits by a spin lock, in the abridged and in the real form.
class Section : public Model {
 public:
  void Run(int) override {
    std::lock_guard guard(lock_);
    inside_.Write(inside_.Read() + 1);
  }
  void Finish() override { Check(inside_.Read() == 2, "two were inside at once"); }

 private:
  SpinLock lock_;
  Plain<int> inside_{0};
};

TEST_CASE("model: spin locks exclude, and waiting for them may be abridged") {
  const Result abridged = Explore<Section>({.name = "section"});
  CHECK(abridged.failure == "");
  CHECK(abridged.executions >= 2);
  const Result real = Explore<Section>({.name = "section-spinning", .locks_block = false});
  CHECK(real.failure == "");
  CHECK(real.complete);
  CHECK(real.executions > abridged.executions);
}

}  // namespace
}  // namespace ergon::model
