#include <ergon/node/erlang/archive.h>

#include <algorithm>

#include <ergon/core/foundations/demangle.h>
#include <ergon/core/foundations/thrown_text.h>

namespace ergon::dist::detail {

std::string NameOf(std::string_view tag, const std::type_info& type) {
  if (!tag.empty()) return std::string(tag);
  const std::string name = core::Demangle(type.name());
  const std::size_t end = std::min(name.find('<'), name.size());
  const std::size_t colons = name.rfind("::", end);
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

int FitOfShape(TermReader next, const TypeShape& shape) {
  std::size_t size = 0;
  if (!shape.tag.empty()) {
    if (next.NextIsAtom(shape.tag)) return kFitsWell;
    if (!next.EnterTuple(size) || size == 0 || !next.NextIsAtom(shape.tag)) return kFitsNot;
    return size == shape.fields + 1 ? kFitsWell : kFitsToo;
  }
  if (!next.EnterMap(size)) return kFitsNot;
  int required = 0;
  int optional = 0;
  std::string key;
  const auto has = [&](const std::vector<std::string>& keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end() ? 1 : 0;
  };
  for (; size != 0; --size) {
    if (next.ReadAtomText(key)) {
      required += has(shape.keys);
      optional += has(shape.optional_keys);
    } else {
      next.Skip();
    }
    next.Skip();
  }
  if (required < static_cast<int>(shape.keys.size())) return kFitsToo;
  // Of several the one with most fields.
  return kFitsWell + required + optional;
}

}  // namespace ergon::dist::detail

namespace ergon::dist {

std::string DescriptionProblem(const std::type_info& type) {
  const std::string what = core::ThrownText();
  const std::string name = core::Demangle(type.name()) + ": ";
  return what.starts_with(name) ? what : name + what;
}

}  // namespace ergon::dist
