#include <ergon/node/cluster/values/reasons.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <ergon/gen/atom.h>
#include <ergon/node/erlang/terms/atom_budget.h>
#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/erlang/terms/text.h>
#include <ergon/node/erlang/terms/utf8.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kTextBytes = 1000;    // of terms in reasons and errors
constexpr std::size_t kReasonBytes = 4000;  // of a reason's text: each watcher gets a copy
constexpr std::int64_t kLongestMilliseconds = 1'000'000'000'000;  // fits nanoseconds

struct ReasonAtom {
  std::string_view atom;
  gen::Reason (*make)();
};
constexpr std::array<ReasonAtom, 6> kReasons = {{{"normal", &gen::Reason::Normal},
                                                 {"shutdown", &gen::Reason::Shutdown},
                                                 {"killed", &gen::Reason::Kill},
                                                 {"noproc", &gen::Reason::NoProcess},
                                                 {"noconnection", &gen::Reason::NoConnection},
                                                 {"unregistered", &gen::Reason::Unregistered}}};
// What means something to those who get it as an exit reason.
constexpr std::string_view kKill = "kill";

struct CodeAtom {
  std::string_view atom;
  gen::ErrorCode code;
};
constexpr std::array<CodeAtom, 20> kCodes = {
    {{"noproc", gen::ErrorCode::kProcessUnknown},
     {"terminated", gen::ErrorCode::kProcessTerminated},
     {"mailbox_full", gen::ErrorCode::kProcessMailboxFull},
     {"incarnation", gen::ErrorCode::kProcessIncarnation},
     {"timeout", gen::ErrorCode::kTimeout},
     {"not_allowed", gen::ErrorCode::kNotAllowed},
     {"taken", gen::ErrorCode::kTaken},
     {"incorrect", gen::ErrorCode::kIncorrect},
     {"unsupported", gen::ErrorCode::kUnsupported},
     {"response_ignored", gen::ErrorCode::kResponseIgnored},
     {"unexpected_type", gen::ErrorCode::kUnexpectedType},
     {"too_many_calls", gen::ErrorCode::kTooManyCalls},
     {"node_terminated", gen::ErrorCode::kNodeTerminated},
     {"no_connection", gen::ErrorCode::kNoConnection},
     {"deadlock", gen::ErrorCode::kDeadlock},
     {"internal", gen::ErrorCode::kInternal},
     {"overloaded", gen::ErrorCode::kOverloaded},
     {"child_running", gen::ErrorCode::kChildRunning},
     {"child_disabled", gen::ErrorCode::kChildDisabled},
     {"busy", gen::ErrorCode::kBusy}}};

std::string_view AtomOf(gen::ErrorCode code) {
  const auto* found = std::find_if(kCodes.begin(), kCodes.end(),
                                   [&](const CodeAtom& entry) { return entry.code == code; });
  return found == kCodes.end() ? "internal" : found->atom;
}

std::optional<gen::ErrorCode> CodeOf(std::string_view atom) {
  const auto* found = std::find_if(kCodes.begin(), kCodes.end(),
                                   [&](const CodeAtom& entry) { return entry.atom == atom; });
  if (found == kCodes.end()) return std::nullopt;
  return found->code;
}

bool IsReason(std::string_view text) {
  return text == kKill || std::any_of(kReasons.begin(), kReasons.end(),
                                      [&](const ReasonAtom& entry) { return entry.atom == text; });
}

// What the user has called it: a text, which is never an atom of the other node, or an atom.
void AppendName(TermWriter writer, std::string_view text, gen::Atom atom, bool means_something) {
  if (!atom.empty() && !means_something && CountCharacters(text)) {
    writer.Atom(text);
  } else {
    writer.Binary(text);
  }
}

