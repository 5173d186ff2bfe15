// What runs a process: its beginning, its turns, its waits, its end. All of it belongs to the thread with the right to
// run the process, unless it says otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/core/dispatcher.h>
#include <ergon/core/foundations/signal_text.h>
#include <ergon/core/time/wait_timer.h>
#include <ergon/core/turns/fiber.h>
#include <ergon/gen/blocking.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/log.h>
#include <ergon/gen/mutex.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/process/current_process.h>
#include <ergon/node/process/outgoing_marks.h>
#include <ergon/node/process/rooms.h>
#include <ergon/node/process/transition.h>
#include <ergon/node/process/turn_bits.h>
#include <ergon/node/process/turn_budget.h>
#include <ergon/node/process_state/slot.h>
#include <ergon/node/spawning/spawn_request.h>

namespace ergon::node {
struct KeptMailbox;  // see Open

class ProcessRunner : public ProcessSlot {
 public:
  // A core::OverflowReport that names the process whose turn runs on this thread.
  static void ReportOverflow(core::SignalText& text, std::size_t stack_bytes);
  static const gen::BlockingRuntime& BlockingCalls();  // what gen::Blocking calls

  // Any thread.
  [[nodiscard]] gen::PID Self() const;
  [[nodiscard]] gen::PID Parent() const;
  [[nodiscard]] gen::Atom Name() const;
  // Returns the PID, the behaviour and the type of what the process handles. In its own turns.
  [[nodiscard]] std::string InHandler() const;
  [[nodiscard]] gen::Log Lines() const { return gen::Log(Extras().log); }
  [[nodiscard]] bool IsOf(const gen::Node& node) const noexcept { return &rooms_.node == &node; }

  // -- core::Schedulable, ProcessSlot --
  core::TurnEnd RunTurn() override;
  gen::Result<void> Open(const SpawnRequest& request,
                         std::unique_ptr<gen::ProcessBehavior> behavior) override;
  void Abandon() override;
  void AnswerAfterInit(std::uint64_t id) override { GetTransition().ref = id; }
  [[nodiscard]] gen::LogLevel LineLevel() const override;
  void WriteLine(gen::LogLevel level, std::string_view text) const override;
  // -- waiting, also for AsyncOperation --
  // Returns whether a signal that ends the process is there, or, `heeds_stops`, a stop: it would end a wait.
  [[nodiscard]] bool MustEndWait(bool heeds_stops);
  // What ends a wait before its outcome, besides its time-out.
  enum class Interruption : std::uint8_t {
    kSignals,       // those that end the process
    kSignalsStops,  // being asked to stop, too
    kNothing,
  };
  void BeginWait(std::uint64_t id) {  // first allocates what a wait needs, or throws
    if (!CanWait(ExtrasIfAny())) MakeWaitTimer();
    await_.Begin(id);
  }
  // Waits for the outcome of a wait that has begun. `deadline` in Clock ns; 0: none.
  gen::Result<core::AwaitOutcome> Wait(std::uint64_t id, std::int64_t deadline,
                                       core::Envelope*& response,
                                       Interruption interruption = Interruption::kSignals) {
    interruption_ = interruption;
    return unusual_ ? WaitUnusually(id, deadline, response) : WaitOnce(id, deadline, response);
  }
  // Throws std::logic_error if a gen::Mutex is held.
  void CheckMaySuspend(const char* function) const {
    if (gen::detail::HeldMutexes() != 0) throw std::logic_error(HeldMutexText(function));
  }
  [[nodiscard]] const Rooms& rooms() const noexcept { return rooms_; }

 protected:
  ProcessRunner(const Rooms& rooms, std::uint32_t index) : ProcessSlot(index), rooms_(rooms) {}
  ~ProcessRunner() = default;
  virtual void UseMarks(gen::MessagePriority priority) noexcept = 0;  // it has no trace yet
  virtual void UseTrace(bool has_trace) noexcept = 0;
  [[nodiscard]] virtual gen::ProcessHost& Host() noexcept = 0;  // as its behaviour sees it

