// One wait of a process: it begins before any other process learns which id to answer, and is over at the end of its
// scope.
#pragma once

#include <cstdint>

#include <ergon/core/messages/await_state.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/gen/result.h>
#include <ergon/node/process/runner.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {

// In the process's own turn; a process has one at a time.
class PendingWait {
 public:
  explicit PendingWait(ProcessRunner& process) : process_(process) { process.BeginWait(id_); }
  PendingWait(const PendingWait&) = delete;
  PendingWait& operator=(const PendingWait&) = delete;
  ~PendingWait() {
    if (is_open_) Withdraw();
  }

  // Returns the id of the wait, by which it is answered.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

  // Suspends the process until there is an outcome. `deadline` in Clock ns; 0: none. Then `answer` has the answer, if
  // that is the outcome. At most once.
  gen::Result<core::AwaitOutcome> Wait(std::int64_t deadline) {
    core::Envelope* response = nullptr;
    auto outcome = process_.Wait(id_, deadline, response);
    is_open_ = false;  // not before: after an exception the wait has still to be withdrawn
    answer = core::EnvelopePtr(response);
    return outcome;
  }
  // Ends the wait without Wait, because no answer will come. Call it before the process waits for something else.
  void Withdraw() {
    is_open_ = false;
    core::Envelope* response = nullptr;
    (void)process_.await().TakeOutcome(response);
    const core::EnvelopePtr unwanted(response);
  }

  core::EnvelopePtr answer;  // null: none has come

 private:
  ProcessRunner& process_;
  const std::uint64_t id_ = NextUniqueId();
  bool is_open_ = true;
};

}  // namespace ergon::node
