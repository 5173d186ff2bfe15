#include <ergon/node/cluster/values/values.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/gen/envelope_kind.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/erlang.h>
#include <ergon/node/erlang/terms/atom_budget.h>
#include <ergon/node/erlang/terms/check.h>
#include <terms.h>

namespace ergon::dist::values_test {
namespace {

namespace t = terms;
using t::Bytes;

constexpr std::uint8_t kKind = 5;

struct Count {
  static constexpr const char* kTag = "count";
  std::string text;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(Field("text", text));
  }
};
struct CountTwo {
  static constexpr const char* kTag = "count";
  int from = 0;
  int to = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(from, to);
  }
};
struct Stop {
  static constexpr const char* kTag = "stop";
};
struct Item {
  int no = 0;
  double price = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(Field("no", no), Field("price", price));
  }
};
struct NamedItem {
  int no = 0;
  double price = 0;
  std::string name;
  std::optional<int> weight;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(Field("name", name), Field("no", no), Field("price", price), Field("weight", weight));
  }
};
struct Hints {
  std::optional<int> hint;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(Field("hint", hint));
  }
};
struct Nothing {
  template <class Archive>
  void serialize(Archive&) {}
};
struct Throwing {
  static constexpr const char* kTag = "throwing";
  int value = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
    if (value == 13) throw std::runtime_error("not 13");
  }
};
struct Unknown {};

template <class... Types>
gen::WireTypes Registered() {
  gen::WireTypes types;
  (types.Register<Types>(), ...);
  return types;
}

template <class T>
gen::Result<std::string> Append(const Values& values, T value) {
  std::string out = "before";
  const auto envelope = core::MakeEnvelope<T>(kKind, core::Lane::kMain, std::move(value));
  const auto written = values.Append(out, *envelope);
  if (!written) {
    CHECK(out == "before");
    return written.error();
  }
  out.erase(0, 6);
  CHECK(CheckTerm(out, 100).value() == out.size());
  return out;
}

core::EnvelopePtr Read(const Values& values, const std::string& term) {
  REQUIRE(CheckTerm(term, 100).value() == term.size());
  auto read = values.Read(term, kKind);
  if (!read) FAIL(read.error().ToString());
  CHECK((*read)->kind == kKind);
  CHECK((*read)->lane == core::Lane::kMain);
  return std::move(*read);
}
template <class T>
T ReadAs(const Values& values, const std::string& term) {
  const auto envelope = Read(values, term);
  INFO(envelope->type->Name());
  T* const value = envelope->ValueAs<T>();
  REQUIRE(value != nullptr);
  return std::move(*value);
}
std::string Problem(const Values& values, const std::string& term) {
  const auto read = values.Read(term, kKind);
  if (read) return "none";
  CHECK(read.error() == gen::ErrIncorrect);
  return std::string(read.error().detail());
}

TEST_CASE("values: what need not be registered") {
  const Values values{gen::WireTypes()};
  CHECK(Append(values, 7).value() == t::Small(7));
  CHECK(Append(values, std::int8_t{7}).value() == t::Small(7));
  CHECK(Append(values, std::uint8_t{7}).value() == t::Small(7));
  CHECK(Append(values, short{7}).value() == t::Small(7));
  CHECK(Append(values, 7L).value() == t::Small(7));
  CHECK(Append(values, 7LL).value() == t::Small(7));
  CHECK(Append(values, 7ULL).value() == t::Small(7));
  CHECK(Append(values, std::size_t{7}).value() == t::Small(7));
  CHECK(Append(values, 1.5).value() == t::Float(1.5));
  CHECK(Append(values, 1.5F).value() == t::Float(1.5));
  CHECK(Append(values, true).value() == t::SmallAtom("true"));
  CHECK(Append(values, std::string("a")).value() == t::Binary("a"));
  CHECK(Append(values, Charlist{"a"}).value() == Bytes({107, 0, 1, 'a'}));
  CHECK(Append(values, gen::Atom("a")).value() == t::SmallAtom("a"));
  CHECK(Append(values, gen::PID{1, "a@b", 2}).value() == t::Pid("a@b", 1, 0, 2));
  CHECK(Append(values, Reference{"a@b", 1, 1, {9}}).value() == t::Reference("a@b", 1, {9}));
  CHECK(Append(values, gen::Alias{9, "a@b", 1}).value() == t::Reference("a@b", 1, {9, 0, 0}));
  CHECK(Append(values, Term::Tuple({1})).value() == t::Tuple({t::Small(1)}));

  CHECK(ReadAs<std::int64_t>(values, t::Small(7)) == 7);
  CHECK(ReadAs<Term>(values, Bytes({110, 8, 0, 0, 0, 0, 0, 0, 0, 0, 128})).AsUnsigned() ==
        std::uint64_t{1} << 63);
  CHECK(ReadAs<double>(values, t::Float(1.5)) == 1.5);
  CHECK(ReadAs<bool>(values, t::SmallAtom("false")) == false);
  CHECK(ReadAs<gen::Atom>(values, t::SmallAtom("ok")) == gen::Atom("ok"));
  CHECK(ReadAs<std::string>(values, t::Binary("a")) == "a");
  CHECK(ReadAs<gen::PID>(values, t::Pid("a@b", 1, 2, 3)) ==
        gen::PID{std::uint64_t{2} << 32 | 1, "a@b", 3});
  for (const std::string& term :
       {t::Tuple({t::Small(1)}), t::kNil, Bytes({107, 0, 1, 'a'}), t::Map({}), t::Export(),
        t::Reference("a@b", 1, {9}), Bytes({77, 0, 0, 0, 1, 3, 0xa0})}) {
    CHECK(ReadAs<Term>(values, term).raw() == term);
  }
}

