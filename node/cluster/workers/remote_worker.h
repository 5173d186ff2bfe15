// A worker of a pool that stands for one on another node; see remote_workers.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ergon/gen/error.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/ref.h>
#include <ergon/node/cluster/workers/options.h>
#include <ergon/node/cluster/workers/worker_places.h>

namespace ergon::dist {

// It lives as long as the worker there, which is linked to it: its end is that one's, and the pool replaces it.
//
// How much it may give to the worker is its credit: the places that the mailbox there had at the last look, less what it
// has sent since. It asks for another look when half of them are used up, and waits for the answer when all are. Where
// nobody can look, as at a pool, each message is confirmed before the next one.
//
// The end of a worker is told to each request that it has, and to its link, one after the other. So an error that says
// that it has ended is doubted: the worker may have answered with it. Until it is known whether that lives, nobody gets
// the answer, and nothing more is given to the worker.
class RemoteWorker final : public gen::ProcessBehavior {
 public:
  RemoteWorker(std::shared_ptr<const RemoteWorkersOptions> options,
               std::shared_ptr<WorkerPlaces> places);

  gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args& args) override;
  gen::Status ProcessMessage(core::Envelope& envelope) override;
  gen::Status ProcessStop(const gen::Reason& reason) override;
  void ProcessTerminate(const gen::Reason& reason) override;

 private:
  // What waits for room there, or for a credit, is tried again.
  struct RetryTimer {};
  // Who has made a request that the worker has.
  struct Caller {
    gen::PID from;
    gen::Ref ref;
  };

  // Starts the worker there.
  gen::Result<void> Begin();

  void PassMessage(core::Envelope& envelope);
  void PassRequest(core::Envelope& envelope);
  void PassAnswer(core::Envelope& envelope);
  void Respond(const Caller& caller, core::EnvelopePtr response);
  void PassDoubted();
  // Asks for a look at the mailbox there, and returns the number of the question; 0: it cannot.
  std::uint64_t AskForRoom();
  void AskForCredit();
  // One more is on its way.
  void Given();
  // The answer to the question for credit.
  void TakeCredit(core::Envelope& answer);
  // Tries to pass the message being handled on again, after a pause.
  void Retry(core::Envelope& envelope);
  void Pause();
  // The message being handled has reached nobody, nor will.
  void Drop(core::Envelope& envelope, const gen::Error& error);
  void AnswerInspection(core::Envelope& envelope);

  gen::Status HandleExit(core::Envelope& envelope);
  // Ends when the worker has, and all is answered.
  gen::Status EndIfDone();
  // Takes messages, if the worker can take one more.
  void Settle();
  [[nodiscard]] bool IsBeingEnded();
  // Whether the parent, for which it works, is there.
  [[nodiscard]] bool HasParent();
  // Orders the worker to stop behind all that it has. False: that cannot be.
  bool AskToStop(const gen::Reason& reason);
  // Asks whether the worker lives.
  void AskAboutDoubted();

  const std::shared_ptr<const RemoteWorkersOptions> options_;
  const std::shared_ptr<WorkerPlaces> places_;
  gen::ProcessHost* host_ = nullptr;
  std::optional<WorkerPlaces::Place> place_;
  gen::PID worker_;                   // nobody: it has ended
  std::optional<gen::Reason> ended_;  // why
  bool stops_ = false;                // it was asked to
  // By the ref of the request there.
  std::unordered_map<std::uint64_t, Caller> asked_;
  // Answers.
  std::vector<std::pair<Caller, core::EnvelopePtr>> doubted_;
  std::uint64_t doubt_ = 0;             // the question whether the worker lives; 0: none is open
  bool may_look_ = true;                // false: nobody can look into the mailbox there
  std::optional<std::int64_t> credit_;  // null: not known
  std::uint64_t credit_question_ = 0;   // 0: none is open
  std::int64_t given_since_ = 0;        // that question
  bool waits_for_room_ = false;
  std::chrono::nanoseconds pause_;
  bool has_dropped_ = false;  // and the log says so
};

}  // namespace ergon::dist
