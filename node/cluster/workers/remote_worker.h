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

// The stand-in lives as long as the worker on the other node, which is linked to it: when the worker ends, the stand-in
// ends, and the pool replaces it.
//
// The credit is how many messages the stand-in may send: the free places in the worker's mailbox at the last look, less
// the messages sent since. It asks for another look when half of the credit is used up, and waits for the answer when
// all is. Where nobody can look, as at a pool, each message is confirmed before the next one is sent.
//
// When a worker ends, each request that it has gets an error, and then its link is told. An error that says that the
// worker has ended may also be an answer of the worker itself. Until it is known whether the worker lives, the caller
// does not get such an answer, and the worker gets no more messages. The end does not wait behind the errors
// (gen::NoticeOrder::kInOrder), which would make each of them doubtful: it comes first, and the stand-in ends when all
// that it has asked is answered.
class RemoteWorker final : public gen::ProcessBehavior {
 public:
  RemoteWorker(std::shared_ptr<const RemoteWorkersOptions> options,
               std::shared_ptr<WorkerPlaces> places);

  gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args& args) override;
  gen::Status ProcessMessage(core::Envelope& envelope) override;
  gen::Status ProcessStop(const gen::Reason& reason) override;
  void ProcessTerminate(const gen::Reason& reason) override;

 private:
  // Sends the messages again that wait for room there, or for credit.
  struct RetryTimer {};
  // Looks whether somebody still waits for what the worker was asked.
  struct LookTimer {};
  // Who has made a request that the worker has.
  struct Caller {
    gen::PID from;
    gen::Ref ref;
  };

  // Starts the worker there.
  gen::Result<void> Begin();
  // Asks a worker that has started for credit. Ends the worker, and returns kUnsupported, if its node is none of Ergon.
  gen::Result<void> AskFirst(gen::PID worker);

  void PassMessage(core::Envelope& envelope);
  void PassRequest(core::Envelope& envelope);
  void PassAnswer(core::Envelope& envelope);
  void Respond(const Caller& caller, core::EnvelopePtr response);
  void PassDoubted();
  void ForgetAbandoned();
  // Asks for a look at the mailbox there, and returns the number of the question. Returns kUnsupported if the node there
  // is none of Ergon.
  gen::Result<std::uint64_t> AskForRoom();
  void AskForCredit();
  // The answer to this question, if there is one, is the credit.
  void AwaitCredit(const gen::Result<std::uint64_t>& question);
  // One more is on its way.
  void Given();
  // The answer to the question for credit.
  void TakeCredit(core::Envelope& answer);
  void Pause();
  // The message being handled has reached nobody, and will not.
  void Drop(core::Envelope& envelope, const gen::Error& error);
  void AnswerInspection(core::Envelope& envelope);

  gen::Status HandleExit(core::Envelope& envelope);
  // Ends if the worker has ended and all requests are answered.
  gen::Status EndIfDone();
  // Takes messages, if the worker can take one more.
  void Settle();
  // Returns whether the worker has as many requests as it may have.
  [[nodiscard]] bool IsAskedEnough() const {
    return asked_.size() >= static_cast<std::size_t>(options_->max_in_flight);
  }
  [[nodiscard]] bool IsBeingEnded();
  // Returns whether the parent, the pool, is alive.
  [[nodiscard]] bool HasParent();
  // Orders the worker to stop after all messages that it has. Returns false if that is not possible.
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
  bool will_look_ = false;  // a LookTimer runs
  std::chrono::nanoseconds pause_;
  bool has_dropped_ = false;  // and the log says so
};

}  // namespace ergon::dist
