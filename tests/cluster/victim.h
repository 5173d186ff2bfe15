// The process that attackers (attackers.h) link themselves with, monitor, and make end their links.
#pragma once

#include <ergon/act/actor.h>
#include <ergon/gen/notices.h>

namespace ergon::dist {

// Its name is kVictim. It traps exits, and ends its link with whoever sends to it: that crosses what the sender says meanwhile.
inline constexpr const char* kVictim = "victim";

class Victim : public act::Actor {
  gen::Status Init(const gen::Args&) override {
    SetTrapExit(true);
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (!message.Is<gen::MessageExitPID>()) (void)Unlink(from);
    return gen::Continue();
  }
};

}  // namespace ergon::dist
