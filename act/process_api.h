// The functions of gen::Process that behaviours offer to their handlers as members of their own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ergon/gen/host/limited_lines.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/process_behavior.h>

namespace ergon::act {

// Base of all behaviours. The contract of each function, with its errors, is that of gen::Process and gen::Messenger.
// The functions are for the process's own handlers, from Init to Terminate. In a constructor there is no process yet,
// and they throw std::logic_error. On another thread, such as a std::thread that a handler has started, those that
// return a Result (but OneOf) return kNotAllowed; of the others some work and some end the program: see gen::Process.
// Such a thread uses the node (Node().Send, Node().Call, ...), or sends the process a message that says what to do.
class ProcessApi : public gen::ProcessBehavior {
 protected:
  // Returns this process, for functions that take one, such as gen::Parallel and dist::Rpc.
  [[nodiscard]] gen::Process& Process() const { return Host(); }

  // -- sending --

  template <class T>
  gen::Result<void> Send(gen::PID to, T&& value) {
    return Host().Send(to, std::forward<T>(value));
  }
  template <class T>
  gen::Result<void> Send(const gen::Target& to, T&& value) {
    return Host().Send(to, std::forward<T>(value));
  }
  template <class T>
  gen::Result<void> SendWithPriority(const gen::Target& to, T&& value,
                                     gen::MessagePriority priority) {
    return Host().SendWithPriority(to, std::forward<T>(value), priority);
  }
  template <class T>
  gen::Result<gen::TimerHandle> SendAfter(const gen::Target& to, T&& value,
                                          std::chrono::nanoseconds delay,
                                          std::optional<gen::MessagePriority> priority = {}) {
    return Host().SendAfter(to, std::forward<T>(value), delay, priority);
  }
  template <class T>
  gen::Result<gen::TimerHandle> SendEvery(const gen::Target& to, T&& value,
                                          std::chrono::nanoseconds period,
                                          std::optional<gen::MessagePriority> priority = {}) {
    return Host().SendEvery(to, std::forward<T>(value), period, priority);
  }
  template <class T>
  gen::Result<void> SendImportant(const gen::Target& to, T&& value) {
    return Host().SendImportant(to, std::forward<T>(value));
  }
  template <class T>
  gen::Result<void> SendTraced(const gen::Target& to, T&& value, gen::TraceId trace) {
    return Host().SendTraced(to, std::forward<T>(value), trace);
  }
  template <class T>
  gen::Result<void> SendOrWait(const gen::Target& to, T&& value, std::chrono::nanoseconds timeout) {
    return Host().SendOrWait(to, std::forward<T>(value), timeout);
  }
  gen::Result<void> SendExit(const gen::Target& to, gen::Reason reason);

  // -- calling --

  template <class R = gen::NamedByRequest, class T>
  gen::Result<gen::AnswerOf<T, R>> Call(const gen::Target& to, T&& request,
                                        const gen::CallOptions& options = {}) {
    return Host().template Call<R>(to, std::forward<T>(request), options);
  }
  template <class R = gen::NamedByRequest, class T>
  gen::Result<gen::AnswerOf<T, R>> Call(const gen::Target& to, T&& request,
                                        gen::detail::BarePriority auto priority) {
    return Host().template Call<R>(to, std::forward<T>(request), priority);
  }
  template <class R = gen::NamedByRequest, class T>
  gen::Result<gen::AnswerOf<T, R>> CallWithPriority(const gen::Target& to, T&& request,
                                                    gen::MessagePriority priority) {
    return Host().template CallWithPriority<R>(to, std::forward<T>(request), priority);
  }
  template <class R = gen::NamedByRequest, class T>
  gen::Result<gen::AnswerOf<T, R>> CallImportant(const gen::Target& to, T&& request,
                                                 const gen::CallOptions& options = {}) {
    return Host().template CallImportant<R>(to, std::forward<T>(request), options);
  }
  // Sends a request and does not wait. The answer comes to HandleResponse, with the ref returned here.
  template <class T>
  gen::Result<gen::Ref> Request(const gen::Target& to, T&& request,
                                const gen::CallOptions& options = {}) {
    return Host().Request(to, std::forward<T>(request), options);
  }
  gen::Result<gen::Inspection> Inspect(const gen::Target& to, std::vector<std::string> items = {},
                                       const gen::CallOptions& options = {});
  template <class T>
  gen::Result<T> InspectAs(const gen::Target& to, const gen::CallOptions& options = {}) {
    return Host().template InspectAs<T>(to, options);
  }
  template <class T>
  gen::Result<void> SendResponse(gen::PID from, gen::Ref ref, T&& value) {
    return Host().SendResponse(from, ref, std::forward<T>(value));
  }
  gen::Result<void> SendResponseError(gen::PID from, gen::Ref ref, gen::Error error);

