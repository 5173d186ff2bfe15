// The process behind node::ObserverFactory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <ergon/gen/host/process_host.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/node/observer/options.h>
#include <ergon/node/observer/state.h>

namespace ergon::node {

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
};

}  // namespace ergon::node
