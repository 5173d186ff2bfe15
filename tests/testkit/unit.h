// Unit tests of a behaviour: one process, no node, no threads, no time.
//
//   testkit::Unit unit(gen::Factory<Counter>());       // Init has run
//   const gen::PID client = unit.NewPID();
//   unit.Send(client, Add{2});                         // HandleMessage has run
//   CHECK(unit.Call<int>(client, Get{}).value() == 2);
//   unit.ExpectSend<Total>().To(client).Where([](const Total& t) { return t.value == 2; }).Once();
//
// An expectation that does not hold throws ExpectationFailed, which says what there was instead; every test framework
// reports that. The process finds only itself in groups. Use a Simulation for pools, supervisors, processes made of
// functions, names, aliases, stashed and postponed messages, events (what is published is not kept), Node(), and
// several processes: a Spawn returns a PID and starts nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ergon/gen/factory.h>
#include <ergon/gen/messenger.h>
#include <ergon/gen/status.h>
#include <ergon/testkit/expectation_failed.h>
#include <ergon/testkit/unit_host.h>

namespace ergon::testkit {

// Selects messages that were sent, also by Request and Forward, but not by Call (see OnCall); the last function checks
// their number.
template <class T>
class SendExpectation {
 public:
  explicit SendExpectation(const UnitHost& host) : host_(host) {}

  SendExpectation& To(gen::PID pid) {
    to_ = pid;
    return *this;
  }
  SendExpectation& Where(std::function<bool(const T&)> condition) {
    condition_ = std::move(condition);
    return *this;
  }

  void Times(std::size_t times) const {
    const std::size_t found = Count();
    if (found != times) Fail(times, found);
  }
  void Once() const { Times(1); }
  void Never() const { Times(0); }

 private:
  [[nodiscard]] std::size_t Count() const {
    std::size_t count = 0;
    for (const auto& sent : host_.sent) {
      const T* value = sent.envelope->template ValueAs<T>();
      const bool fits =
          value != nullptr && (!to_ || sent.to == *to_) && (!condition_ || condition_(*value));
      if (fits) ++count;
    }
    return count;
  }
  [[noreturn]] void Fail(std::size_t times, std::size_t found) const {
    std::string text = "expected " + core::TypeOf<T>()->Name() + " to be sent" +
                       (to_ ? " to " + to_->ToString() : "") +
                       (condition_ ? " with a condition " : " ") + std::to_string(times) +
                       " times, but it was " + std::to_string(found) + "; sent:";
    for (const auto& sent : host_.sent) {
      text += "\n  " + gen::Message(*sent.envelope).TypeName() + " to " + sent.to.ToString();
    }
    throw ExpectationFailed(text);
  }

  const UnitHost& host_;
  std::optional<gen::PID> to_;
  std::function<bool(const T&)> condition_;
};

class Unit {
 public:
  // Runs Init. `environment`: what the process finds with Env.
  explicit Unit(const gen::ProcessFactory& factory, const gen::Args& args = {},
                gen::Environment environment = {});
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;
  ~Unit();

  [[nodiscard]] gen::PID Self() const { return host_.Self(); }
  // Returns the PID of another process, which is new with each call.
  [[nodiscard]] gen::PID NewPID() { return UnitHost::MakePID(++last_pid_); }
  // Returns why the process has ended; std::nullopt while it lives.
  [[nodiscard]] const std::optional<gen::Reason>& ended() const noexcept { return ended_; }
  // Return what the process has linked to and monitors.
  [[nodiscard]] const std::vector<gen::PID>& links() const noexcept { return host_.links; }
  [[nodiscard]] const std::vector<std::pair<gen::PID, gen::Ref>>& monitors() const noexcept {
    return host_.monitors;
  }

  // -- what happens to it; std::logic_error when it has ended before --