  // -- for the functions of gen::Process --
  gen::Result<gen::PID> MakeChild(const SpawnRequest& request);  // in a turn of this process
  [[nodiscard]] bool IsInOwnTurn() const noexcept { return IsCurrentProcess(this); }
  // Returns kNotAllowed, with the name of the function that was called outside of this process's turns.
  [[nodiscard, gnu::cold]] gen::Error NotInOwnTurn(const char* function) const;
  // Ends the program outside of this process's turns, for functions that return no error.
  void MustBeInOwnTurn(const char* function) const {
    if (!IsInOwnTurn()) EndForMisuse(function);
  }
  void BeginTrace(gen::TraceId trace);  // until the next message is handled
  // Lets others run, after a message was sent, if this turn has sent enough.
  void MaybeYield() {
    if (yield_on_send_ && sends_ > kMaxSendsPerTurn && gen::detail::HeldMutexes() == 0) GiveWay();
  }
  void GiveWay();
  void HeedParents();  // in Init: what ends a process inside of whose turn Init runs ends this one
  // Returns whether a signal that ends the process is there, or it has ended. Notes whether there is an inspection.
  [[nodiscard]] bool IsInterrupted() {
    is_asked_ = false;
    return IsKilled() ||
           (mailbox_.MayHaveUrgent() && (mailbox_.IsClosed() || WaitingEnd() != nullptr));
  }
  [[nodiscard]] const core::Envelope* WaitingEnd();  // the first such signal
  // Returns whether the envelope being handled waits for an answer that was not sent yet.
  [[nodiscard]] bool IsOpenQuestion() const noexcept;
  void NoteOpenRequest(const core::Envelope& envelope);
  // Takes an envelope away from the mailbox. A tick that is stashed does not keep the timer's next tick from coming.
  [[nodiscard]] core::EnvelopePtr DetachHeld(core::Envelope& envelope);
  void Hold(std::int64_t messages);  // the behaviour holds so many more
  // Counts so many more of the behaviour's own envelopes in Main. Release: before the mailbox shows them.
  void CountOwnInMain(std::int64_t envelopes);
  [[nodiscard]] std::vector<core::EnvelopePtr> TakeStash();
  void ReportProgress();
  void HoldMainLane(bool hold) noexcept;  // while true, what waits there stays there

  // Bytes are rare: these are the end of a word that the slot begins. Bits are what no plain message looks at.
  bool answered_ = false;   // current_ is a request and has its answer
  bool must_begin_ = true;  // Init, or ProcessRun after that, is to be called next
  Taking taking_;
  bool started_ : 1 = false;         // Init has succeeded
  bool others_begin_ : 1 = false;    // with requests of the Main lane
  bool current_failed_ : 1 = false;  // the handler of current_ threw
  bool yielded_ : 1 = false;         // parked_ waits for its next turn, for nothing else
  bool announce_ : 1 = false;        // the parent gets MessageStarted
  bool unusual_ : 1 = true;          // in how it waits: see WaitUnusually
  bool is_asked_ : 1 = false;        // an inspection has to be answered before it waits on
  std::uint8_t due_ = 0;             // kTimeIsDue and so on
  Interruption interruption_ = Interruption::kSignals;
  const Rooms& rooms_;
  std::uint32_t sends_ = 0;  // in this turn
  OutgoingMarks marks_;
  TurnPace pace_;
  bool yield_on_send_ : 1 = false;
  bool hold_main_ : 1 = false;
  std::uint8_t last_look_ : 3 = 0;     // of WaitingEnd
  core::Envelope* current_ = nullptr;  // being handled; null when it was detached
  core::Fiber* parked_ = nullptr;      // of its suspended turn

