// A function or a behaviour that another node has asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ergon/gen/pid.h>
#include <ergon/gen/trace.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/exports/remote_places.h>
#include <ergon/node/erlang/exports.h>
#include <ergon/node/erlang/term.h>

namespace ergon::dist {

struct RemoteJob {
  explicit RemoteJob(RemotePlaces& all) : places(all) {}
  RemoteJob(const RemoteJob&) = delete;
  RemoteJob& operator=(const RemoteJob&) = delete;
  ~RemoteJob() {
    EndOfWait();
    End();
  }

  // Returns whether somebody waits for the outcome of a function.
  [[nodiscard]] bool IsCall() const { return !tag.empty() || is_request; }
  // Gives its place back: the function has run, however that ended, or will never run.
  void End() {
    if (std::exchange(has_place, false)) places.Return(number);
  }

  // Note that a function waits to be run, or a behaviour to be started, and that it does not wait any more; see
  // BeginningFunctions.
  void Wait() {
    is_waiting = true;
    connection->NoteBeginning();
  }
  void EndOfWait() {
    if (std::exchange(is_waiting, false)) connection->NoteBegun();
  }

  RemotePlaces& places;
  std::shared_ptr<Connection> connection;
  std::uint64_t number = 0;  // of the caller's monitor
  gen::PID caller;
  std::string reference;  // raw, of the request and of the monitor
  std::uint8_t links = 0;
  gen::TraceId trace = 0;      // of the request
  std::string tag;             // of a call by erpc, raw
  PeerState::Request request;  // of a call by a request
  bool is_request = false;
  const detail::RemoteFunction* function = nullptr;
  const detail::RemoteBehavior* behavior = nullptr;
  std::vector<Term> arguments;
  bool is_for_ergon = false;  // which waits until the Init is done
  gen::PID process;           // of a behaviour, once there is one
  bool has_place = false;
  bool is_waiting = false;
};
using RemoteJobPtr = std::shared_ptr<RemoteJob>;

}  // namespace ergon::dist