  template <class T>
  void Send(gen::PID from, T&& value) {
    using Stored = gen::StoredType<T>;
    Handle(from, core::MakeEnvelope<Stored>(static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage),
                                            core::Lane::kMain, std::forward<T>(value)));
  }
  // Returns the answer; kProcessTerminated, with the reason, if the process has ended with this request; kTimeout if
  // there is no answer yet: then see Ask. R may be left out as of gen::Messenger::Call.
  template <class R = gen::NamedByRequest, class T>
  [[nodiscard]] gen::Result<gen::AnswerOf<T, R>> Call(gen::PID from, T&& request) {
    return AnswerTo<gen::AnswerOf<T, R>>(Ask(from, std::forward<T>(request)));
  }
  // Makes a request whose answer may come later, as after gen::NoReply.
  template <class T>
  gen::Ref Ask(gen::PID from, T&& request) {
    using Stored = gen::StoredType<T>;
    return Request(
        from, core::MakeEnvelope<Stored>(static_cast<std::uint8_t>(gen::EnvelopeKind::kRequest),
                                         core::Lane::kMain, std::forward<T>(request)));
  }
  // Returns the answer to what was asked so, once; errors as of Call.
  template <class R>
  [[nodiscard]] gen::Result<R> AnswerTo(gen::Ref ref) {
    const core::EnvelopePtr answer = TakeAnswer(ref);
    if (answer == nullptr) return WhyNoAnswer();
    return gen::detail::TakeAnswer<R>(*answer);
  }
  // Notifies the process that a process that it monitors, or is linked to, has ended. Down throws std::logic_error if
  // the process does not monitor `pid`. The end of its parent (Parent()) ends it, for whatever reason, even if it traps
  // exit signals.
  void Down(gen::PID pid, const gen::Reason& reason);
  void Exit(gen::PID pid, const gen::Reason& reason);
  [[nodiscard]] gen::Inspection Inspect(std::vector<std::string> items = {});
  // Lets time pass: what the process has sent to itself with SendAfter arrives, the rest counts as sent, as does what
  // it sends to itself at once. Requests that are open when their time-out is over are answered with kTimeout. At a
  // process that has ended nothing arrives. Throws std::logic_error after ten million arrivals, as of SendEvery without
  // an end.
  void Advance(std::chrono::nanoseconds time);

  // Sets the answer to calls and requests of type T that the process makes from now on: `answer(const T&)` returns the
  // value, a gen::Error or a gen::Result. Requests are answered when the handler has returned.
  template <class T, class Answer>
  void OnCall(Answer answer) {
    host_.answerers.push_back([answer = std::move(answer)](core::Envelope& request) {
      const T* value = request.ValueAs<T>();
      if (value == nullptr) return core::EnvelopePtr();
      return MakeAnswer(answer(*value));
    });
  }

  // Returns the requests (Process::Request) of the process that are not answered yet, the oldest first.
  [[nodiscard]] std::vector<gen::Ref> OpenRequests() const;
  // Answers one of these requests, with the value, a gen::Error or a gen::Result. Throws std::logic_error if the
  // request is not open.
  template <class T>
  void Respond(gen::Ref ref, T&& value) {
    Answer(ref, MakeAnswer(std::forward<T>(value)));
  }

  // -- what it has done --

  template <class T>
  [[nodiscard]] SendExpectation<T> ExpectSend() const {
    return SendExpectation<T>(host_);
  }
  // Throws if anything was sent since the start or the last Forget.
  void ExpectNothingSent() const;
  // Throws unless there is a log line of that level that contains the text.
  void ExpectLog(gen::LogLevel level, std::string_view text) const;
  // Forgets what was sent and logged.
  void Forget();

 private:
  // Makes the answer as a process does: Call distinguishes an error from a value by the envelope's kind, not by its
  // type.
  template <class T>
  static core::EnvelopePtr MakeAnswer(T&& value) {
    if constexpr (std::is_same_v<gen::StoredType<T>, gen::Error>) {
      return gen::detail::MakeErrorResponse(std::forward<T>(value));
    } else {
      return gen::detail::MakeResponse(std::forward<T>(value));
    }
  }
  // Answers the request whose time-out is over first, if that is not later than `until`. Returns false if there is
  // none.
  bool EndLateRequest(std::int64_t until);
  void Handle(gen::PID from, core::EnvelopePtr envelope);
  gen::Ref Request(gen::PID from, core::EnvelopePtr envelope);
  core::EnvelopePtr TakeAnswer(gen::Ref ref);  // null: there is none yet
  [[nodiscard]] gen::Error WhyNoAnswer() const;
  void Answer(gen::Ref ref, core::EnvelopePtr response);
  void AnswerRequests();  // those for which OnCall has an answer
  void Guarded(const std::function<gen::Status()>& function);
  void CheckAlive() const;

  UnitHost host_;
  std::unique_ptr<gen::ProcessBehavior> behavior_;
  std::optional<gen::Reason> ended_;
  bool is_answering_ = false;  // AnswerRequests goes on further up
  std::uint64_t last_pid_ = 100;
};

}  // namespace ergon::testkit
