#include <ergon/node/erlang/terms/kind.h>

namespace ergon::dist {

std::string_view KindText(TermKind kind) noexcept {
  switch (kind) {
    case TermKind::kNothing:
      return "nothing";
    case TermKind::kAtom:
      return "an atom";
    case TermKind::kInteger:
      return "an integer";
    case TermKind::kFloat:
      return "a float";
    case TermKind::kBinary:
      return "a binary";
    case TermKind::kBitstring:
      return "a bitstring";
    case TermKind::kTuple:
      return "a tuple";
    case TermKind::kList:
      return "a list";
    case TermKind::kMap:
      return "a map";
    case TermKind::kPid:
      return "a pid";
    case TermKind::kPort:
      return "a port";
    case TermKind::kReference:
      return "a reference";
    case TermKind::kFunction:
      return "a function";
  }
  return "a term";
}

}  // namespace ergon::dist