TEST_CASE("values: what has to be") {
  const Values values{gen::WireTypes()};
  const auto unknown = Append(values, Unknown());
  REQUIRE_FALSE(unknown.has_value());
  CHECK(unknown.error() == gen::ErrUnsupported);
  CHECK(unknown.error().detail() ==
        "ergon::dist::values_test::(anonymous namespace)::Unknown is not registered, so other "
        "nodes do not know "
        "it: options.types.Register<ergon::dist::values_test::(anonymous namespace)::Unknown>() "
        "before the node "
        "starts");
  CHECK(Append(values, Count()).error() == gen::ErrUnsupported);
  CHECK(Append(values, std::vector<int>()).error() == gen::ErrUnsupported);
  std::string out;
  CHECK(values.Append(out, *core::MakeSignal(1, core::Lane::kMain)).error() == gen::ErrUnsupported);
  CHECK(Append(values, std::nan("")).error().detail() == "nan is no float of Erlang");
}

TEST_CASE("values: registered types with a tag") {
  const Values values(Registered<Count, CountTwo, Stop, Count, Throwing>());
  CHECK(Append(values, Count{"a"}).value() == t::Tuple({t::SmallAtom("count"), t::Binary("a")}));
  CHECK(Append(values, Stop()).value() == t::SmallAtom("stop"));
  CHECK(ReadAs<Count>(values, t::Tuple({t::SmallAtom("count"), t::Binary("a")})).text == "a");
  CHECK(ReadAs<Count>(values, t::Tuple({Bytes({100, 0, 5}) + "count", t::kNil})).text.empty());
  CHECK(ReadAs<CountTwo>(values, t::Tuple({t::SmallAtom("count"), t::Small(1), t::Small(2)})).to ==
        2);
  (void)ReadAs<Stop>(values, t::SmallAtom("stop"));
  (void)ReadAs<Stop>(values, t::Tuple({t::SmallAtom("stop")}));
  // Others with that tag are not meant.
  CHECK(ReadAs<Term>(values, t::Tuple({t::SmallAtom("count")})).size() == 1);
  CHECK(ReadAs<gen::Atom>(values, t::SmallAtom("count")) == gen::Atom("count"));
  CHECK(ReadAs<Term>(values, t::Tuple({t::SmallAtom("stop"), t::Small(1)})).size() == 2);
  CHECK(ReadAs<Term>(values, t::Tuple({t::Binary("count"), t::Small(1)})).size() == 2);
  CHECK(ReadAs<Term>(values, t::Tuple({})).size() == 0);

  CHECK(Problem(values, t::Tuple({t::SmallAtom("count"), t::Small(42)})) ==
        "count.text: expected a binary, found 42");
  CHECK(Problem(values, t::Tuple({t::SmallAtom("throwing"), t::Small(13)}))
            .ends_with("throwing: not 13"));
  CHECK(Append(values, Throwing{13}).error().detail().ends_with("throwing: not 13"));
  CHECK(Append(values, Throwing{12}).has_value());
}