  // -- stashing --

  // Stashes the message or request being handled until UnstashAll; then the handler is called with it again. A request
  // is not answered now: return NoReply(). If this process ends, its stashed messages are dropped, or its pool gives
  // them to another worker. Returns false if the stash holds ProcessOptions::stash_size messages already; then this
  // message is dropped and counted, `message` is empty, and the caller of a request gets an error. Throws
  // std::logic_error if `message` is not the one being handled, or has been answered or forwarded, or if its value has
  // been taken, as by a function of gen::Match that takes it by value.
  bool Stash(gen::Message& message);
  // Returns the stashed messages to the front of the mailbox, oldest first; in one ordered by priority each goes before
  // its equals. They may exceed the bound of the mailbox. Returns how many.
  std::size_t UnstashAll();

  // -- passing on --

  // Passes the message or request being handled on to another process, which sees the original sender and answers a
  // request. `message` is empty afterwards. After an error `message` is as before. Errors besides those of Send:
  //   kNotAllowed   it has been forwarded, taken or answered; or it is a notice or an exit signal
  //   kUnsupported  the request has come from another node and can go only to processes of this node
  gen::Result<void> Forward(const gen::Target& to, gen::Message& message);
  // Does what Forward does, as the result of HandleCall: `return Delegate(worker, request)`. An error goes
  // to the caller. A deadlock of calls that leads through a request passed on like this may go undetected.
  [[nodiscard]] gen::CallResult Delegate(const gen::Target& to, gen::Message& request);
  // Hands an open request over to the process `to`, which has been given its `from` and `ref` in a message and will
  // answer it with SendResponse. From now on `to` holds the request: this process may end, and the caller still waits.
  // If `to` ends without an answer, the caller gets an error at once; without HandOver it does when this process ends,
  // whoever has the ref. The request is the one being handled, or one that its handler has left open (gen::NoReply); a
  // worker of a pool holds those that the pool has given it. Errors besides those of Send, which change nothing:
  //   kResponseIgnored  the request has been answered, or its caller has given up
  //   kNotAllowed       this process does not hold the request
  gen::Result<void> HandOver(const gen::Target& to, gen::PID from, gen::Ref ref);

  // -- processes and names --

  gen::Result<gen::PID> Spawn(const gen::ProcessFactory& factory,
                              const gen::ProcessOptions& options = {}, const gen::Args& args = {});
  gen::Result<gen::PID> SpawnRegister(gen::Atom name, const gen::ProcessFactory& factory,
                                      const gen::ProcessOptions& options = {},
                                      const gen::Args& args = {});
  template <class Function>  // include <ergon/gen/task.h>
  auto Async(Function&& function) {
    return Host().Async(std::forward<Function>(function));
  }
  gen::Result<void> RegisterName(gen::Atom name);
  gen::Result<void> UnregisterName();
  gen::Result<gen::Alias> CreateAlias();
  gen::Result<void> DeleteAlias(gen::Alias alias);

  // -- links, monitors, events --

  gen::Result<void> Link(const gen::Target& to, const gen::LinkOptions& options = {});
  gen::Result<void> Unlink(const gen::Target& to);
  gen::Result<gen::Ref> Monitor(const gen::Target& to, const gen::MonitorOptions& options = {});
  gen::Result<void> Demonitor(gen::Ref ref);

  gen::Result<gen::Ref> RegisterEvent(gen::Atom name, const gen::EventOptions& options = {});
  gen::Result<void> UnregisterEvent(gen::Atom name);
  template <class T>
  gen::Result<std::size_t> SendEvent(gen::Atom name, gen::Ref token, T&& value) {
    return Host().SendEvent(name, token, std::forward<T>(value));
  }
  gen::Result<std::vector<gen::MessageEvent>> MonitorEvent(const gen::Event& event);
  gen::Result<void> DemonitorEvent(const gen::Event& event);
  gen::Result<std::vector<gen::MessageEvent>> LinkEvent(const gen::Event& event);
  gen::Result<void> UnlinkEvent(const gen::Event& event);

