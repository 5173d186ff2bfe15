#include <ergon/node/io/signals_at_fork.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <iterator>

#include <pthread.h>
#include <unistd.h>
#include <asio/signal_set.hpp>

namespace ergon::node {
namespace {

std::atomic<std::uint64_t> caught{0};  // a bit for each
sigset_t mask_before;                  // guarded by Asio's lock

// What Asio knows of signals, once for the program. Asio has no function for a program that does not know when it forks:
// notify_fork has to be called before that, while no thread runs the io_context.
asio::detail::signal_state& State() { return *asio::detail::get_signal_state(); }

bool IsCaught(int signal) {
  return (caught.load(std::memory_order_relaxed) >> static_cast<unsigned>(signal) & 1) != 0;
}

template <class Function>
void ForEachCaught(Function function) {
  for (int signal = 1; signal < 64; ++signal) {
    if (IsCaught(signal)) function(signal);
  }
}

void BeforeFork() {
  State().mutex_.lock();
  // A signal to the child shall wait until the child has its own dispositions.
  sigset_t signals;
  sigemptyset(&signals);
  ForEachCaught([&](int signal) { sigaddset(&signals, signal); });
  (void)pthread_sigmask(SIG_BLOCK, &signals, &mask_before);
}

void AfterFork() {
  const sigset_t mask = mask_before;
  State().mutex_.unlock();
  (void)pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

// Only what is safe in a handler of a signal.
void AfterForkInChild() {
  auto& state = State();
  // Else the program has told Asio of the fork, and will tell it that this is the child.
  if (!state.fork_prepared_) {
    for (int* const end : {&state.read_descriptor_, &state.write_descriptor_}) {
      if (*end >= 0) (void)close(*end);
      *end = -1;
    }
    // As if nobody had ever caught any: the sets of the parent's nodes are not used here any more.
    state.service_list_ = nullptr;
    for (std::size_t& count : state.registration_count_) count = 0;
    ForEachCaught([](int signal) { (void)std::signal(signal, SIG_DFL); });
    caught.store(0, std::memory_order_relaxed);
  }
  AfterFork();
}

}  // namespace

void LeaveToForks(std::span<const int> signals) {
  for (const int signal : signals)
    caught.fetch_or(std::uint64_t{1} << static_cast<unsigned>(signal), std::memory_order_relaxed);
  [[maybe_unused]] static const int kDone =
      pthread_atfork(&BeforeFork, &AfterFork, &AfterForkInChild);
}

}  // namespace ergon::node
