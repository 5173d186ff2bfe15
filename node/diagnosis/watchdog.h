// A thread that finds turns that take too long, and names them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <ergon/core/dispatcher.h>
#include <ergon/core/messages/envelope_pool.h>
#include <ergon/gen/log.h>
#include <ergon/gen/node_info.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/diagnosis/inspection.h>

namespace ergon::node {

// Returns a text as in "<demo@localhost.12.1> 'accounts' Account has been in a handler of Audit for 2.104 s". `process`
// is AsInItsLines.
[[nodiscard]] std::string Describe(std::string_view process, const gen::BusyProcess& busy);

// Compares what each worker runs now with what it ran a moment ago. The workers only count their turns for it.
//
// As no message waits for its thread, that thread has the node's reserve of memory for backlogs, too. It is awake while
// a worker is, and until the reserve is empty; then it sleeps until the dispatcher calls it.
class Watchdog {
 public:
  // All must outlive the watchdog. The dispatcher must not be started yet, and runs nothing but ProcessSlots.
  Watchdog(const Addresses& addresses, const Inspection& inspection, gen::LogSink& log,
           core::Dispatcher& dispatcher, std::chrono::nanoseconds after);
  ~Watchdog() { Stop(); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Starts the thread, when the dispatcher has been started.
  void Start();
  // Ends the thread; may be called again.
  void Stop();
  // Returns the turns that are too long now, the longest first. Any thread.
  [[nodiscard]] std::vector<gen::BusyProcess> Busy() const;

 private:
  // A worker's turn, as it was seen.
  struct Seen {
    std::uint64_t number = 0;
    std::int64_t since = 0;  // when it was seen first
    bool reported = false;
    bool running = false;  // at the last look
    gen::BusyProcess report;
    std::string process;  // AsInItsLines, when it was reported
  };

  void Run();
  void Look();
  void LookAtAll(std::int64_t now);
  void LookAt(Seen& seen, const core::RunningTurn& turn, std::int64_t now);
  void Report(Seen& seen, const core::RunningTurn& turn, std::int64_t now);
  void ReportEnd(Seen& seen, std::int64_t now);

  const Addresses& addresses_;
  const Inspection& inspection_;
  const gen::Log log_;
  core::Dispatcher& dispatcher_;
  core::EnvelopeReserve reserve_;        // open while the thread is awake
  const std::int64_t after_;             // ns
  const std::int64_t period_;            // ns between two looks
  std::atomic<std::uint32_t> calls_{0};  // futex: the dispatcher's and Stop's
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;        // guards seen_
  std::vector<Seen> seen_;          // by worker
  std::vector<std::string> lines_;  // to be logged; the thread's
  std::thread thread_;
};

}  // namespace ergon::node
