// The processes that attackers (attackers.h) link themselves with, monitor, make end their links, and make send to
// others.
#pragma once

#include <ergon/act/actor.h>
#include <ergon/gen/notices.h>

namespace ergon::dist {

// Its name is kVictim. It traps exits, and ends its link with whoever sends to it: that crosses what the sender says
// meanwhile.
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

// Its name is kLured. It sends to each node whose name it is told.
inline constexpr const char* kLured = "lured";

class Lured : public act::Actor {
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const auto* const node = message.As<gen::Atom>();
    if (node == nullptr) return Actor::HandleMessage(from, message);
    (void)Send(gen::ProcessID{"anybody", *node}, *node);
    return gen::Continue();
  }
};

}  // namespace ergon::dist