 private:
  friend class Measuring;
  friend class Receiving;
  // A turn ends after the handler with which it exceeds so many sends, because more would fill the caches.
  static constexpr std::uint32_t kMaxSendsPerTurn = 64;
  // -- beginning.cc --
  [[nodiscard]] Transition& GetTransition();
  // The steps of Open: all that the process needs but its behaviour; forgetting the former one; inheriting.
  gen::Result<void> Equip(const SpawnRequest& request, KeptMailbox& mailbox);
  void ForgetFormer() noexcept;
  void Inherit(const SpawnRequest& request);
  void OpenMailbox(const gen::ProcessOptions& options, KeptMailbox& mailbox);
  // Runs Init, on any stack. Returns false if the process has ended; `failure` is the error for its parent.
  bool RunInit(gen::Error& failure);
  bool RunInitInline(gen::Error& failure);  // in the parent's turn; then it is scheduled or idle
  [[nodiscard]] std::int64_t InitDeadline() const noexcept;  // Clock ns
  [[nodiscard]] bool ReportStarted();  // false: the parent has not waited so long
  void ReportFailedInit(const gen::Reason& reason);
  // -- turn.cc --
  core::TurnEnd RunMessages(std::int64_t now);
  [[gnu::noinline]] core::TurnEnd Begin();
  [[gnu::noinline]] core::TurnEnd ResumeParked();
  void RunFunction();
  [[gnu::noinline, gnu::cold]] core::TurnEnd FinishInTurn();
  [[nodiscard]] bool IsPlain(const core::Envelope& envelope,
                             std::uint32_t generation) const noexcept;
  // Return whether the envelope is to be released. If not, it is somebody else's now, or Finish needs it.
  bool HandlePlain(core::Envelope& envelope);
  bool HandleEnvelope(core::Envelope& envelope);
  [[nodiscard]] bool IsChange(core::Envelope& envelope) const noexcept;  // see change.cc
  void HandleChange(core::Envelope& envelope);
  bool HandleByKind(core::Envelope& envelope);
  bool PutInOrder(core::Envelope& notice);  // true: it is the mailbox's again, see notice_order.cc
  bool HandleMessage(core::Envelope& envelope);  // false: its timer was cancelled
  bool HandleRequest(core::Envelope& envelope);  // false: it has expired
  // Returns whether a handler may begin with a request or an inspection; false: the caller is told that its time is up.
  [[nodiscard]] bool MayBegin(const core::Envelope& request);
  [[gnu::cold]] void Expire(core::Envelope& request, bool withdrawn);  // counts and notes it
  [[nodiscard]] bool HandleExit(const core::Envelope& envelope);  // true: the behaviour gets it
  [[nodiscard]] bool HandleDown(const core::Envelope& envelope);  // likewise
  void TakeInheritance(core::Envelope& envelope);
  void SetSuspended(core::Envelope& envelope);
  void TakeOverRequest(const core::Envelope& notice);
  void DoDuty(gen::WorkerDuty duty, std::int64_t began);  // worker_duty.cc
  [[gnu::cold]] void EndTurn(bool is_done);
  void NotePace(bool goes_idle);  // of a pool's worker
  bool GiveToBehavior(core::Envelope& envelope);
  void CountGiven() noexcept;
  void CountExpired();
  std::int64_t NoteTime(std::int64_t now);  // once in a turn and after each wait; coarse
  [[gnu::cold]] void DoWhatIsDue();
  [[nodiscard]] bool IsKilled() const noexcept { return end_requests_.IsKilled(Generation()); }
  [[nodiscard]] bool MustEnd() const noexcept { return taking_.IsEnding() || IsKilled(); }
  void NoteStatus(const gen::Status& status);
  void AskToStop(const gen::Reason& reason);
  void NoteThrown();  // inside of a catch (...), as PanicReason
  bool EndsByInterruption();
  [[nodiscard]] gen::Reason PanicReason() const;
  // -- taking.cc --
  core::Envelope* TakeNext();     // made, if it was not
  core::Envelope* NextUnusual();  // unless taking_.IsUsual(), when it is mailbox_.Pop()
  core::Envelope* NextInQueue();
  bool PutStopLast(core::Envelope& stop);  // false: it must be heeded now
  [[nodiscard]] bool IsAskedToStop() const noexcept;
  [[nodiscard]] bool TakesMain() const { return !taking_.IsMainHeld() || TakesHeldMain(); }
  [[nodiscard]] bool TakesHeldMain() const;
  void NoteWhetherMainIsOpen() noexcept;
  // -- wait.cc --
  gen::Result<core::AwaitOutcome> WaitOnce(std::uint64_t id, std::int64_t deadline,
                                           core::Envelope*& response);
  // Waits in Init, whose time-out kills the process; or with calls that are measured.
  gen::Result<core::AwaitOutcome> WaitUnusually(std::uint64_t id, std::int64_t deadline,
                                                core::Envelope*& response);
  // Returns true when the parked fiber must be resumed, false when the right to run was given up. Needs that right.
  bool SettleParked();
  void AnswerInspections();
  struct ParkedWait;
  static void ParkHook(void* context, core::Fiber& fiber, core::Fiber& to);
  static void YieldHook(void* context, core::Fiber& fiber, core::Fiber& to);
  bool ParkReady(decltype(&ParkHook) hook);  // it waits for a thread alone
  [[gnu::cold]] void MakeWaitTimer();
  // -- blocking.cc --
  bool BeginBlocking() noexcept;
  void EndBlocking() noexcept;
  static void LendHook(void* context, core::Fiber& fiber, core::Fiber& to);
  static void ReturnHook(void* context, core::Fiber& fiber, core::Fiber& to);
  // -- end.cc --
  void Finish(const gen::Reason& reason);
  void RunTerminate(const gen::Reason& reason);
  void AnswerOpenQuestions(ProcessCold& cold, const gen::Reason& reason);  // but for the last one
  // Closes the mailbox. Moves what is stashed, and what a queue of its own or a pool still has, to `waiting`.
  core::Mailbox::Rest CloseMailbox(std::vector<core::EnvelopePtr>& waiting);
  void ReleaseFeatures(ProcessCold& cold, const gen::Reason& reason);
  // Sorts what a closed mailbox still held: the heir gets a part, and the rest is dropped.
  void LeaveRest(core::Mailbox::Rest& rest, gen::MessageInheritance inheritance);
  // Returns an envelope that was on its way when the slot's former process ended to its pool, or drops it.
  void DisposeLate(core::EnvelopePtr envelope);
  // -- misuse.cc --
  [[noreturn, gnu::cold]] void EndForMisuse(const char* function) const;
  [[nodiscard, gnu::cold]] std::string HeldMutexText(const char* function) const;
  std::unique_ptr<Transition> transition_;  // null: nothing special
};

}  // namespace ergon::node
