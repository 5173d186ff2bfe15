// Requests whose answer is any term.
#pragma once

#include <string>

#include <ergon/node/erlang_term.h>

namespace ergon::dist {

// It goes out as the term that it holds, and its answer stays a term, whatever form that has.
struct TermRequest {
  using Reply = Term;
  Term term;
};

// It goes out as a spawn_request, and is answered with the PID when the Init of the process is done.
struct RemoteSpawn {
  using Reply = Term;
  std::string module;
  std::string function;
  Term arguments;  // a list
};

}  // namespace ergon::dist
