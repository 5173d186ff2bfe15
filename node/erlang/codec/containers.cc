#include <ergon/node/erlang/codec/containers.h>

#include <fmt/core.h>

namespace ergon::dist::detail {

bool EnterTupleOf(ValueReader& reader, std::size_t size) {
  TermReader next = reader.in;
  std::size_t found = 0;
  if (!next.EnterTuple(found) || found != size) {
    return reader.Expected(fmt::format("a tuple of {}", size));
  }
  reader.in = next;
  return true;
}

int FitOfTuple(TermReader next, std::size_t size) {
  std::size_t found = 0;
  return next.EnterTuple(found) && found == size ? kFitsWell : kFitsNot;
}

}  // namespace ergon::dist::detail