TEST_CASE("values: what a message is that is of no registered type, for logs and errors") {
  gen::WireTypes types;
  types.Register<Count>();
  types.Register<CountTwo>();
  const Values values(types);
  const auto described = [&](const Term& term) {
    const core::EnvelopePtr envelope = values.Read(term.raw(), kKind).value();
    return gen::Message(*envelope).Describe();
  };
  const Term tag = Term::Atom("count");
  CHECK(described(Term::Tuple({tag, 1, 2, 3})) ==
        "count: 2 or 3 elements expected, found 4: {count,1,2,3}");
  CHECK(described(Term::Tuple({tag})) == "count: 2 or 3 elements expected, found 1: {count}");
  CHECK(described(Term::Tuple({Term::Atom("amount"), 1})) == "{amount,1}");
  CHECK(described(tag) == "atom 'count'");
  CHECK(described(Term::Of(std::string("secret"))) == "text of 6 bytes");
  CHECK(described(42) == "integer 42");
  CHECK(described(1.5) == "float 1.5");
  CHECK(described(true) == "true");
  CHECK(described(gen::PID{1, "a@b", 2}) == "PID <a@b.1.0>");
  const std::string long_one = described(Term::Tuple({tag, 1, 2, Term::Of(std::string(999, 'x'))}));
  CHECK(long_one.starts_with("count: 2 or 3 elements expected, found 4: {count,1,2,<<\"xxx"));
  CHECK(long_one.size() < 250);
  // A part of it has its own words.
  const core::EnvelopePtr whole =
      values.Read(Term::Tuple({tag, 1, 2, Term::Tuple({5})}).raw(), kKind).value();
  CHECK((*whole->ValueAs<Term>())[3].MessageText() == "{5}");
}

TEST_CASE("values: registered types that are maps") {
  const Values values(Registered<Item, NamedItem, Hints, Nothing>());
  const auto no = t::SmallAtom("no");
  const auto price = t::SmallAtom("price");
  const auto name = t::SmallAtom("name");
  const auto weight = t::SmallAtom("weight");
  const auto one = t::Small(1);
  CHECK(ReadAs<Item>(values, t::Map({price, one, no, one})).price == 1);
  CHECK(ReadAs<Item>(values, t::Map({price, one, no, one, weight, one, one, one})).no == 1);
  CHECK(ReadAs<NamedItem>(values, t::Map({price, one, no, one, name, t::Binary("n")})).name == "n");
  CHECK(ReadAs<NamedItem>(
            values, t::Map({price, one, no, one, weight, one, name, t::Binary("n"), one, one}))
            .weight == 1);
  CHECK(ReadAs<Hints>(values, t::Map({t::SmallAtom("hint"), one})).hint == 1);
  (void)ReadAs<Nothing>(values, t::Map({}));
  CHECK(ReadAs<Term>(values, t::Map({no, one})).size() == 1);
  CHECK(ReadAs<Term>(values, t::Map({one, one})).size() == 1);
  CHECK(Problem(values, t::Map({no, one, price, no})) == "Item.price: expected a number, found no");
  CHECK(Append(values, Item{1, 2}).value() == t::Map({no, one, price, t::Float(2)}));
  CHECK(ReadAs<NamedItem>(values, Append(values, NamedItem{1, 2, "n", {}}).value()).name == "n");
}

struct OtherCount {
  static constexpr const char* kTag = "count";
  int number = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number);
  }
};
struct OtherItem {
  int price = 0;
  std::string no;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(Field("price", price), Field("no", no));
  }
};

