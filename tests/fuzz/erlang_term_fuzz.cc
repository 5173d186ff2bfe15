// Terms of other nodes: refused with a text, or read as whatever they are asked for, printed in one
// line, and the same after they have been written and read again.
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include <fuzz/fuzz.h>

#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/erlang/archive.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/check.h>

namespace core = ergon::core;
namespace dist = ergon::dist;
namespace gen = ergon::gen;
using dist::Term;
using ergon::fuzz::Require;

namespace {

constexpr std::size_t kDepth = 64;
constexpr std::size_t kTextBytes = 300;

struct Item {
  std::int8_t no = 0;
  float price = 0;
  std::optional<std::string> note;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(dist::Field("no", no), dist::Field("price", price), dist::Field("note", note));
  }
};
struct Order {
  static constexpr const char* kTag = "order";
  std::vector<Item> items;
  std::map<std::string, Term> more;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(dist::Field("items", items), dist::Field("more", more));
  }
};
struct Tree {
  std::variant<std::int64_t, std::string, std::vector<Tree>> value;
  std::optional<gen::PID> owner;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(dist::Field("v", value), dist::Field("o", owner));
  }
};
struct Stop {
  static constexpr const char* kTag = "stop";
};

// So that inputs do not fill the program with atoms.
constexpr std::size_t kAtoms = 1000;
const dist::Values& Registered() {
  static const dist::Values values(
      gen::WireTypes().Register<Item>().Register<Order>().Register<Tree>().Register<Stop>(),
      kAtoms);
  return values;
}

void CheckError(const gen::Error& error) {
  Require(error == gen::ErrIncorrect, "what does not fit is kIncorrect");
  Require(!error.detail().empty(), "an error says what is wrong");
  Require(error.detail().find('\n') == std::string_view::npos, "an error is one line");
}

// A value that was read can be written, and is read again as the same bytes.
template <class T>
void CheckAs(const Term& term) {
  const auto value = term.To<T>();
  if (!value) {
    CheckError(value.error());
    return;
  }
  const Term written = Term::Of(*value);
  const auto again = dist::CheckTerm(written.raw(), 2 * kDepth + 2);
  Require(again.has_value() && *again == written.raw().size(), "what is written is a term");
  const auto read = written.To<T>();
  Require(read.has_value(), "what was written can be read");
  Require(Term::Of(*read) == written, "and is the same");
}

std::string Text(const Term& term) {
  std::string text = term.ToString(kTextBytes);
  Require(!text.empty(), "a term has a text");
  Require(text.size() <= kTextBytes + 3, "which has a bound");
  for (const char byte : text) {
    Require(static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7f, "and is one line");
  }
  return text;
}

void CheckParts(const Term& term) {
  const auto elements = term.Elements();
  const auto entries = term.Entries();
  Require(elements.size() + entries.size() == term.size(), "a term has as many parts as it says");
  for (std::size_t i = 0; i < elements.size() && i < 20; ++i) {
    Require(term[i] == elements[i], "an element is the same however it is found");
    (void)Text(elements[i]);
  }
  for (const auto& [key, value] : entries) {
    Require(term.Find(key).has_value(), "a key is found");
    (void)value.kind();
  }
}

void CheckMessage(std::string_view raw) {
  auto envelope = Registered().Read(raw, 1);
  if (!envelope) {
    CheckError(envelope.error());
    return;
  }
  std::string out;
  Require(Registered().Append(out, **envelope).has_value(), "a message that came can go on");
  const auto size = dist::CheckTerm(out, 2 * kDepth + 2);
  Require(size.has_value() && *size == out.size(), "as a term");
  auto again = Registered().Read(out, 1);
  Require(again.has_value() && (*again)->type == (*envelope)->type, "of the same type");
}

void CheckOutcomes(std::string_view raw) {
  std::string out;
  dist::AppendReason(out, dist::ReadReason(raw));
  Require(dist::CheckTerm(out, 3).has_value(), "a reason can go on");
  Require(dist::ReadReason(out) == dist::ReadReason(raw), "and means the same");
  out.clear();
  dist::AppendError(out, dist::ReadError(raw));
  Require(dist::CheckTerm(out, 3).has_value(), "an error can go on");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of its size: whatever is read behind its end is noticed.
  const auto copy = std::make_unique<char[]>(size);
  if (size != 0) std::memcpy(copy.get(), data, size);
  const std::string_view bytes(copy.get(), size);
  const auto checked = dist::CheckTerm(bytes, kDepth);
  if (!checked) {
    CheckError(checked.error());
    return 0;
  }
  Require(*checked != 0 && *checked <= size, "a term is a part of what it is read from");
  // Nothing behind it, so that reading beyond it is noticed.
  const auto alone = std::make_unique<char[]>(*checked);
  std::memcpy(alone.get(), copy.get(), *checked);
  const std::string_view raw(alone.get(), *checked);
  dist::TermReader reader(raw);
  reader.Skip();
  Require(reader.AtEnd(), "a term is left out as a whole");

  const auto parsed = Term::FromBytes(std::string("\x83").append(raw), kDepth);
  Require(parsed.has_value() && parsed->raw() == raw, "a term is what it was made of");
  (void)Text(*parsed);
  CheckParts(*parsed);
  CheckMessage(raw);
  CheckOutcomes(raw);
  CheckAs<std::int64_t>(*parsed);
  CheckAs<double>(*parsed);
  CheckAs<std::string>(*parsed);
  CheckAs<std::vector<std::uint8_t>>(*parsed);
  CheckAs<std::vector<Term>>(*parsed);
  CheckAs<std::tuple<Term, Term>>(*parsed);
  CheckAs<Order>(*parsed);
  CheckAs<Tree>(*parsed);
  CheckAs<std::variant<bool, float, dist::Charlist, std::vector<bool>, Item, Stop, std::monostate>>(
      *parsed);
  return 0;
}
