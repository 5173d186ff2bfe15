// What a unit of Type=notify with a watchdog has to tell systemd (sd_notify(3)). Without systemd nobody is told.
#pragma once

#include <chrono>
#include <string>

#include <ergon/act/actor.h>

namespace price_service {

// The last child of the root: when it starts, all others have; it ends before them, and stays when they are restarted.
class Systemd : public ergon::act::Actor {
  struct LookAfterThem {};  // to itself, again and again

  ergon::gen::Status Init(const ergon::gen::Args& args) override;
  ergon::gen::Status HandleMessage(ergon::gen::PID from, ergon::gen::Message& message) override;
  void Terminate(const ergon::gen::Reason& reason) override;

  void Notify(const std::string& state);

  std::chrono::microseconds watchdog_{0};  // systemd wants to hear of us so often; 0: it does not
};

}  // namespace price_service
