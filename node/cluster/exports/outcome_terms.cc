#include <ergon/node/cluster/exports/outcome_terms.h>

#include <cstdint>
#include <utility>

#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {

std::string ReturnTerm(std::string_view tag, const Term& value) {
  std::string bytes;
  TermWriter writer(bytes);
  writer.Tuple(3);
  writer.Raw(tag);
  writer.Atom("return");
  writer.Raw(value.raw());
  return bytes;
}

std::string ErrorTerm(std::string_view tag, std::string_view reason, std::string_view module,
                      std::string_view function, std::size_t arity) {
  std::string bytes;
  TermWriter writer(bytes);
  writer.Tuple(4);
  writer.Raw(tag);
  writer.Atom("error");
  writer.Raw(reason);
  writer.List(1);
  writer.Tuple(4);
  writer.Atom(module);
  writer.Atom(function);
  writer.Integer(static_cast<std::int64_t>(arity));
  writer.Nil();
  writer.Nil();
  return bytes;
}

std::string OutcomeReason(const gen::Error& error) {
  std::string bytes;
  AppendError(bytes, error);
  return std::string(Term::FromChecked(std::move(bytes))[1].raw());  // of {error, Reason}
}

void AppendBadCall(std::string& out, const gen::Error& error) {
  TermWriter writer(out);
  writer.Tuple(2);
  writer.Atom("badrpc");
  AppendError(out, error);
}

}  // namespace ergon::dist
