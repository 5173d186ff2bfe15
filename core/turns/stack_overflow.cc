#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>

#include <sys/mman.h>
#include <unistd.h>

#include <ergon/core/turns/fiber.h>
#include <ergon/core/turns/fiber_annotations.h>
#include <ergon/core/turns/stack_overflow.h>

namespace ergon::core {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS};
// Also for handlers of the program, which run here too.
constexpr std::size_t kAlternateBytes = 64 * 1024;

using Action = struct sigaction;

void ReportTurn(SignalText& text, std::size_t stack_bytes) {
  text << "a turn: its stack of " << stack_bytes / 1024
       << " KiB overflowed; see DispatcherOptions::fiber_stack_bytes";
}

std::atomic<OverflowReport> g_report{&ReportTurn};
// Set before the handler is installed.
std::atomic<const Fiber* (*)() noexcept> g_current_fiber{nullptr};
// The handlers that had the signals before. Written before the handler is installed.
Action g_former[2] = {};

void PassOn(int signal, siginfo_t* info, void* context) {
  const Action& former = g_former[signal == kSignals[0] ? 0 : 1];
  const bool was_sent = info->si_code <= 0;  // by a process, and not by an instruction
  const bool has_info = (former.sa_flags & SA_SIGINFO) != 0;
  const bool is_default = !has_info && former.sa_handler == SIG_DFL;
  const bool is_ignored = !has_info && former.sa_handler == SIG_IGN;
  if (is_ignored && was_sent) return;
  if (is_default || is_ignored) {
    // The instruction is tried again, and its fault ends the program: where it stands, not here.
    Action action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
    if (was_sent) raise(signal);
    return;
  }
  if ((former.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    Action action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
  }
  if (has_info) {
    former.sa_sigaction(signal, info, context);
  } else {
    former.sa_handler(signal);
  }
}

void OnFault(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const Fiber* const fiber = g_current_fiber.load(std::memory_order_relaxed)();
  if (info->si_code > 0 && fiber != nullptr && fiber->IsInGuard(info->si_addr)) {
    SignalText text;
    text << "ergon: ";
    g_report.load(std::memory_order_relaxed)(text, fiber->stack_bytes());
    text.WriteLine(STDERR_FILENO);
  }
  errno = error;
  PassOn(signal, info, context);
}

void Install() {
  for (int i = 0; i < 2; ++i) {
    if (sigaction(kSignals[i], nullptr, &g_former[i]) != 0) continue;
    Action action = {};
    action.sa_sigaction = &OnFault;
    action.sa_mask = g_former[i].sa_mask;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | (g_former[i].sa_flags & (SA_NODEFER | SA_RESTART));
    sigaction(kSignals[i], &action, nullptr);
  }
}

// A thread's stack for signal handlers, unless it has one.
class AlternateStack {
 public:
  AlternateStack() {
    stack_t present = {};
    if (sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
    void* const memory = mmap(nullptr, kAlternateBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t own = {};
    own.ss_sp = memory;
    own.ss_size = kAlternateBytes;
    if (sigaltstack(&own, nullptr) == 0) {
      memory_ = memory;
    } else {
      munmap(memory, kAlternateBytes);
    }
  }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;
  ~AlternateStack() {
    if (memory_ == nullptr) return;
    stack_t present = {};
    const bool is_own = sigaltstack(nullptr, &present) == 0 && present.ss_sp == memory_;
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    if (is_own && sigaltstack(&none, nullptr) != 0) return;  // in use: it stays
    munmap(memory_, kAlternateBytes);
  }

 private:
  void* memory_ = nullptr;
};

}  // namespace

void WatchStackOverflows(const Fiber* (*current_fiber)() noexcept) {
  static const bool kSanitized = sanitizers::Present();
  if (kSanitized) return;
  const Fiber* (*none)() noexcept = nullptr;
  (void)g_current_fiber.compare_exchange_strong(none, current_fiber, std::memory_order_relaxed);
  static std::once_flag installed;
  std::call_once(installed, &Install);
  static thread_local const AlternateStack kStack;
}

void SetOverflowReport(OverflowReport report) { g_report.store(report, std::memory_order_relaxed); }

}  // namespace ergon::core
