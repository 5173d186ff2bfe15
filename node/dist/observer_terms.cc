#include <ergon/node/dist/observer_terms.h>

#include <algorithm>

#include <ergon/node/dist/utf8.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kLongestAtom = 255;  // characters

}  // namespace

std::string_view ShortName(std::string_view name) {
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == '}') --depth;
    if (depth == 0 && c == ':') begin = i + 1;
  }
  return name.substr(begin);
}

void WriteName(TermWriter& writer, std::string_view text) {
  std::string_view rest = text;
  for (std::size_t count = 0; !rest.empty() && count < kLongestAtom; ++count) {
    if (!TakeCharacter(rest)) {
      writer.Atom("not_utf8");
      return;
    }
  }
  writer.Atom(text.substr(0, text.size() - rest.size()));
}

void WriteCall(TermWriter& writer, std::string_view module, std::string_view function,
               std::size_t arity) {
  writer.Tuple(3);
  WriteName(writer, module);
  WriteName(writer, function);
  writer.Integer(static_cast<std::int64_t>(arity));
}

}  // namespace ergon::dist
