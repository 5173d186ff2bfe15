#include <ergon/node/observer.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <ergon/gen/blocking.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/envelope_sender.h>
#include <ergon/gen/host/limited_lines.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/inspection_items.h>
#include <ergon/gen/node.h>
#include <ergon/gen/notices.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/node/observer/http/server.h>
#include <ergon/node/observer/http/settings.h>
#include <ergon/node/observer/http/state.h>
#include <ergon/node/observer/views/collector.h>

namespace ergon::node {
namespace {

// Only starts and ends the processes that do the work, so that it can always answer.
class ObserverProcess final : public gen::ProcessBehavior {
 public:
  explicit ObserverProcess(ObserverOptions options) : options_(std::move(options)) {}

  gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args& args) override;
  gen::Status ProcessMessage(core::Envelope& envelope) override;
  gen::Status ProcessStop(const gen::Reason& reason) override;
  void ProcessTerminate(const gen::Reason& reason) override;
  [[nodiscard]] std::string BehaviorName() const override { return "ergon::node::Observer"; }

 private:
  gen::Result<void> Begin();
  void HandleRequest(core::Envelope& envelope);
  void AnswerInspection(core::Envelope& envelope);
  gen::Status HandleEndOfListener(const gen::Reason& reason);
  // Asks all helpers and connections to end.
  void EndAll();

  const ObserverOptions options_;
  gen::ProcessHost* host_ = nullptr;
  std::shared_ptr<ObserverState> state_;
  gen::PID collector_;
  gen::PID listener_;
  std::optional<gen::Reason> stop_reason_;
  gen::LimitedLines unhandled_lines_;
};

gen::Status ObserverProcess::ProcessInit(gen::ProcessHost& host, const gen::Args&) {
  host_ = &host;
  auto begun = Begin();
  if (begun) return gen::Continue();
  if (state_ != nullptr) EndAll();
  return gen::Stop(gen::Reason::Error(std::string(begun.error().detail())));
}

gen::Result<void> ObserverProcess::Begin() {
  gen::Result<ObserverSettings> settings = [&] {
    gen::Blocking blocking;  // the file with the token may be on a disk
    return CheckObserverOptions(options_);
  }();
  if (!settings) return std::move(settings.error());
  state_ = std::make_shared<ObserverState>(std::move(*settings));
  auto socket = Listen(host_->Node(), *state_);
  if (!socket) return std::move(socket.error());
  // A part of the state, which the collector keeps alive.
  std::shared_ptr<const ObserverOptions> options(state_, &state_->settings.options);
  // Whatever the node's mailbox_size: there are not more requests than connections, and each waits its turn.
  auto collector = host_->Spawn(CollectorFactory(std::move(options)),
                                {.mailbox = gen::Mailbox::Unbounded(), .link_parent = true});
  if (!collector) return std::move(collector.error());
  state_->collector = collector_ = *collector;
  auto listener = host_->Spawn(ListenerFactory(state_, std::move(*socket)), {.link_parent = true});
  if (!listener) return std::move(listener.error());
  listener_ = *listener;
  auto monitored = host_->Monitor(listener_);
  if (!monitored) return std::move(monitored.error());
  host_->Log().Info("observed at address {}, port {}{}", options_.address, state_->port,
                    state_->settings.token.empty() ? "" : ", with a token");
  return {};
}

gen::Status ObserverProcess::ProcessMessage(core::Envelope& envelope) {
  switch (static_cast<gen::EnvelopeKind>(envelope.kind)) {
    case gen::EnvelopeKind::kMessage:
      if (const auto more = unhandled_lines_.Take(*host_)) {
        host_->Log().Warning("unhandled message {} from {}{}", gen::Message(envelope).Describe(),
                             gen::SenderOf(envelope), *more);
      }
      break;
    case gen::EnvelopeKind::kRequest:
      HandleRequest(envelope);
      break;
    case gen::EnvelopeKind::kInspect:
      AnswerInspection(envelope);
      break;
    case gen::EnvelopeKind::kDown:
      if (const auto* down = envelope.ValueAs<gen::MessageDownPID>()) {
        return HandleEndOfListener(down->reason);
      }
      break;
    default:
      break;
  }
  return gen::Continue();
}

void ObserverProcess::HandleRequest(core::Envelope& envelope) {
  const gen::PID from = gen::SenderOf(envelope);
  const gen::Ref ref = gen::RefOf(envelope);
  if (envelope.ValueAs<GetObserverAddress>() != nullptr) {
    (void)host_->SendResponse(from, ref, ObserverAddress{options_.address, state_->port});
    return;
  }
  (void)host_->SendResponseError(
      from, ref,
      gen::Error(gen::ErrorCode::kUnsupported, "request " + gen::Message(envelope).Describe()));
}

void ObserverProcess::AnswerInspection(core::Envelope& envelope) {
  const auto count = [this](OpenConnections::Activity activity) {
    return std::to_string(state_->connections.CountOf(activity));
  };
  gen::Inspection all{{"address", options_.address},
                      {"port", std::to_string(state_->port)},
                      {"connections", std::to_string(state_->connections.size())},
                      {"connections_idle", count(OpenConnections::Activity::kWaits)},
                      {"connections_reading", count(OpenConnections::Activity::kReads)},
                      {"connections_writing", count(OpenConnections::Activity::kWrites)}};
  gen::KeepAskedFor(all, envelope.ValueAs<gen::InspectRequest>()->items);
  (void)host_->SendResponse(gen::SenderOf(envelope), gen::RefOf(envelope), std::move(all));
}

// Ends when the listener has: so that its port is free for who comes next.
gen::Status ObserverProcess::ProcessStop(const gen::Reason& reason) {
  if (stop_reason_)
    return gen::Continue();  // once is enough: the ends of helpers come as signals, too
  stop_reason_ = reason;
  EndAll();
  return gen::Continue();
}

gen::Status ObserverProcess::HandleEndOfListener(const gen::Reason& reason) {
  return gen::Stop(stop_reason_ ? *stop_reason_ : reason);
}

void ObserverProcess::ProcessTerminate(const gen::Reason&) {
  EndAll();
  unhandled_lines_.TellRest(*host_, "messages that nobody handles");
}

void ObserverProcess::EndAll() {
  for (const gen::PID connection : state_->connections.Close()) {
    (void)host_->SendExit(connection, gen::Reason::Shutdown());
  }
  for (const gen::PID helper : {listener_, collector_}) {
    if (helper) (void)host_->SendExit(helper, gen::Reason::Shutdown());
  }
}

}  // namespace

gen::ProcessFactory ObserverFactory(ObserverOptions options) {
  return gen::Factory<ObserverProcess>(std::move(options));
}

}  // namespace ergon::node
