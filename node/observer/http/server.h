// The listener of an observer, and its connections: HTTP in straight-line code, each connection a process.
#pragma once

#include <memory>

#include <ergon/gen/factory.h>
#include <ergon/gen/node.h>
#include <ergon/gen/result.h>
#include <ergon/node/observer/http/state.h>

namespace ergon::node {

struct ListenSocket;  // closed with the last reference

// Opens the socket and sets the state's port. Returns kIncorrect if that fails; the text names address, port and the
// reason.
[[nodiscard]] gen::Result<std::shared_ptr<ListenSocket>> Listen(gen::Node& node,
                                                                ObserverState& state);

// A process that accepts connections until it is asked to end. If it cannot wait for them, because no memory is left
// for a stack, it ends with an error that says so. Connections are not linked with it: the end of a connection ends
// nothing else, and the observer's process ends those in ObserverState::connections.
[[nodiscard]] gen::ProcessFactory ListenerFactory(std::shared_ptr<ObserverState> state,
                                                  std::shared_ptr<ListenSocket> socket);

}  // namespace ergon::node