  // -- groups --

  gen::Result<void> JoinGroup(gen::Atom group);
  gen::Result<void> LeaveGroup(gen::Atom group);
  gen::Result<std::vector<gen::PID>> MonitorGroup(gen::Atom group);
  gen::Result<void> DemonitorGroup(gen::Atom group);
  [[nodiscard]] std::vector<gen::Atom> Groups() const { return Host().Groups(); }
  [[nodiscard]] std::vector<gen::PID> GroupMembers(gen::Atom group) const;
  [[nodiscard]] gen::Result<gen::PID> OneOf(gen::Atom group);
  template <class T>
  gen::Result<std::size_t> SendToGroup(gen::Atom group, T&& value) {
    return Host().SendToGroup(group, std::forward<T>(value));
  }
  template <class T>
  gen::Result<gen::PID> SendToOneOf(gen::Atom group, T&& value) {
    return Host().SendToOneOf(group, std::forward<T>(value));
  }

  // -- environment --

  template <class T = std::string>
  [[nodiscard]] std::optional<T> Env(std::string_view name) const {
    return Host().template Env<T>(name);
  }
  [[nodiscard]] gen::Environment EnvList() const;
  void SetEnv(std::string_view name, gen::AnyValue value);

  // -- this process --

  // Virtual because a pool always traps the exit signals of its workers, whatever its user sets.
  virtual void SetTrapExit(bool trap) { Host().SetTrapExit(trap); }
  [[nodiscard]] virtual bool TrapExit() const { return Host().TrapExit(); }
  void SetSendPriority(gen::MessagePriority priority) { Host().SetSendPriority(priority); }
  void SetTrace(gen::TraceId trace) { Host().SetTrace(trace); }
  [[nodiscard]] gen::TraceId Trace() const { return Host().Trace(); }
  void SetImportantDelivery(bool important) { Host().SetImportantDelivery(important); }
  [[nodiscard]] bool ImportantDelivery() const { return Host().ImportantDelivery(); }
  void SetLogLevel(gen::LogLevel level) { Host().SetLogLevel(level); }
  [[nodiscard]] gen::LogLevel LogLevel() const { return Host().LogLevel(); }
  [[nodiscard]] gen::MessagePriority SendPriority() const { return Host().SendPriority(); }

  bool Sleep(std::chrono::nanoseconds duration) { return Host().Sleep(duration); }
  void Yield() { Host().Yield(); }

  [[nodiscard]] gen::PID Self() const { return Host().Self(); }
  [[nodiscard]] gen::Atom Name() const { return Host().Name(); }
  [[nodiscard]] gen::PID Parent() const { return Host().Parent(); }
  [[nodiscard]] gen::PID Leader() const { return Host().Leader(); }
  [[nodiscard]] gen::Node& Node() const { return Host().Node(); }
  [[nodiscard]] gen::Log Log() const { return Host().Log(); }
  [[nodiscard]] gen::Ref MakeRef() { return Host().MakeRef(); }
  [[nodiscard]] std::int64_t Now() const { return Host().Now(); }

  // -- for those who write behaviours --

  // Throws std::logic_error before SetHost.
  [[nodiscard]] gen::ProcessHost& Host() const {
    if (host_ == nullptr) [[unlikely]]
      ThrowNotStarted();
    return *host_;
  }
  [[nodiscard]] bool HasHost() const noexcept { return host_ != nullptr; }
  // Sets the host. A behaviour calls this first in its ProcessInit.
  void SetHost(gen::ProcessHost& host) noexcept { host_ = &host; }
  // The lines of the log about messages that no handler takes; see message_loop.h.
  [[nodiscard]] gen::LimitedLines& UnhandledLines() noexcept { return unhandled_lines_; }

 private:
  [[noreturn]] static void ThrowNotStarted();

  gen::ProcessHost* host_ = nullptr;
  gen::LimitedLines unhandled_lines_;
};

}  // namespace ergon::act
