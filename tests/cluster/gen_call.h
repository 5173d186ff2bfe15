// Requests as Erlang's gen_server:call makes them.
#pragma once

#include <string_view>

#include <ergon/gen/pid.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {

// {'$gen_call', {From, Reference}, Request}: the request is what is written next.
inline void BeginGenCall(TermWriter& writer, gen::PID from, std::string_view reference) {
  writer.Tuple(3);
  writer.Atom("$gen_call");
  writer.Tuple(2);
  writer.Pid(from);
  writer.Raw(reference);
}

}  // namespace ergon::dist
