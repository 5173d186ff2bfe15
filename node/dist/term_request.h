// A request whose answer is any term.
#pragma once

#include <ergon/node/erlang_term.h>

namespace ergon::dist {

// It goes out as the term that it holds, and its answer stays a term, whatever form that has.
struct TermRequest {
  using Reply = Term;
  Term term;
};

}  // namespace ergon::dist
