// A user's program that is instrumented, beside a library that is not: nothing may be reported. Switches
// of fibers, exceptions on both sides of them, frames that are abandoned, and threads that change.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/gen/blocking.h>
#include <ergon/node/node.h>

namespace {

using namespace ergon;                 // NOLINT(google-build-using-namespace)
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

struct Square {
  int value = 0;
};
struct Work {
  std::unique_ptr<std::string> text;  // on the heap, from one thread to another
};

// Fills a frame of its own, whose surroundings ASan watches.
[[gnu::noinline]] std::size_t Fill(char letter) {
  char frame[200];
  std::memset(frame, letter, sizeof frame - 1);
  frame[sizeof frame - 1] = '\0';
  return std::strlen(frame);
}

class Squares : public act::Pool {
  class Worker : public act::Actor {
    gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
      auto* square = request.As<Square>();
      if (square == nullptr) return Actor::HandleCall(from, ref, request);
      Fill('w');
      try {
        throw std::invalid_argument("caught here");
      } catch (const std::invalid_argument&) {
        Yield();
        Fill('x');
      }
      return gen::Reply(square->value * square->value);
    }
  };
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 4, .worker_factory = gen::Factory<Worker>()};
  }
};

class User : public act::Actor {
 public:
  explicit User(gen::PID pool) : pool_(pool) {}

 private:
  // NOLINTNEXTLINE(misc-no-recursion)
  [[gnu::noinline]] std::size_t SleepAndThrow(int depth) {
    char frame[300];
    std::memset(frame, 'x', sizeof frame);
    if (depth == 0) {
      (void)Sleep(1ms);
      throw std::runtime_error("after a sleep");
    }
    return SleepAndThrow(depth - 1) + static_cast<std::size_t>(frame[depth]);
  }

  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    auto* work = request.As<Work>();
    std::size_t sum = work->text->size() + Fill('a');
    for (int i = 0; i < 5; ++i) {
      try {
        sum += SleepAndThrow(10);
      } catch (const std::runtime_error&) {
        (void)Sleep(1ms);  // with an exception in hand
        sum += Fill('b');
      }
      const auto answer = Call<int>(pool_, Square{i});
      sum += answer ? static_cast<std::size_t>(*answer) : 0;
      {
        const gen::Blocking blocking;
        sum += Fill('c');
      }
      Yield();
    }
    if (*work->text == "throw") throw std::runtime_error("asked to");
    return gen::Reply(sum);
  }

  gen::PID pool_;
};

int Main() {
  auto node = node::Start("user@localhost", {.log_level = gen::LogLevel::kOff}).value();
  const gen::PID pool = node.Spawn(gen::Factory<Squares>()).value();
  std::vector<gen::PID> users;
  for (int i = 0; i < 20; ++i) users.push_back(node.Spawn(gen::Factory<User>(pool)).value());
  std::size_t answers = 0;
  for (const char* text : {"one", "two", "throw"}) {
    std::vector<std::future<gen::Result<std::size_t>>> open;
    for (const gen::PID user : users) {
      open.push_back(node.CallAsync<std::size_t>(user, Work{std::make_unique<std::string>(text)},
                                                 {.timeout = 60s}));
    }
    for (auto& future : open) answers += future.get() ? 1 : 0;
  }
  node.Stop();
  std::printf("%zu answers\n", answers);
  return answers == 40 ? 0 : 1;
}

}  // namespace

int main() { return Main(); }
