#include <ergon/node/erlang_alternatives.h>

#include <string>

#include <ergon/core/foundations/demangle.h>

namespace ergon::dist::detail {

bool IsAbsent(const TermReader& next) {
  return next.NextIsAtom("undefined") || next.NextIsAtom("nil");
}

bool ExpectedOneOf(ValueReader& reader, std::initializer_list<const std::type_info*> types) {
  std::string names;
  for (const std::type_info* type : types) {
    if (!names.empty()) names += ", ";
    names += core::Demangle(type->name());
  }
  return reader.Expected("one of " + names);
}

}  // namespace ergon::dist::detail
