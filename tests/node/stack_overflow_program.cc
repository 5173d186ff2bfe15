// Ends by a signal, in the way that its argument says: for stack_overflow_test.cc.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <sys/resource.h>
#include <unistd.h>

#include <ergon/act/actor.h>
#include <ergon/gen/blocking.h>
#include <ergon/node/node.h>

namespace overflow {

int UseLargeFrame(int depth);  // stack_overflow_large_frames.cc

using namespace ergon;  // NOLINT(google-build-using-namespace)

struct Dive {};
struct Ask {};

// NOLINTNEXTLINE(misc-no-recursion): that is the point
[[gnu::noinline]] int Recurse(int depth, const volatile char* outer) {
  volatile char frame[512];
  frame[0] = outer == nullptr ? '\0' : outer[0];
  const int below = depth == 0 ? 0 : Recurse(depth - 1, frame);
  return below + frame[0];
}

// Deeper than any stack.
[[gnu::noinline]] void UseUpTheStack() { std::printf("%d\n", Recurse(1'000'000'000, nullptr)); }

// A frame of 60 KiB, which is written at its far end only, at the end of the stack.
// NOLINTNEXTLINE(misc-no-recursion)
[[gnu::noinline]] int RecurseInLargeSteps(int depth) {
  volatile char frame[60 * 1024];
  frame[0] = static_cast<char>(depth);
  return depth == 0 ? 0 : RecurseInLargeSteps(depth - 1) + frame[0];
}

[[gnu::noinline]] void Fault() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

class Echo : public act::Actor {
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override { return gen::Reply(1); }
};

class Deep : public act::Actor {
 public:
  explicit Deep(const std::string& way) : way_(way) {}

 private:
  gen::Status Init(const gen::Args&) override {
    if (way_ == "init") UseUpTheStack();
    if (way_ == "child") (void)Spawn(gen::Factory<Deep>("init"));
    return gen::Continue();
  }

  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    if (way_ == "null") Fault();
    if (way_ == "sent") (void)raise(SIGSEGV);
    if (way_ == "large") std::printf("%d\n", RecurseInLargeSteps(1'000'000));
    if (way_ == "larger") _exit(UseLargeFrame(1));
    if (way_ == "terminate") return gen::Stop(gen::Reason::Normal());
    if (way_ == "call") {
      const gen::PID echo = Spawn(gen::Factory<Echo>()).value();
      for (int i = 0; i < 100; ++i) (void)Call<int>(echo, Ask{});
    }
    if (way_ == "blocking") {
      const gen::Blocking blocking;
      UseUpTheStack();
    }
    UseUpTheStack();
    return gen::Continue();
  }

  void Terminate(const gen::Reason&) override { UseUpTheStack(); }

  const std::string way_;
};

[[noreturn]] void Own(int, siginfo_t* info, void*) {
  constexpr char kText[] = "own handler\n";
  (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(info->si_addr == nullptr ? 8 : 7);
}

int Main(std::string_view way) {
  const rlimit none{};
  (void)setrlimit(RLIMIT_CORE, &none);
  if (way == "own" || way == "own-null") {
    struct sigaction action = {};
    action.sa_sigaction = &Own;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    way = way == "own" ? "message" : "null";
  }
  auto node = node::Start("overflow@localhost").value();
  const gen::ProcessOptions options{.detached = way == "detached"};
  const auto deep = node.Spawn(gen::Factory<Deep>(std::string(way)), options);
  if (deep) (void)node.Send(*deep, Dive{});
  (void)node.WaitProcess(*deep, std::chrono::seconds(20));
  return 0;
}

}  // namespace overflow

int main(int count, char** words) { return overflow::Main(count > 1 ? words[1] : "message"); }
