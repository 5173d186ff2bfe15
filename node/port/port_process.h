// The process behind node::Port.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ergon/gen/host/limited_lines.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/node/port/delivery_to_owner.h>
#include <ergon/node/port/input_pipe.h>
#include <ergon/node/port/options.h>
#include <ergon/node/port/program.h>

namespace ergon::node {

// Writes the input itself, suspended while the pipe is full, so that what was sent later waits in its own mailbox. All
// other work that takes time is done by helpers, which are linked to it: no message of its own is in any process's way,
// or missing in the counters, when it is killed. It traps no exit signals: a helper that fails asks it to stop, with
// the helper's reason.
class PortProcess final : public gen::ProcessBehavior {
 public:
  explicit PortProcess(PortOptions options)
      : program_(std::make_shared<Program>(std::move(options))) {}

  ~PortProcess() override;

  gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args& args) override;
  gen::Status ProcessMessage(core::Envelope& envelope) override;
  gen::Status ProcessStop(const gen::Reason& reason) override;
  void ProcessTerminate(const gen::Reason& reason) override;
  [[nodiscard]] std::string BehaviorName() const override;

 private:
  // A message: the program's time to end is up.
  struct ShutdownTimeout {};
  // A message: the owner, which had no room for PortExit, may have some now.
  struct TryAgain {};
  // A message: the owner has had its time to make room.
  struct GiveUp {};

  gen::Result<void> FindOwner();
  gen::Result<void> Begin();
  // Starts a helper, and returns its PID.
  gen::Result<gen::PID> Help(const gen::ProcessFactory& helper);

  void HandleMessage(core::Envelope& envelope);
  void HandleRequest(core::Envelope& envelope);
  gen::Status HandleEndOf(gen::PID helper, const gen::Reason& reason);
  void AnswerInspection(core::Envelope& envelope);
  gen::Status Kill();
  // Tells the owner of the program's end, and ends: at once, or as soon as the owner has room.
  gen::Status Finish(PortExit exit);
  gen::Status TellExit();
  gen::Status TellExitOrGiveUp();
  // Bounds the time that TellExit may take, from a stop on.
  void BoundTellExit();

  const std::shared_ptr<Program> program_;
  gen::ProcessHost* host_ = nullptr;
  gen::PID owner_;  // the empty PID: it has no owner
  std::optional<InputPipe> input_;
  gen::PID owner_watch_;
  gen::PID program_watch_;
  std::vector<gen::PID> readers_;  // that have not ended
  bool has_ended_ = false;         // the program, as the end of program_watch_ has shown
  bool gives_up_ = false;          // the program takes no signal, and goes on
  bool is_told_ = false;           // the owner
  bool input_failed_ = false;
  std::optional<gen::Reason> stop_reason_;
  std::optional<PortExit> exit_;  // for the owner; from then on nothing else matters
  std::chrono::nanoseconds pause_ = DeliveryToOwner::kShortest;
  gen::LimitedLines unhandled_lines_;
};

}  // namespace ergon::node