TEST_CASE("values: types that could not be told apart") {
  const auto problem = [](const gen::WireTypes& types) -> std::string {
    try {
      const Values values(types);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  CHECK(problem(Registered<Count, CountTwo, Count>()) == "none");
  const std::string tags = problem(Registered<Count, OtherCount>());
  CHECK(tags.starts_with("types for other nodes: "));
  CHECK(tags.find("::Count and ") != std::string::npos);
  CHECK(tags.find("::OtherCount are both the tuple count of 2, and could not be told apart") !=
        std::string::npos);
  const std::string maps = problem(Registered<Item, OtherItem>());
  CHECK(maps.find("::Item and ") != std::string::npos);
  CHECK(maps.find("::OtherItem are both maps with the same keys") != std::string::npos);
}

TEST_CASE("values: atoms from outside have a limit") {
  const Values values(Registered<Count>(), 1);
  const gen::Atom known("ok");
  CHECK(ReadAs<gen::Atom>(values, t::SmallAtom("ok")) == known);
  CHECK(ReadAs<gen::Atom>(values, t::SmallAtom("values_new_1")).Text() == "values_new_1");
  const Term term = ReadAs<Term>(values, t::SmallAtom("values_new_2"));
  CHECK(term.AsAtomText() == "values_new_2");
  CHECK_FALSE(term.To<gen::Atom>().has_value());
  CHECK(ReadAs<Term>(values, t::Pid("values@new", 1, 2, 3)).kind() == Term::Kind::kPid);
  CHECK_FALSE(gen::Atom::Find("values_new_2").has_value());
  CHECK_FALSE(gen::Atom::Find("values@new").has_value());
  CHECK(ReadAs<gen::Atom>(values, t::SmallAtom("values_new_1")).Text() == "values_new_1");
}

// ---- reasons and errors

std::string ReasonTerm(const gen::Reason& reason) {
  std::string out;
  AppendReason(out, reason);
  CHECK(CheckTerm(out, 10).value() == out.size());
  return out;
}
std::string ErrorTerm(const gen::Error& error) {
  std::string out;
  AppendError(out, error);
  CHECK(CheckTerm(out, 10).value() == out.size());
  return out;
}
// Behind {error, ...}.
std::string ErrorReason(const gen::Error& error) {
  const Term term = Term::FromChecked(ErrorTerm(error));
  CHECK(term[0] == Term::Atom("error"));
  return std::string(term[1].raw());
}

TEST_CASE("values: reasons") {
  using gen::Reason;
  for (const Reason& reason :
       {Reason::Normal(), Reason::Shutdown(), Reason::Kill(), Reason::NoProcess(),
        Reason::NoConnection(), Reason::Unregistered()}) {
    CHECK(ReasonTerm(reason) == t::SmallAtom(reason.ToString()));
    CHECK(ReadReason(ReasonTerm(reason)) == reason);
  }
  CHECK(ReasonTerm(Reason::Panic("x (handling y)")) ==
        t::Tuple({t::SmallAtom("panic"), t::Binary("x (handling y)")}));
  // Atoms are kept for ever over there: texts never become any, whatever they look like.
  CHECK(ReasonTerm(Reason::Error("boom")) == t::Binary("boom"));
  CHECK(ReasonTerm(Reason::Error(gen::Atom("boom"))) == t::SmallAtom("boom"));
  CHECK(ReasonTerm(Reason::Error(gen::Atom("Disk full"))) == t::SmallAtom("Disk full"));
  CHECK(ReasonTerm(Reason::Error("disk full")) == t::Binary("disk full"));
  CHECK(ReasonTerm(Reason::Error("Boom")) == t::Binary("Boom"));
  CHECK(ReasonTerm(Reason::Error("")) == t::Binary(""));
  CHECK(ReasonTerm(Reason::Error("p\xc3\xb6ol")) == t::Binary("p\xc3\xb6ol"));
  CHECK(ReasonTerm(Reason::Error(std::string(300, 'x'))) == t::Binary(std::string(300, 'x')));
  // The user's own that would mean something else.
  CHECK(ReasonTerm(Reason::Error("normal")) == t::Binary("normal"));
  CHECK(ReasonTerm(Reason::Error("kill")) == t::Binary("kill"));
  CHECK(ReasonTerm(Reason::Error(gen::Atom("normal"))) == t::Binary("normal"));
  CHECK(ReasonTerm(Reason::Error(gen::Atom("kill"))) == t::Binary("kill"));
  CHECK(ReasonTerm(Reason::Error(gen::Atom("\xff"))) == t::Binary("\xff"));
  for (const Reason& reason :
       {Reason::Panic("x"), Reason::Panic(""), Reason::Error("boom"), Reason::Error("normal"),
        Reason::Error(gen::Atom("boom")), Reason::Error("disk full"), Reason::Error(""),
        Reason::Error(std::string(3000, 'x'))}) {
    CHECK(ReadReason(ReasonTerm(reason)) == reason);
  }
  // Each watcher gets a copy.
  const std::string most(3999, 'x');
  const std::string longer = most + "\xc3\xb6" + most;
  CHECK(ReadReason(t::Binary(longer)) == Reason::Error(most + "..."));
  CHECK(ReadReason(t::Tuple({t::SmallAtom("panic"), t::Binary(longer)})) ==
        Reason::Panic(most + "..."));
  CHECK(ReadReason(t::SmallAtom("kill")) == Reason::Error("kill"));
  CHECK(ReadReason(t::Tuple({t::SmallAtom("badmatch"), t::Small(1)})) ==
        Reason::Error("{badmatch,1}"));
  CHECK(ReadReason(t::Tuple({t::SmallAtom("panic"), t::Small(1)})) == Reason::Error("{panic,1}"));
  CHECK(ReadReason(t::Binary("\x01\n")) == Reason::Error("\x01\n"));
  CHECK(ReadReason(t::Binary("\x01\xff")) == Reason::Error("<<1,255>>"));
  CHECK(ReadReason(Bytes({107, 0, 1, 'a'})) == Reason::Error("\"a\""));
  CHECK(ReadReason(t::List(std::vector<std::string>(10'000, t::Small(1)))).ToString().size() <
        1100);
}

TEST_CASE("values: an atom that came is passed on as one if the program may have it") {
  AtomBudget budget(1);
  const std::string first = t::SmallAtom("came_as_the_first_atom");
  const std::string second = t::SmallAtom("came_as_the_second_atom");
  CHECK(ReasonTerm(ReadReason(first, &budget)) == first);
  CHECK(ReasonTerm(ReadReason(second, &budget)) == t::Binary("came_as_the_second_atom"));
  CHECK(ReadReason(second, &budget) == gen::Reason::Error("came_as_the_second_atom"));
  CHECK(ErrorReason(ReadError(second, &budget)) == t::Binary("came_as_the_second_atom"));
  // Known by now.
  CHECK(ErrorReason(ReadError(first)) == first);
  CHECK(ErrorReason(ReadError(second)) == t::Binary("came_as_the_second_atom"));
}

TEST_CASE("values: what has no value is undefined, or nil for Elixir, and either is read") {
  const Values erlang{Registered<Hints>()};
  const Values elixir{Registered<Hints>(), Values::kUsualNewAtoms, Absent::kNil};
  const auto map = [](const std::string& value) { return t::Map({t::SmallAtom("hint"), value}); };
  CHECK(Append(erlang, Hints{}).value() == map(t::SmallAtom("undefined")));
  CHECK(Append(elixir, Hints{}).value() == map(t::SmallAtom("nil")));
  CHECK(Append(elixir, Hints{7}).value() == map(t::Small(7)));
  for (const Values* values : {&erlang, &elixir}) {
    for (const char* word : {"undefined", "nil"}) {
      CHECK_FALSE(ReadAs<Hints>(*values, map(t::SmallAtom(word))).hint);
    }
  }
  std::string nothing;
  REQUIRE(detail::WriteValue(nothing, std::monostate(), Absent::kNil));
  CHECK(nothing == t::SmallAtom("nil"));
  std::monostate read;
  CHECK(detail::ReadValue(TermReader(nothing), read));
  CHECK(Term::Of(std::vector<std::optional<int>>{std::nullopt, 1}, Absent::kNil).ToString() ==
        "[nil,1]");
}

TEST_CASE("values: messages and requests get the priority of their type") {
  gen::WireTypes types;
  types.Register<Count>({.priority = gen::MessagePriority::kHigh}).Register<Stop>();
  types.Register<Item>({.priority = gen::MessagePriority::kMax});
  const Values values(types);
  const auto lane = [&](const std::string& term, gen::EnvelopeKind kind) {
    return values.Read(term, static_cast<std::uint8_t>(kind)).value()->lane;
  };
  const std::string count = t::Tuple({t::SmallAtom("count"), t::Binary("a")});
  const std::string item =
      t::Map({t::SmallAtom("no"), t::Small(1), t::SmallAtom("price"), t::Small(2)});
  CHECK(lane(count, gen::EnvelopeKind::kMessage) == core::Lane::kSystem);
  CHECK(lane(count, gen::EnvelopeKind::kRequest) == core::Lane::kSystem);
  CHECK(lane(item, gen::EnvelopeKind::kRequest) == core::Lane::kUrgent);
  CHECK(lane(t::SmallAtom("stop"), gen::EnvelopeKind::kRequest) == core::Lane::kMain);
  // Answers and values of events wait for nobody.
  CHECK(lane(count, gen::EnvelopeKind::kResponse) == core::Lane::kMain);
  CHECK(lane(count, gen::EnvelopeKind::kEvent) == core::Lane::kMain);

  types.Register<Count>({.priority = gen::MessagePriority::kHigh});
  CHECK_NOTHROW(Values{types});
  types.Register<Count>();
  CHECK_THROWS_WITH_AS(Values{types}, doctest::Contains("Count is registered with two priorities"),
                       std::invalid_argument);
}

TEST_CASE("values: errors") {
  using gen::Error;
  using gen::ErrorCode;
  CHECK(ErrorTerm(gen::ErrProcessMailboxFull) ==
        t::Tuple({t::SmallAtom("error"), t::SmallAtom("mailbox_full")}));
  CHECK(ErrorTerm(Error(ErrorCode::kIncorrect, "count.text: missing")) ==
        t::Tuple({t::SmallAtom("error"),
                  t::Tuple({t::SmallAtom("incorrect"), t::Binary("count.text: missing")})}));
  CHECK(ErrorTerm(Error("job_17")) == t::Tuple({t::SmallAtom("error"), t::Binary("job_17")}));
  CHECK(ErrorTerm(Error(gen::Atom("no_such_user"))) ==
        t::Tuple({t::SmallAtom("error"), t::SmallAtom("no_such_user")}));
  CHECK(ErrorTerm(Error(gen::Atom("busy"))) ==
        t::Tuple({t::SmallAtom("error"), t::Binary("busy")}));
  CHECK(ErrorTerm(Error("no such user")) ==
        t::Tuple({t::SmallAtom("error"), t::Binary("no such user")}));
  CHECK(ErrorTerm(Error("timeout")) == t::Tuple({t::SmallAtom("error"), t::Binary("timeout")}));
  CHECK(ErrorReason(gen::ErrProcessUnknown) == t::SmallAtom("noproc"));
  CHECK(ErrorReason(Error::Overloaded(std::chrono::microseconds(34'500))) ==
        t::Tuple({t::SmallAtom("overloaded"), t::Small(35)}));
  // All codes, there and back.
  for (int i = 0; i <= static_cast<int>(ErrorCode::kBusy); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    for (const Error& error :
         {Error(code), Error(code, "why"), Error(code, "why not"), Error(code, "busy")}) {
      CAPTURE(error.ToString());
      const Error read = ReadError(ErrorReason(error));
      CHECK(read == error);
      CHECK(read.detail() == error.detail());
    }
  }
  const Error overloaded = ReadError(ErrorReason(Error::Overloaded(std::chrono::milliseconds(35))));
  CHECK(overloaded == gen::ErrOverloaded);
  CHECK(overloaded.RetryAfter() == std::chrono::milliseconds(35));
  CHECK(ReadError(ErrorReason(gen::ErrOverloaded)) == gen::ErrOverloaded);

  const auto text = [](const std::string& term) {
    const Error error = ReadError(term);
    CHECK(error.code() == ErrorCode::kApplication);
    return std::string(error.detail());
  };
  CHECK(text(t::Tuple({t::SmallAtom("bad"), t::Small(1)})) == "{bad,1}");
  CHECK(text(t::Tuple({t::SmallAtom("timeout"), t::Small(1)})) == "{timeout,1}");
  CHECK(text(t::Tuple({t::SmallAtom("overloaded"), Bytes({98, 255, 255, 255, 255})})) ==
        "{overloaded,-1}");
  CHECK(text(t::Tuple({t::SmallAtom("overloaded"), Bytes({110, 8, 0, 0, 0, 0, 0, 0, 0, 0, 64})})) ==
        "{overloaded,4611686018427387904}");
  CHECK(text(t::SmallAtom("enoent")) == "enoent");
  CHECK(text(t::Binary("job_17")) == "job_17");
  CHECK(text(t::Small(1)) == "1");
}

}  // namespace
}  // namespace ergon::dist::values_test
