#include <ergon/node/cluster/tools/observer_terms.h>

#include <algorithm>

#include <ergon/node/erlang/terms/utf8.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kLongestAtom = 255;  // characters

}  // namespace

std::string ShortName(std::string_view name) {
  if (name.find("(*)") != std::string_view::npos) return "function";
  std::size_t begin = 0;   // of the last part
  std::size_t before = 0;  // of the one before it
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == '}') --depth;
    if (depth == 0 && c == ':') {
      if (begin != i) before = begin;
      begin = i + 1;
    }
  }
  if (!name.substr(begin).starts_with("{lambda") || begin == 0)
    return std::string(name.substr(begin));
  const std::string_view around = name.substr(before, begin - before);
  return std::string(around.substr(0, around.find_first_of("(:", 1))) + "::{lambda}";
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
