// Many processes behind one address that behave like one: a serializer lets one request at a time
// into a service and keeps the others, first come first served, until the service has answered.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <ergon/core/messages/type_descriptor.h>
#include <ergon/gen/factory.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/messenger.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/gen/process_options.h>

namespace ergon::act {

// A value out of range makes the spawn fail with a text that names the field and the value.
struct SerializerOptions {
  // How many messages and requests of normal priority may wait, 1..4,000,000; 0: as many as the options of the spawn,
  // of the pool of which it is a worker, or of the node say. When as many wait, a send or a call returns
  // ErrProcessMailboxFull at once. A mailbox with an order of its own or that drops (ProcessOptions::mailbox) has a
  // bound of its own instead.
  int max_waiting = 0;
  // How long a request may be inside the service, more than 0. After that its caller gets kTimeout, a late
  // answer is ignored, and the next request is let in. For services that may forget to answer.
  std::chrono::nanoseconds service_timeout = gen::kInfinite;
  // How long the service may handle the messages that it has been passed when the serializer is asked to end;
  // 0: not at all. An order to end after its queue (Node::StopProcess) waits its turn: until then service_timeout
  // bounds how long each request is inside. An exit signal does not wait: if a request is inside, the serializer and
  // the service end at once.
  std::chrono::nanoseconds shutdown_timeout = std::chrono::seconds(5);
  // How the service is spawned. It is linked with the serializer in any case.
  gen::ProcessOptions service_options = {};

  // Returns an empty text, or what is wrong, as in "max_waiting: -1 is outside 0..4000000".
  [[nodiscard]] std::string Validate() const;
};

// A service that talks to others before it answers a request is open to the next request meanwhile. A group of
// processes that share an invariant must not be. Behind a serializer they need not care:
//
//   gen::PID bank = node.Spawn(act::Serializer::Of(gen::Factory<Bank>())).value();
//   auto left = node.Call<int>(bank, Transfer{.amount = 10});
//
// The service is a child of the serializer, made by the factory, with the arguments of the spawn.
// Only the serializer knows the PID of the service, so no message bypasses it, unless the service gives away its PID.
//
//   requests      of normal priority enter one at a time, in the order of their arrival. The next
//                 one enters when the service has answered: at once, later (gen::NoReply), or through
//                 another process that the service has given `from` and `ref`. In the service `from` is
//                 the serializer: the answer comes back here and goes on to the caller.
//   messages      of normal priority keep their sender and their place among the requests. There is
//                 no answer to wait for: the next in line follows at once, and the service handles
//                 it afterwards.
//   high and max  priority go to the service at once, past the line, with their sender. An Inspect
//                 does not wait either; the serializer itself answers it, see below.
//   callers       whose time is up while they wait are skipped. A request that is inside stays
//                 inside until it is answered, whether its caller still waits or not.
//   answers       are told apart by their ref. A ref belongs to one request, is never repeated and
//                 cannot be guessed from other refs, so only a process that was given the ref can
//                 end its request.
//   the end       of the service, for whatever reason, ends the serializer with the same reason, so
//                 that a supervisor starts both anew. All callers get kProcessTerminated with the
//                 reason, at once. A serializer that is asked to end after its queue
//                 (Node::StopProcess) lets in what has come before, and then waits for the service. An
//                 exit signal while a request is inside ends the serializer and its service at once.
//
// The service must not Call its own serializer: the serializer would wait for the service.
//
// Inspect answers
//   state              running, stopping
//   service            the PID of the service
//   service_behavior   class name
//   inside             1: a request is inside; 0: none
//   inside_us          for how long, in microseconds; 0: no request is inside
//   waiting            messages of normal priority in line
//   max_waiting        0: see SerializerOptions
//   requests_answered  by the service, also with errors; and those that it has skipped, because their time was up there
//   requests_expired   skipped here, because their callers had given up
//   requests_refused   not let in, because the service has a bound of its own or has ended
//   service_timeouts   not answered within service_timeout
//   messages_passed    passed on to the service without waiting for an answer
//   messages_dropped   not taken by the service; counted in Node::Info with their reason
class Serializer final : public gen::ProcessBehavior {
 public:
  // Returns a factory that makes serializers, each with a service of its own.
  [[nodiscard]] static gen::ProcessFactory Of(gen::ProcessFactory service,
                                              SerializerOptions options = {});

  Serializer(gen::ProcessFactory service, SerializerOptions options);

 private:
  struct ShutdownTimer {};
  // The request that the service works on.
  struct Inside {
    gen::PID from;  // the caller
    gen::Ref ref;
    std::uint64_t entered_as;          // its ref on the way to the service
    std::int64_t since;                // Clock ns
    const core::TypeDescriptor* type;  // of the request
    // The request, if the service had ended already and its exit signal is on the way; else null.
    core::EnvelopePtr unsent;
  };

  gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args& args) override;
  gen::Status ProcessMessage(core::Envelope& envelope) override;
  gen::Status ProcessStop(const gen::Reason& reason) override;
  void ProcessTerminate(const gen::Reason& reason) override;

  void Enter(core::Envelope& envelope);
  void Leave(core::Envelope& envelope);
  void Pass(core::Envelope& envelope);
  [[nodiscard]] gen::Status OnExit(const core::Envelope& envelope);
  [[nodiscard]] gen::Status OnDown(const core::Envelope& envelope);
  [[nodiscard]] gen::Inspection Inspect(const std::vector<std::string>& items) const;

  const gen::ProcessFactory factory_;
  const SerializerOptions options_;
  gen::ProcessHost* host_ = nullptr;
  gen::PID service_;
  // While a request is inside, the Main lane is held: the line is the mailbox itself, with its bound, its
  // order, and its rules for callers that have given up.
  std::optional<Inside> inside_;
  bool stopping_ = false;
  gen::Reason stop_reason_;
  gen::TimerHandle shutdown_timer_;

  std::uint64_t requests_answered_ = 0;
  std::uint64_t requests_refused_ = 0;
  std::uint64_t service_timeouts_ = 0;
  std::uint64_t messages_passed_ = 0;
  std::uint64_t messages_dropped_ = 0;
};

}  // namespace ergon::act
