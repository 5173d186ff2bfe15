#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/erlang/terms/writer.h>

#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/node/erlang/terms/atom_budget.h>
#include <ergon/node/erlang/terms/check.h>
#include <terms.h>

#include <kit/one_thread.h>

namespace ergon::dist::erlang_encoding_test {
namespace {

namespace t = terms;
using t::Big;
using t::Bytes;

template <class Write>
std::string Written(Write write) {
  std::string out = "before";
  TermWriter writer(out);
  write(writer);
  CHECK(out.substr(0, 6) == "before");
  out.erase(0, 6);
  const auto size = CheckTerm(out, 100);
  CHECK(size.has_value());
  CHECK(size.value() == out.size());
  return out;
}
std::string Integer(std::int64_t value) {
  return Written([&](TermWriter& writer) { writer.Integer(value); });
}
std::string Unsigned(std::uint64_t value) {
  return Written([&](TermWriter& writer) { writer.Unsigned(value); });
}

TEST_CASE("term writer: integers") {
  CHECK(Integer(0) == t::Small(0));
  CHECK(Integer(255) == t::Small(255));
  CHECK(Integer(256) == Bytes({98, 0, 0, 1, 0}));
  CHECK(Integer(-1) == Bytes({98, 255, 255, 255, 255}));
  CHECK(Unsigned(~std::uint64_t{0}) == Bytes({110, 8, 0}) + std::string(8, '\xff'));
  CHECK(Integer(std::numeric_limits<std::int64_t>::min()) ==
        Bytes({110, 8, 1, 0, 0, 0, 0, 0, 0, 0, 128}));
}

TEST_CASE("terms: integers of all sizes, there and back") {
  std::vector<std::int64_t> values = {0, std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::int64_t>::max()};
  for (int bit = 0; bit < 63; ++bit) {
    for (const std::int64_t delta : {-1, 0, 1}) {
      values.push_back((std::int64_t{1} << bit) + delta);
      values.push_back(-(std::int64_t{1} << bit) + delta);
    }
  }
  for (const std::int64_t value : values) {
    CAPTURE(value);
    const std::string term = Integer(value);
    TermReader reader(term);
    CHECK(reader.kind() == TermKind::kInteger);
    std::int64_t read = 0;
    REQUIRE(reader.ReadInteger(read));
    CHECK(read == value);
    CHECK(reader.AtEnd());
    std::uint64_t unsigned_read = 1;
    CHECK(TermReader(term).ReadUnsigned(unsigned_read) == (value >= 0));
    if (value >= 0) CHECK(unsigned_read == static_cast<std::uint64_t>(value));
  }
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    const std::string term = Unsigned(value);
    std::uint64_t read = 1;
    REQUIRE(TermReader(term).ReadUnsigned(read));
    CHECK(read == value);
    std::int64_t signed_read = 0;
    CHECK(TermReader(term).ReadInteger(signed_read) == (value == 0));
  }
}

TEST_CASE("term reader: integers as others write them") {
  std::int64_t read = 0;
  const auto reads = [&](const std::string& term) {
    CHECK(CheckTerm(term, 1).has_value());
    return TermReader(term).ReadInteger(read);
  };
  CHECK(reads(Bytes({110, 1, 1, 5})));
  CHECK(read == -5);
  CHECK(reads(Bytes({110, 0, 0})));
  CHECK(read == 0);
  CHECK(reads(Bytes({111, 0, 0, 0, 2, 0, 1, 1})));
  CHECK(read == 257);
  // Zeros in front.
  CHECK(reads(Bytes({110, 10, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0})));
  CHECK(read == 7);
  CHECK(reads(Bytes({110, 8, 1, 0, 0, 0, 0, 0, 0, 0, 128})));
  CHECK(read == std::numeric_limits<std::int64_t>::min());
  CHECK_FALSE(reads(Bytes({110, 8, 1, 1, 0, 0, 0, 0, 0, 0, 128})));
  CHECK_FALSE(reads(Bytes({110, 8, 0, 0, 0, 0, 0, 0, 0, 0, 128})));
  CHECK_FALSE(reads(Bytes({110, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})));
  // What has not been read is still there.
  const std::string large = Bytes({110, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  TermReader reader(large);
  CHECK_FALSE(reader.ReadInteger(read));
  CHECK(reader.position() == 0);
  double number = 0;
  CHECK(reader.ReadNumber(number));
  CHECK(number == std::ldexp(1, 64));
  CHECK(reader.AtEnd());
}

TEST_CASE("term reader: large integers as the nearest double") {
  const auto number = [](const std::string& term) {
    double value = 0;
    CHECK(TermReader(term).ReadNumber(value));
    return value;
  };
  // 2^64 + 2^11 is between two doubles, and one more is nearer to the next.
  CHECK(number(Bytes({110, 9, 0, 0, 8, 0, 0, 0, 0, 0, 0, 1})) == std::ldexp(1, 64));
  CHECK(number(Bytes({110, 9, 0, 1, 8, 0, 0, 0, 0, 0, 0, 1})) > std::ldexp(1, 64));
  CHECK(number(Bytes({110, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1})) == -std::ldexp(1, 64));
  CHECK(number(Bytes({110, 128, 0}) + std::string(127, '\0') + '\1') == std::ldexp(1, 1016));
  double value = 7;
  const std::string large = Bytes({110, 129, 0}) + std::string(128, '\0') + '\1';
  CHECK_FALSE(TermReader(large).ReadNumber(value));
  const std::string just_too_large = Bytes({110, 128, 0}) + std::string(128, '\xff');
  CHECK_FALSE(TermReader(just_too_large).ReadNumber(value));
  CHECK(value == 7);
}

TEST_CASE("terms: floats") {
  for (const double value : {0.0, -0.0, 1.5, -1e300, std::numeric_limits<double>::denorm_min(),
                             std::numeric_limits<double>::max()}) {
    const std::string term = Written([&](TermWriter& writer) { writer.Float(value); });
    CHECK(term == t::Float(value));
    double read = 7;
    REQUIRE(TermReader(term).ReadFloat(read));
    CHECK(read == value);
    CHECK(std::signbit(read) == std::signbit(value));
  }
  double read = 0;
  const std::string old = t::OldFloat("-1.50000000000000000000e+03") + "9";
  TermReader reader(old);
  CHECK(reader.kind() == TermKind::kFloat);
  REQUIRE(reader.ReadFloat(read));
  CHECK(read == -1500);
  CHECK(reader.position() == 32);
  CHECK_FALSE(TermReader(t::Small(1)).ReadFloat(read));
  CHECK(TermReader(t::Small(1)).ReadNumber(read));
  CHECK(read == 1);
  std::string out;
  CHECK_THROWS_WITH_AS(TermWriter(out).Float(std::nan("")), "nan is no float of Erlang",
                       std::invalid_argument);
  CHECK_THROWS_AS(TermWriter(out).Float(-std::numeric_limits<double>::infinity()),
                  std::invalid_argument);
  CHECK(out.empty());
}

TEST_CASE("terms: atoms") {
  std::string wide;
  for (int i = 0; i < 255; ++i) wide += "\xf0\x9f\x98\x80";
  for (const std::string& text : {std::string(), std::string("ok"), std::string("p\xc3\xb6ol"),
                                  std::string(255, 'x'), wide, std::string("a\0b", 3)}) {
    const std::string term = Written([&](TermWriter& writer) { writer.Atom(text); });
    CHECK(term ==
          (text.size() < 256 ? t::SmallAtom(text) : Bytes({118}) + Big(text.size(), 2) + text));
    TermReader reader(term);
    CHECK(reader.kind() == TermKind::kAtom);
    CHECK(reader.NextIsAtom(text));
    CHECK_FALSE(reader.NextIsAtom(text + "x"));
    std::string read;
    REQUIRE(reader.ReadAtomText(read));
    CHECK(read == text);
    CHECK(reader.AtEnd());
  }
  // Latin-1, of old nodes.
  for (const std::string& term :
       {Bytes({100, 0, 4, 'p', 0xf6, 'o', 'l'}), Bytes({115, 4, 'p', 0xf6, 'o', 'l'})}) {
    TermReader reader(term);
    CHECK(reader.NextIsAtom("p\xc3\xb6ol"));
    CHECK_FALSE(reader.NextIsAtom("p\xf6ol"));
    CHECK_FALSE(reader.NextIsAtom("pool"));
    CHECK(reader.ReadAtom().value() == gen::Atom("p\xc3\xb6ol"));
    CHECK(reader.AtEnd());
  }
  std::string out;
  CHECK_THROWS_WITH_AS(TermWriter(out).Atom("\xff"), "an atom has to be UTF-8",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(TermWriter(out).Atom(std::string(256, 'x')),
                       "an atom of 256 characters, at most 255 are possible",
                       std::invalid_argument);
  CHECK(out.empty());
  CHECK(Written([](TermWriter& writer) { writer.Boolean(true); }) == t::SmallAtom("true"));
  bool value = false;
  CHECK(TermReader(t::SmallAtom("true")).ReadBoolean(value));
  CHECK(value);
  CHECK(TermReader(t::SmallAtom("false")).ReadBoolean(value));
  CHECK_FALSE(value);
  CHECK_FALSE(TermReader(t::SmallAtom("maybe")).ReadBoolean(value));
}

TEST_CASE("terms: atoms that are new to the program have a limit") {
  const auto budget = std::make_shared<AtomBudget>(2);
  const auto read = [&](const std::string& text) {
    const std::string term = t::SmallAtom(text);
    TermReader reader(term, budget.get());
    auto atom = reader.ReadAtom();
    CHECK(reader.AtEnd() == atom.has_value());
    return atom;
  };
  CHECK(read("budget_first").value() == gen::Atom("budget_first"));
  CHECK(read("budget_first").has_value());  // not new any more
  CHECK(read("ok").has_value());
  CHECK(budget->used() <= 2);
  while (budget->used() < 2) CHECK(read("budget_" + std::to_string(budget->used())).has_value());
  const auto refused = read("budget_one_too_many");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() == gen::ErrNotAllowed);
  CHECK(refused.error().detail() == "messages have brought 2 new atoms, and may not bring more");
  CHECK_FALSE(gen::Atom::Find("budget_one_too_many").has_value());
  CHECK(read("budget_first").has_value());
  // The text alone is not an atom.
  const std::string term = t::SmallAtom("budget_one_too_many");
  std::string text;
  CHECK(TermReader(term, budget.get()).ReadAtomText(text));
  // The names of nodes are atoms, too.
  const std::string pid = t::Pid("budget_node@b", 1, 0, 1);
  TermReader reader(pid, budget.get());
  CHECK(reader.ReadPid().error() == gen::ErrNotAllowed);
  CHECK(reader.position() == 0);
  const std::string reference = t::Reference("budget_node@b", 1, {1});
  CHECK(TermReader(reference, budget.get()).ReadReference().error() == gen::ErrNotAllowed);
  // One of 255 characters may have more bytes than an atom here has.
  std::string wide;
  for (int i = 0; i < 255; ++i) wide += "\xc3\xa4";
  const std::string large = Bytes({118}) + Big(wide.size(), 2) + wide;
  CHECK(TermReader(large, budget.get()).ReadAtom().error() == gen::ErrUnsupported);
  CHECK(TermReader(large).ReadAtom().error() == gen::ErrUnsupported);
}

TEST_CASE("terms: binaries and charlists") {
  const std::string bytes("a\0\xff", 3);
  const std::string term = Written([&](TermWriter& writer) { writer.Binary(bytes); });
  CHECK(term == t::Binary(bytes));
  std::string_view read;
  REQUIRE(TermReader(term).ReadBinary(read));
  CHECK(read == bytes);
  CHECK(read.data() == term.data() + 5);
  CHECK_FALSE(TermReader(t::Small(1)).ReadBinary(read));

  const auto charlist = [](std::string_view text) {
    return Written([&](TermWriter& writer) { writer.Charlist(text); });
  };
  CHECK(charlist("") == t::kNil);
  CHECK(charlist("abc") == Bytes({107, 0, 3, 'a', 'b', 'c'}));
  CHECK(charlist("\xc3\xa4") == t::List({t::Small(0xe4)}));
  CHECK(charlist("\xe2\x82\xac") == t::List({Bytes({98, 0, 0, 0x20, 0xac})}));
  CHECK(charlist("\xff\xfe") == Bytes({107, 0, 2, 0xff, 0xfe}));
  CHECK(charlist(std::string(65535, 'x')).size() == 3 + 65535);
  CHECK(charlist(std::string(65536, 'x')).size() == 5 + 2 * 65536 + 1);
  CHECK(charlist(std::string(65536, '\xff')).size() == 5 + 2 * 65536 + 1);
}

TEST_CASE("terms: pids and references") {
  const gen::PID pid{std::uint64_t{0xfffffffe} << 32 | 0xfffffffd, "shell@localhost", 4711};
  const std::string term = Written([&](TermWriter& writer) { writer.Pid(pid); });
  CHECK(term == t::Pid("shell@localhost", 0xfffffffd, 0xfffffffe, 4711));
  TermReader reader(term);
  CHECK(reader.kind() == TermKind::kPid);
  CHECK(reader.ReadPid().value() == pid);
  CHECK(reader.AtEnd());
  CHECK(TermReader(t::Small(1)).ReadPid().error().detail() == "expected a pid");
  // A long name, written in the old way.
  const std::string name(240, 'n');
  const std::string old =
      Bytes({88, 100, 0, 242}) + name + "@h" + Big(1, 4) + Big(2, 4) + Big(3, 4);
  CHECK(TermReader(old).ReadPid().value() ==
        gen::PID{std::uint64_t{2} << 32 | 1, gen::Atom(name + "@h"), 3});

  for (std::uint32_t size = 1; size <= Reference::kMaxWords; ++size) {
    Reference reference{"shell@localhost", 4711, size, {}};
    std::vector<std::uint32_t> words;
    for (std::uint32_t i = 0; i < size; ++i) {
      reference.words[i] = 0xfffffff0 + i;
      words.push_back(0xfffffff0 + i);
    }
    const std::string bytes = Written([&](TermWriter& writer) { writer.Reference(reference); });
    CHECK(bytes == t::Reference("shell@localhost", 4711, words));
    CHECK(TermReader(bytes).ReadReference().value() == reference);
  }
  CHECK(Reference{"a@b", 1, 3, {1, 2, 3}}.ToString() == "#Ref<a@b.3.2.1>");
  CHECK(Reference{"a@b", 1, 3, {1, 2, 3}} != Reference{"a@b", 2, 3, {1, 2, 3}});
  CHECK_FALSE(Reference());
  const std::string nothing = Written([&](TermWriter& writer) { writer.Reference({}); });
  CHECK(TermReader(nothing).ReadReference().value() == Reference());
  std::string out;
  CHECK_THROWS_AS(TermWriter(out).Pid({1, "\xff", 1}), std::invalid_argument);
}

TEST_CASE("terms: tuples, lists, maps") {
  const std::string term = Written([](TermWriter& writer) {
    writer.Tuple(3);
    writer.List(2);
    writer.Integer(1);
    writer.Raw(t::SmallAtom("x"));
    writer.Nil();
    writer.Map(1);
    writer.Atom("key");
    writer.List(0);
    writer.Nil();
    writer.List(1);
    writer.Integer(2);
    writer.Integer(3);
  });
  CHECK(term ==
        t::Tuple({t::List({t::Small(1), t::SmallAtom("x")}), t::Map({t::SmallAtom("key"), t::kNil}),
                  t::List({t::Small(2)}, t::Small(3))}));
  TermReader reader(term);
  std::size_t size = 0;
  std::int64_t number = 0;
  CHECK_FALSE(reader.EnterList(size));
  REQUIRE(reader.EnterTuple(size));
  CHECK(size == 3);
  REQUIRE(reader.EnterList(size));
  CHECK(size == 2);
  CHECK(reader.ReadInteger(number));
  CHECK(reader.NextIsAtom("x"));
  reader.Skip();
  REQUIRE(reader.EnterList(size));
  CHECK(size == 0);
  REQUIRE(reader.EnterMap(size));
  CHECK(size == 1);
  CHECK(reader.ReadTerm() == t::SmallAtom("key"));
  CHECK(reader.ReadTerm() == t::kNil);
  REQUIRE(reader.EnterList(size));
  CHECK(size == 1);
  reader.Skip();
  CHECK_FALSE(reader.EnterList(size));
  CHECK(reader.ReadInteger(number));
  CHECK(number == 3);
  CHECK(reader.AtEnd());
  CHECK(reader.kind() == TermKind::kNothing);
  CHECK_FALSE(reader.EnterList(size));
  CHECK_FALSE(reader.ReadInteger(number));
  CHECK(reader.ReadTerm().empty());
}

TEST_CASE("terms: tuples of any size") {
  for (const std::size_t size : {0, 1, 255, 256, 70'000}) {
    const std::string at_once = Written([&](TermWriter& writer) {
      writer.Tuple(size);
      for (std::size_t i = 0; i < size; ++i) writer.Nil();
    });
    const std::string patched = Written([&](TermWriter& writer) {
      const std::size_t opened = writer.OpenTuple();
      for (std::size_t i = 0; i < size; ++i) writer.Nil();
      writer.CloseTuple(opened, size);
    });
    CHECK(at_once == patched);
    TermReader reader(at_once);
    std::size_t read = 1;
    CHECK(reader.EnterTuple(read));
    CHECK(read == size);
    const std::string map = Written([&](TermWriter& writer) {
      const std::size_t opened = writer.OpenMap();
      for (std::size_t i = 0; i < 2 * size; ++i) writer.Nil();
      writer.CloseMap(opened, size);
    });
    CHECK(map == Bytes({116}) + Big(size, 4) + std::string(2 * size, 'j'));
  }
}

TEST_CASE("term reader: a charlist is a list") {
  const std::string term = t::Tuple({Bytes({107, 0, 3, 1, 200, 3}), t::Small(9)});
  TermReader reader(term);
  std::size_t size = 0;
  std::int64_t number = 0;
  std::uint64_t unsigned_number = 0;
  reader.EnterTuple(size);
  CHECK(reader.kind() == TermKind::kList);
  REQUIRE(reader.EnterList(size));
  CHECK(size == 3);
  CHECK(reader.kind() == TermKind::kInteger);
  CHECK_FALSE(reader.EnterTuple(size));
  CHECK(reader.ReadInteger(number));
  CHECK(number == 1);
  TermReader copy = reader;
  CHECK(copy.ReadTerm() == t::Small(200));
  copy.Skip();
  CHECK(copy.ReadTerm() == t::kNil);
  CHECK(copy.ReadTerm() == t::Small(9));
  CHECK(reader.ReadUnsigned(unsigned_number));
  CHECK(unsigned_number == 200);
  double real = 0;
  CHECK(reader.ReadNumber(real));
  CHECK(real == 3);
  CHECK(reader.kind() == TermKind::kList);
  CHECK_FALSE(reader.ReadInteger(number));
  REQUIRE(reader.EnterList(size));
  CHECK(size == 0);
  CHECK(reader.ReadInteger(number));
  CHECK(number == 9);
  CHECK(reader.AtEnd());
  // Skipped as a whole, and an empty one.
  TermReader whole(term);
  whole.EnterTuple(size);
  whole.Skip();
  CHECK(whole.ReadTerm() == t::Small(9));
  const std::string empty = Bytes({107, 0, 0});
  TermReader nothing(empty);
  CHECK(nothing.EnterList(size));
  CHECK(size == 0);
  CHECK(nothing.AtEnd());
}

TEST_CASE("term reader: every kind is left out as a whole") {
  std::string all;
  for (const std::string& term : t::All()) all += term;
  TermReader reader(all);
  for (const std::string& term : t::All()) CHECK(reader.ReadTerm() == term);
  CHECK(reader.AtEnd());
}

TEST_CASE("term reader: deep terms are left out without a stack" * kit::OneThread()) {
  std::string term;
  for (int i = 0; i < 1'000'000; ++i) term += Bytes({104, 1});
  term += t::Small(1);
  TermReader reader(term);
  reader.Skip();
  CHECK(reader.AtEnd());
}

}  // namespace
}  // namespace ergon::dist::erlang_encoding_test
