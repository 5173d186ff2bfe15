// Requests whose answer is any term.
#pragma once

#include <string>

#include <ergon/node/erlang/term.h>

namespace ergon::dist {

// The request is sent as the term that it holds. The answer stays a term, whatever form it has.
struct TermRequest {
  using Reply = Term;
  Term term;
  bool is_system = false;  // as those of Erlang's module sys, else as those of gen_server
};

// The request is sent as a spawn_request. The answer is the PID, when the Init of the process is done, or at once if
// the process is one of Erlang.
struct RemoteSpawn {
  using Reply = Term;
  std::string module;
  std::string function;
  Term arguments;  // a list
  // The node of the process links it with the caller from its beginning: if the connection is lost, or the caller ends,
  // before the caller has linked itself, the process ends, too.
  bool links = false;
  // The monitor that goes with each request stays a monitor of the caller: the answer is {Pid, Reference}.
  bool monitors = false;
};

// The request is sent to another Ergon node as ErgonMessage::Kind::kRoom.
struct RoomQuestion {
  using Reply = Term;
};

}  // namespace ergon::dist
