// Requests whose answer is any term.
#pragma once

#include <string>

#include <ergon/node/erlang/term.h>

namespace ergon::dist {

// It goes out as the term that it holds, and its answer stays a term, whatever form that has.
struct TermRequest {
  using Reply = Term;
  Term term;
  bool is_system = false;  // as those of Erlang's module sys, else as those of gen_server
};

// It goes out as a spawn_request, and is answered with the PID: when the Init of the process is done, or at once if it is one
// of Erlang.
struct RemoteSpawn {
  using Reply = Term;
  std::string module;
  std::string function;
  Term arguments;  // a list
  // The process is linked from its beginning, as far as its own node knows: should the connection be lost, or the caller
  // end, before the caller has linked itself, the process ends, too.
  bool links = false;
  // The monitor that each request is stays one of the caller's: the answer is {Pid, Reference}.
  bool monitors = false;
};

// It goes out to another Ergon node as ErgonMessage::Kind::kRoom.
struct RoomQuestion {
  using Reply = Term;
};

}  // namespace ergon::dist
