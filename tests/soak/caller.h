// Calls whose outcomes are checked and counted.
#pragma once

#include <chrono>
#include <memory>

#include <ergon/gen/messenger.h>
#include <ergon/gen/node.h>

#include <soak/messages.h>
#include <soak/stage.h>

namespace ergon::soak {

// One call, with an outcome that is counted. From a process, or a thread outside of processes.
gen::Result<Answer> Ask(Stage& stage, gen::Messenger& messenger, Book& book, const gen::Target& to,
                        const IncarnationPtr& incarnation, const Errand& errand,
                        std::chrono::nanoseconds timeout);

// The same without waiting, outside of processes.
void AskLater(Stage& stage, gen::Node& node, Book& book, gen::PID to,
              const IncarnationPtr& incarnation, const Errand& errand,
              std::chrono::nanoseconds timeout);

// One message; false if it was refused.
bool SendParcel(gen::Messenger& messenger, Book& book, const gen::Target& to,
                const IncarnationPtr& incarnation, const Errand& errand);

}  // namespace ergon::soak