// The user's own reason or error in a term: an atom that this program has, or may make, as that. A text stands for
// itself, others as Erlang prints them.
template <class Make>
auto ReadName(std::string_view term, AtomBudget* atoms, Make&& make) {
  TermReader reader(term);
  std::string text;
  std::string_view bytes;
  if (reader.ReadAtomText(text)) {
    std::optional<gen::Atom> atom = gen::Atom::Find(text);
    if (!atom && atoms != nullptr) {
      if (auto made = atoms->Make(text)) atom = *made;
    }
    return atom && !atom->empty() ? make(*atom) : make(std::move(text));
  }
  if (reader.ReadBinary(bytes) && CountCharacters(bytes)) return make(std::string(bytes));
  return make(NextTermText(TermReader(term), kTextBytes));
}

// The beginning of a text that is too long for a reason.
std::string ShortText(std::string_view text) {
  if (text.size() <= kReasonBytes) return std::string(text);
  return std::string(text.substr(0, CutBeforeCharacter(text, kReasonBytes))) + "...";
}

// {Name, Term}: the name, and a reader of the other.
std::optional<TermReader> EnterPair(std::string_view term, std::string& name) {
  TermReader reader(term);
  std::size_t size = 0;
  if (!reader.EnterTuple(size) || size != 2 || !reader.ReadAtomText(name)) return std::nullopt;
  return reader;
}

}  // namespace

void AppendReason(std::string& out, const gen::Reason& reason) {
  TermWriter writer(out);
  const std::string text = reason.ToString();
  switch (reason.kind()) {
    case gen::ReasonKind::kPanic:
      writer.Tuple(2);
      writer.Atom("panic");
      writer.Binary(std::string_view(text).substr(std::string_view("panic: ").size()));
      return;
    case gen::ReasonKind::kError:
      AppendName(writer, text, reason.AsAtom(), IsReason(text));
      return;
    default:
      writer.Atom(text);
      return;
  }
}

gen::Reason ReadReason(std::string_view term, AtomBudget* atoms) {
  const TermReader reader(term);
  for (const ReasonAtom& reason : kReasons) {
    if (reader.NextIsAtom(reason.atom)) return reason.make();
  }
  std::string name;
  std::string_view text;
  if (auto what = EnterPair(term, name); what && name == "panic" && what->ReadBinary(text)) {
    return gen::Reason::Panic(ShortText(text));
  }
  return ReadName(term, atoms, [](const auto& what) {
    if constexpr (std::is_same_v<std::decay_t<decltype(what)>, gen::Atom>) {
      return gen::Reason::Error(what);
    } else {
      return gen::Reason::Error(ShortText(what));
    }
  });
}

void AppendError(std::string& out, const gen::Error& error) {
  TermWriter writer(out);
  writer.Tuple(2);
  writer.Atom("error");
  if (error.code() == gen::ErrorCode::kApplication) {
    AppendName(writer, error.detail(), error.AsAtom(), CodeOf(error.detail()).has_value());
  } else if (error.RetryAfter().count() > 0) {
    writer.Tuple(2);
    writer.Atom(AtomOf(error.code()));
    writer.Integer(std::chrono::ceil<std::chrono::milliseconds>(error.RetryAfter()).count());
  } else if (!error.detail().empty()) {
    writer.Tuple(2);
    writer.Atom(AtomOf(error.code()));
    writer.Binary(error.detail());
  } else {
    writer.Atom(AtomOf(error.code()));
  }
}

gen::Error ReadError(std::string_view term, AtomBudget* atoms) {
  std::string name;
  if (TermReader(term).ReadAtomText(name)) {
    if (const auto code = CodeOf(name)) return gen::Error(*code);
  }
  if (auto what = EnterPair(term, name)) {
    const auto code = CodeOf(name);
    std::int64_t milliseconds = 0;
    std::string_view text;
    if (code && what->ReadBinary(text)) return {*code, std::string(text)};
    if (code == gen::ErrorCode::kOverloaded && what->ReadInteger(milliseconds) &&
        milliseconds > 0 && milliseconds <= kLongestMilliseconds) {
      return gen::Error::Overloaded(std::chrono::milliseconds(milliseconds));
    }
  }
  return ReadName(term, atoms,
                  [](auto&& what) { return gen::Error(std::forward<decltype(what)>(what)); });
}

}  // namespace ergon::dist
