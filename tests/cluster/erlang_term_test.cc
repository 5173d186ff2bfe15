#include <ergon/node/erlang/term.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <ergon/node/erlang/terms/canonical.h>
#include <ergon/node/erlang/terms/check.h>
#include <ergon/node/erlang/terms/literals.h>
#include <terms.h>

#include <kit/eventually.h>
#include <kit/one_thread.h>

namespace ergon::dist::erlang_term_test {
namespace {

namespace t = terms;
using t::Big;
using t::Bytes;

Term Of(const std::string& raw) {
  auto term = Term::FromBytes(Bytes({131}) + raw);
  REQUIRE(term.has_value());
  return std::move(*term);
}
std::string Text(const std::string& raw) { return Of(raw).ToString(); }

TEST_CASE("term: made of values, and looked at") {
  CHECK(Term().raw() == t::kNil);
  CHECK(Term().kind() == Term::Kind::kList);
  CHECK(Term() == Term::List({}));
  CHECK(Term::Atom("ok").raw() == t::SmallAtom("ok"));
  CHECK(Term::Tuple({Term::Atom("ok"), 6}).raw() == t::Tuple({t::SmallAtom("ok"), t::Small(6)}));
  CHECK(Term::List({1, true, 1.5}).raw() ==
        t::List({t::Small(1), t::SmallAtom("true"), t::Float(1.5)}));
  CHECK(Term::Map({{Term::Atom("a"), Term::Of("b")}}).raw() ==
        t::Map({t::SmallAtom("a"), t::Binary("b")}));
  CHECK(Term::Of(gen::Atom("ok")) == Term::Atom("ok"));
  CHECK(Term(gen::Atom("ok")) == Term::Atom("ok"));
  CHECK(Term::Of(std::string("text")).raw() == t::Binary("text"));
  CHECK(Term::Of(Term::Atom("ok")) == Term::Atom("ok"));

  CHECK(Term(7).AsInteger() == 7);
  CHECK(Term(~std::uint64_t{0}).AsInteger() == std::nullopt);
  CHECK(Term(~std::uint64_t{0}).AsUnsigned() == ~std::uint64_t{0});
  CHECK(Term(1.5).AsFloat() == 1.5);
  CHECK(Term(1).AsFloat() == std::nullopt);
  CHECK(Term(true).AsBoolean() == true);
  CHECK(Term::Atom("maybe").AsBoolean() == std::nullopt);
  CHECK(Term::Atom("ok").AsAtomText() == "ok");
  CHECK(Term::Of("ok").AsAtomText() == std::nullopt);
  CHECK(Term::Of("ok").AsText() == "ok");
  CHECK(Term::Atom("ok").AsText() == std::nullopt);
  const gen::PID pid{12, "shell@localhost", 3};
  CHECK(Term(pid).AsPid() == pid);
  CHECK(Term(1).AsPid() == std::nullopt);
  const Reference reference{"shell@localhost", 3, 3, {1, 2, 3}};
  CHECK(Term(reference).AsReference() == reference);
  CHECK(Term(1).AsReference() == std::nullopt);
  const gen::Alias alias{std::uint64_t{5} << 32 | 6, "shell@localhost", 3};
  CHECK(Term(alias).AsReference() == Reference{"shell@localhost", 3, 3, {6, 5, 0}});
  CHECK(Term(alias).To<gen::Alias>().value() == alias);
}

TEST_CASE("term: kinds") {
  using Kind = Term::Kind;
  const std::vector<Kind> kinds = {
      Kind::kInteger,  Kind::kInteger,  Kind::kInteger,   Kind::kInteger, Kind::kFloat,
      Kind::kFloat,    Kind::kAtom,     Kind::kAtom,      Kind::kAtom,    Kind::kAtom,
      Kind::kAtom,     Kind::kTuple,    Kind::kTuple,     Kind::kTuple,   Kind::kList,
      Kind::kList,     Kind::kList,     Kind::kList,      Kind::kBinary,  Kind::kBitstring,
      Kind::kMap,      Kind::kPid,      Kind::kReference, Kind::kPort,    Kind::kPort,
      Kind::kFunction, Kind::kFunction, Kind::kTuple};
  const std::vector<std::string> all = t::All();
  REQUIRE(all.size() == kinds.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    CHECK(Of(all[i]).kind() == kinds[i]);
    CHECK(Of(all[i]).raw() == all[i]);
    CHECK(Of(all[i]) == Of(all[i]));
    CHECK(Of(all[i]).Bytes() == Bytes({131}) + all[i]);
    CHECK_FALSE(Of(all[i]).ToString().empty());
  }
}

TEST_CASE("term: elements") {
  const Term tuple = Term::Tuple({1, Term::List({2, 3}), 4});
  CHECK(tuple.size() == 3);
  CHECK(tuple[0] == 1);
  CHECK(tuple[1][1] == 3);
  CHECK(tuple[2] == 4);
  CHECK_THROWS_WITH_AS((void)tuple[3], "no element 3 in {1,[2,3],4}", std::out_of_range);
  CHECK(tuple.Elements().size() == 3);
  CHECK(tuple.Elements()[1] == Term::List({2, 3}));
  const Term text = Of(Bytes({107, 0, 3, 'a', 'b', 'c'}));
  CHECK(text.size() == 3);
  CHECK(text[2] == int{'c'});
  CHECK(text.Elements() == std::vector<Term>{97, 98, 99});
  CHECK_THROWS_AS((void)text[3], std::out_of_range);
  const Term improper = Of(t::List({t::Small(1)}, t::Small(2)));
  CHECK(improper.size() == 1);
  CHECK(improper.Elements() == std::vector<Term>{1});
  // A list whose tail is one: nobody writes it so, but it is one list.
  const Term chain = Of(t::List({t::Small(1)}, t::List({t::Small(2)}, Bytes({107, 0, 1, 3}))));
  CHECK(chain == Term::List({1, 2, 3}));
  CHECK(chain.size() == 3);
  CHECK(chain[2] == 3);
  CHECK(chain.ToString() == "[1,2,3]");
  for (const Term& other : {Term(1), Term::Of("text"), Term(), Term::Atom("a")}) {
    CHECK(other.size() == 0);
    CHECK(other.Elements().empty());
    CHECK(other.Entries().empty());
    CHECK_FALSE(other.Find("a").has_value());
    CHECK_THROWS_AS((void)other[0], std::out_of_range);
  }
  // A part lives on its own.
  Term part = Term::Tuple({Term::Of(std::string(100, 'x')), 2})[0];
  CHECK(part.AsText() == std::string(100, 'x'));
}

TEST_CASE("term: maps") {
  const Term map = Term::Map(
      {{Term::Atom("a"), 1}, {Term::Of("b"), 2}, {Term::List({97}), 3}, {2, Term::Map({{1, 4}})}});
  CHECK(map.size() == 4);
  CHECK(map.Find("a") == Term(1));
  CHECK(map.Find(Term::Atom("a")) == Term(1));
  CHECK(map.Find(Term::Of("b")) == Term(2));
  CHECK(map.Find(Of(Bytes({107, 0, 1, 97}))) == Term(3));
  CHECK(map.Find(2)->Find(1) == Term(4));
  CHECK_FALSE(map.Find("b").has_value());
  CHECK_FALSE(map.Find(2.0).has_value());
  CHECK(map.Entries().size() == 4);
  CHECK(map.Entries()[1].first == Term::Of("b"));
  CHECK(map.Entries()[3].second.size() == 1);
  CHECK_THROWS_WITH_AS((void)Term::Map({{1, 2}, {1, 3}}),
                       "a map that has a key twice: #{1 => 2,1 => 3}", std::invalid_argument);
}

TEST_CASE("term: equal as in Erlang, however written") {
  const auto equal = [](const std::string& left, const std::string& right) {
    const bool same = Of(left) == Of(right);
    CHECK(same == (Of(right) == Of(left)));
    // The same within others.
    CHECK(same == (Of(t::Tuple({left, t::Map({right, left})})) ==
                   Of(t::Tuple({right, t::Map({left, right})}))));
    return same;
  };
  CHECK(equal(t::Small(5), Bytes({98, 0, 0, 0, 5})));
  CHECK(equal(t::Small(5), Bytes({110, 1, 0, 5})));
  CHECK(equal(Bytes({110, 9, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
              Bytes({111, 0, 0, 0, 11, 7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0})));
  CHECK_FALSE(equal(Bytes({110, 9, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
                    Bytes({110, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9})));
  CHECK_FALSE(equal(t::Small(1), t::Float(1)));
  CHECK(equal(t::Float(1.5), t::OldFloat("1.5")));
  CHECK_FALSE(equal(t::Float(0.0), t::Float(-0.0)));
  CHECK(equal(t::SmallAtom("\xc3\xa4"), Bytes({115, 1, 0xe4})));
  CHECK(equal(t::SmallAtom("ok"), Bytes({118, 0, 2, 'o', 'k'})));
  CHECK_FALSE(equal(t::SmallAtom("ok"), t::Binary("ok")));
  CHECK(equal(Bytes({107, 0, 2, 1, 2}), t::List({t::Small(1), t::Small(2)})));
  CHECK(equal(Bytes({107, 0, 0}), t::kNil));
  CHECK_FALSE(equal(t::List({t::Small(1)}), t::List({t::Small(1)}, t::Small(2))));
  CHECK_FALSE(equal(t::List({t::Small(1)}), t::List({t::List({t::Small(1)})})));
  CHECK(equal(t::Tuple({t::Small(1)}), Bytes({105, 0, 0, 0, 1}) + t::Small(1)));
  CHECK_FALSE(equal(t::Tuple({t::Small(1)}), t::List({t::Small(1)})));
  CHECK(equal(t::Map({t::Small(1), t::Small(2), t::Small(3), t::kNil}),
              t::Map({t::Small(3), t::kNil, Bytes({98, 0, 0, 0, 1}), t::Small(2)})));
  CHECK_FALSE(equal(t::Map({t::Small(1), t::Small(2)}), t::Map({t::Small(2), t::Small(1)})));
  CHECK_FALSE(equal(t::Map({t::Small(1), t::Small(2)}), t::Map({})));
  CHECK(equal(t::Map({t::Map({t::Small(1), t::Small(2), t::Small(3), t::Small(4)}), t::kNil}),
              t::Map({t::Map({t::Small(3), t::Small(4), t::Small(1), t::Small(2)}), t::kNil})));
  CHECK(equal(t::Pid("a@b", 1, 2, 3),
              Bytes({88, 115, 3}) + "a@b" + Big(1, 4) + Big(2, 4) + Big(3, 4)));
  CHECK_FALSE(equal(t::Pid("a@b", 1, 2, 3), t::Pid("a@b", 1, 2, 4)));
  CHECK_FALSE(equal(t::Pid("a@b", 1, 2, 3), t::Pid("a@c", 1, 2, 3)));
  CHECK(equal(t::Reference("a@b", 1, {2, 3}),
              Bytes({90, 0, 2, 100, 0, 3}) + "a@b" + Big(1, 4) + Big(2, 4) + Big(3, 4)));
  CHECK_FALSE(equal(t::Reference("a@b", 1, {2, 3}), t::Reference("a@b", 1, {2, 3, 0})));
  CHECK(equal(Bytes({89}) + t::SmallAtom("a@b") + Big(5, 4) + Big(6, 4),
              Bytes({120}) + t::SmallAtom("a@b") + Big(5, 8) + Big(6, 4)));
  CHECK(equal(t::Export(), Bytes({113, 115, 5}) + "lists" + t::SmallAtom("map") + t::Small(2)));
  CHECK(equal(t::Function(), t::Function()));
  // <<1:1>>: what the other bits of its byte are does not matter.
  CHECK(equal(Bytes({77, 0, 0, 0, 1, 1, 0x80}), Bytes({77, 0, 0, 0, 1, 1, 0x81})));
  CHECK_FALSE(equal(Bytes({77, 0, 0, 0, 1, 1, 0x80}), Bytes({77, 0, 0, 0, 1, 1, 0})));
  CHECK_FALSE(equal(Bytes({77, 0, 0, 0, 1, 2, 0x80}), Bytes({77, 0, 0, 0, 1, 1, 0x80})));
}

TEST_CASE("term: another kind is another one at once, and maps in maps are copied once") {
  // If what is in a map were copied again for each map around it, this would take minutes.
  constexpr int kDepth = 900;
  const auto nested = [](const std::string& head, const std::string& number) {
    std::string term;
    for (int i = 0; i < kDepth; ++i) term += head;
    return Of(term + t::Tuple({number, t::Binary(std::string(kit::Scaled(16'000'000), 'x'))}));
  };
  const std::string one_key = Bytes({116, 0, 0, 0, 1}) + t::Small(1);
  // Keys in another order than they have when maps are compared.
  const std::string two_keys = Bytes({116, 0, 0, 0, 2}) + t::Small(2) + t::kNil + t::Small(1);
  for (const std::string& head : {one_key, two_keys}) {
    const Term one = nested(head, t::Small(5));
    CHECK(one == nested(head, Bytes({98, 0, 0, 0, 5})));
    CHECK_FALSE(one == nested(head, t::Small(6)));
    for (int i = 0; i < 1000; ++i) CHECK_FALSE(one == Term::Atom("stop"));
  }
}

TEST_CASE("term: large entries of maps in maps are equal whatever their order") {
  const auto text = [](char letter) { return t::Binary(std::string(100, letter)); };
  const auto in_both = [](const std::string& one, const std::string& two) {
    return t::Map({t::Small(1), t::Map({t::Map({one, two}), one}), t::Small(2), two});
  };
  const std::string forth = t::Map({text('a'), t::Small(1), t::Small(3), text('b')});
  const std::string back = t::Map({t::Small(3), text('b'), text('a'), Bytes({98, 0, 0, 0, 1})});
  const std::string other = t::Map({text('a'), t::Small(1), t::Small(3), text('c')});
  CHECK(Of(in_both(forth, back)) == Of(in_both(back, forth)));
  CHECK_FALSE(Of(in_both(forth, forth)) == Of(in_both(forth, other)));
  CHECK_FALSE(Of(in_both(forth, forth)) == Of(in_both(other, forth)));
}

TEST_CASE("term: printed as by Erlang") {
  CHECK(Text(t::Small(42)) == "42");
  CHECK(Text(Bytes({98, 255, 255, 255, 254})) == "-2");
  CHECK(Text(Bytes({110, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1})) == "-18446744073709551616");
  CHECK(Text(Bytes({110, 200, 0}) + std::string(199, '\0') + '\1').substr(0, 8) == "16#10000");
  CHECK(Text(t::Float(1)) == "1.0");
  CHECK(Text(t::SmallAtom("ok")) == "ok");
  CHECK(Text(t::SmallAtom("")) == "''");
  CHECK(Text(t::SmallAtom("Ok")) == "'Ok'");
  CHECK(Text(t::SmallAtom("a@b.c")) == "'a@b.c'");
  CHECK(Text(t::SmallAtom("case")) == "'case'");
  CHECK(Text(t::SmallAtom("it's\n\1")) == "'it\\'s\\n\\001'");
  CHECK(Text(t::SmallAtom("p\xc3\xb6ol")) == "p\xc3\xb6ol");
  CHECK(Text(t::SmallAtom("\xe2\x82\xac")) == "'\xe2\x82\xac'");
  CHECK(Text(t::Binary("")) == "<<>>");
  CHECK(Text(t::Binary("say \"x\"\\")) == "<<\"say \\\"x\\\"\\\\\">>");
  CHECK(Text(t::Binary("\xc3\xa4")) == "<<\"\xc3\xa4\"/utf8>>");
  CHECK(Text(t::Binary("\x01\xff")) == "<<1,255>>");
  CHECK(Text(Bytes({77}) + Big(2, 4) + Bytes({3, 0xff, 0xa0})) == "<<255,5:3>>");
  CHECK(Text(Bytes({77}) + Big(1, 4) + Bytes({1, 0x80})) == "<<1:1>>");
  CHECK(Text(t::Tuple({})) == "{}");
  CHECK(Text(t::kNil) == "[]");
  CHECK(Text(Bytes({107, 0, 3, 'a', 'b', 'c'})) == "\"abc\"");
  CHECK(Text(Bytes({107, 0, 3, 1, 2, 3})) == "[1,2,3]");
  CHECK(Text(t::List({t::Small('a'), t::Small(0)})) == "[97,0]");
  CHECK(Text(t::List({t::Small('a')}, t::Small('b'))) == "[97|98]");
  CHECK(Text(t::List({t::kNil})) == "[[]]");
  CHECK(Text(t::Map({})) == "#{}");
  CHECK(Text(t::Pid("shell@localhost", 12, 3, 7)) == "<shell@localhost.12.3>");
  CHECK(Text(t::Reference("a@b", 7, {1, 2, 3})) == "#Ref<a@b.3.2.1>");
  CHECK(Text(Bytes({89}) + t::SmallAtom("a@b") + Big(5, 4) + Big(6, 4)) == "#Port<a@b.5>");
  CHECK(Text(Bytes({120}) + t::SmallAtom("a@b") + Big(5, 8) + Big(6, 4)) == "#Port<a@b.5>");
  CHECK(Text(t::Export()) == "fun lists:map/2");
  CHECK(Text(t::Function()) == "#Fun<erl_eval.44.99>");
  CHECK(fmt::format("{:>6}", Term::Atom("ok")) == "    ok");
  CHECK(
      fmt::format("{}", Term::Tuple({Term::Atom("ok"), Term::Of("abc"), Term::List({1, 2}),
                                     Term::Map({{Term::Atom("a"), 1}, {Term::Atom("b"), 2.5}})})) ==
      "{ok,<<\"abc\">>,[1,2],#{a => 1,b => 2.5}}");
  CHECK(fmt::format("{}", Reference{"a@b", 1, 1, {9}}) == "#Ref<a@b.9>");
}

TEST_CASE("term: what is printed has a bound" * kit::OneThread()) {
  constexpr int kBytes = kit::Scaled(1'000'000, 5);
  constexpr int kElements = kit::Scaled(100'000, 5);
  for (const Term& term :
       {Term::Of(std::string(kBytes, 'x')), Term::Of(std::string(kBytes, '\1')),
        Term::List(std::vector<Term>(kElements, Term(7))),
        Term::List(std::vector<Term>(kElements, Term(int{'x'}))),
        Of(Bytes({111}) + Big(kBytes, 4) + Bytes({0}) + std::string(kBytes, '\7')),
        Of(t::List(std::vector<std::string>(1000, t::SmallAtom(std::string(200, '\1')))))}) {
    const std::string text = term.ToString(100);
    CHECK(text.size() == 103);
    CHECK(text.ends_with("..."));
    CHECK(term.ToString().size() == Term::kUsualText + 3);
  }
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "\xc3\xa4";
  CHECK(Term::Of(umlauts).ToString(10) == "<<\"\xc3\xa4\xc3\xa4\xc3\xa4...");
  // No bound at all: 2^1100 has 332 digits, or is cut off, but is no other number.
  const std::string large =
      Term::FromChecked(Bytes({110, 138, 0}) + std::string(137, '\0') + '\x10')
          .ToString(std::string::npos);
  CHECK(large == Term::FromChecked(Bytes({110, 138, 0}) + std::string(137, '\0') + '\x10')
                     .ToString(1'000'000));
  // Deep ones need no stack.
  std::string deep;
  constexpr int kDeep = kit::Scaled(500'000, 5);
  for (int i = 0; i < kDeep; ++i) deep += Bytes({104, 1});
  const Term term = Term::FromChecked(deep + t::kNil);
  CHECK(term.ToString(10) == "{{{{{{{{{{...");
  CHECK(term.ToString(2'000'000).size() == 2 * kDeep + 2);
  CHECK(term == Term::FromChecked(deep + Bytes({107, 0, 0})));
}

TEST_CASE("term: from bytes and back") {
  CHECK(Term::FromBytes(Bytes({131, 97, 5})).value() == 5);
  CHECK(Term(5).Bytes() == Bytes({131, 97, 5}));
  const auto problem = [](const std::string& bytes, std::size_t depth = 1000) {
    const auto term = Term::FromBytes(bytes, depth);
    REQUIRE_FALSE(term.has_value());
    CHECK(term.error() == gen::ErrIncorrect);
    return std::string(term.error().detail());
  };
  CHECK(problem("") == "no term: it does not begin with 131");
  CHECK(problem(Bytes({97, 5})) == "no term: it does not begin with 131");
  CHECK(problem(Bytes({131})) == "no term: one that is cut off at byte 0");
  CHECK(problem(Bytes({131, 97, 5, 6})) == "1 bytes behind a term");
  CHECK(problem(Bytes({131, 104, 1, 104, 0}), 1) == "no term: a level deeper than 1 at byte 2");
}

TEST_CASE("term: values in it") {
  CHECK(Term(7).To<int>().value() == 7);
  CHECK(Term::List({1, 2}).To<std::vector<int>>().value() == std::vector<int>{1, 2});
  CHECK(Term::Of(std::vector<int>{1, 2}) == Term::List({1, 2}));
  CHECK(Term::Tuple({1, 2}).To<std::vector<Term>>().error().detail() ==
        "expected a list, found {1,2}");
  CHECK(Term(300).To<std::int8_t>().error().detail() ==
        "expected an integer of -128..127, found 300");
  CHECK_THROWS_WITH_AS((void)Term::Of(std::vector<double>{1, 1.0 / 0.0}),
                       "[1]: inf is no float of Erlang", std::invalid_argument);
}

// ---- what Erlang itself says

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/ergon-term-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Folder() { (void)std::system(("rm -r " + path_).c_str()); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + '/' + name; }

 private:
  std::string path_;
};

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// What is compared, as Erlang source text.
const char* const kSources[] = {"0",
                                "255",
                                "256",
                                "-1",
                                "1 bsl 27",
                                "-(1 bsl 27)",
                                "1 bsl 31",
                                "1 bsl 62",
                                "-(1 bsl 63)",
                                "1 bsl 63",
                                "1 bsl 64",
                                "-(1 bsl 64)",
                                "1 bsl 300",
                                "0.0",
                                "1.5",
                                "-1.0e300",
                                "1.0e-300",
                                "123456789012345680.0",
                                "1.0e15",
                                "0.001",
                                "5.0e-324",
                                "ok",
                                "''",
                                "'Hello World'",
                                "'case'",
                                "a@b",
                                "list_to_atom([16#20ac])",
                                "list_to_atom([228,98])",
                                "list_to_atom(lists:duplicate(255, $x))",
                                "list_to_atom(lists:duplicate(255, 16#1f600))",
                                "true",
                                "undefined",
                                "<<>>",
                                "<<\"abc\">>",
                                "<<1,2,255>>",
                                "<<5:3>>",
                                "<<255,1:1>>",
                                "[]",
                                "\"abc\"",
                                "[1,2,300]",
                                "lists:seq(1, 300)",
                                "[a|b]",
                                "[1,2|3]",
                                "lists:duplicate(70000, $x)",
                                "{}",
                                "{a,1}",
                                "list_to_tuple(lists:seq(1, 300))",
                                "#{}",
                                "#{a => 1}",
                                "#{<<\"k\">> => [1], 2 => {3}, 1.5 => x}",
                                "maps:from_list([{I, I} || I <- lists:seq(1, 100)])",
                                "{ok,[{x,<<\"y\">>,\"z\"},#{a => [#{b => []}]}]}",
                                "[[],[[]],[[[]]]]",
                                "fun lists:map/2",
                                "{'an atom',\"with \\\"quotes\\\" and \\\\\",<<\"tab\\t\">>}",
                                "[7,8,9,10,11,12,13,27,32,126]",
                                "[127]",
                                "<<127>>",
                                "'a\\tb\\e\\x{7f}'",
                                "\"\\d\""};

TEST_CASE("term: the same to Erlang as to us") {
  if (std::system("command -v erl >/dev/null 2>&1") != 0) {
    MESSAGE("no erl here: nothing is compared with Erlang");
    return;
  }
  const Folder folder;
  // Erlang writes each of the terms, its text, and for each of ours whether it can read it and
  // writes it back.
  std::string script = "-module(golden).\n-export([main/0]).\nterms() -> [";
  for (const char* source : kSources)
    script += std::string(source == kSources[0] ? "" : ",\n") + source;
  script +=
      ", self(), make_ref(), alias(), hd(erlang:ports()), fun(X) -> X end].\n"
      "main() ->\n"
      "  Packed = fun(B) -> <<(byte_size(B)):32, B/binary>> end,\n"
      "  ok = file:write_file(\"theirs\", [Packed(term_to_binary(T)) || T <- terms()]),\n"
      "  ok = file:write_file(\"texts\", "
      "[Packed(unicode:characters_to_binary(io_lib:format(\"~0tp\", [T]))) || T <- terms()]),\n"
      "  {ok, Ours} = file:read_file(\"ours\"),\n"
      "  ok = file:write_file(\"back\", [Packed(term_to_binary(binary_to_term(B))) || <<N:32, "
      "B:N/binary>> <= Ours]),\n"
      "  {ok, Floats} = file:read_file(\"floats\"),\n"
      "  ok = file:write_file(\"float_texts\", [io_lib:format(\"~w~n\", [F]) || <<F/float>> <= "
      "Floats]),\n"
      "  halt(0).\n";
  WriteFile(folder / "golden.erl", script);

  std::vector<Term> ours;
  for (const std::string& raw : t::All()) {
    // Erlang writes the variables of a function in another way than those here.
    if (raw != t::Function()) ours.push_back(Of(raw));
  }
  ours.push_back(Term::Of(gen::PID{std::uint64_t{1} << 32 | 7, "shell@localhost", 4711}));
  ours.push_back(Term::Of(Reference{"shell@localhost", 4711, 5, {1, 2, 3, 4, 5}}));
  ours.push_back(Term::Of(Charlist{"p\xc3\xb6ol \xe2\x82\xac"}));
  ours.push_back(Term(std::numeric_limits<std::int64_t>::min()));
  ours.push_back(Term(~std::uint64_t{0}));
  for (int bit = 0; bit < 64; ++bit) ours.push_back(Term(std::uint64_t{1} << bit));
  ours.push_back(Term::List(std::vector<Term>(300, Term::Of(std::string(300, 'x')))));
  ours.push_back(Term::Tuple(std::vector<Term>(300, Term(1.25))));
  std::string packed;
  for (const Term& term : ours) packed += Big(term.Bytes().size(), 4) + term.Bytes();
  WriteFile(folder / "ours", packed);

  std::vector<double> floats = {0.0,
                                1.0,
                                0.1,
                                1e15,
                                1e16,
                                1e21,
                                1e22,
                                1e23,
                                123456.789,
                                9007199254740991.0,
                                9007199254740992.0,
                                9007199254740993.0,
                                1e-4,
                                1e-5,
                                1.5e-7,
                                5e-324,
                                1.7976931348623157e308,
                                1200000.0,
                                1234567890123456.0,
                                12345678901234567.0};
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const int digits = static_cast<int>(random() % 17) + 1;
    const auto number =
        static_cast<double>(random() % static_cast<std::uint64_t>(std::pow(10, digits)));
    floats.push_back(number * std::pow(10, static_cast<int>(random() % 60) - 40));
    floats.push_back(-number / 8);
  }
  std::string float_bytes;
  for (const double value : floats) float_bytes += t::Float(value).substr(1);
  WriteFile(folder / "floats", float_bytes);

  const std::string command =
      "cd " + (folder / "") +
      " && erlc golden.erl > log 2>&1 && erl -noshell +pc unicode -run golden main >> log 2>&1";
  const int status = std::system(command.c_str());
  INFO(ReadFile(folder / "log"));
  REQUIRE(status == 0);

  const auto unpack = [&](const std::string& name) {
    const std::string bytes = ReadFile(folder / name);
    std::vector<std::string> parts;
    for (std::size_t at = 0; at + 4 <= bytes.size();) {
      std::size_t size = 0;
      for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(bytes[at++]);
      parts.push_back(bytes.substr(at, size));
      at += size;
    }
    return parts;
  };
  // Theirs: read, equal to what they mean, and printed as they do.
  const std::vector<std::string> theirs = unpack("theirs");
  const std::vector<std::string> texts = unpack("texts");
  constexpr std::size_t kCount = std::size(kSources);
  REQUIRE(theirs.size() == kCount + 5);
  REQUIRE(texts.size() == theirs.size());
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    CAPTURE(texts[i].substr(0, 100));
    const auto term = Term::FromBytes(theirs[i]);
    REQUIRE(term.has_value());
    CHECK(term->Bytes() == theirs[i]);
    // Large maps are in an order that only they know; pids and the like have the name of the node
    // here.
    if (i < kCount && term->kind() != Term::Kind::kMap) {
      CHECK(term->ToString(1'000'000) == texts[i]);
    }
  }
  // A process of a node that has no name.
  CHECK(Term::FromBytes(theirs[kCount])->kind() == Term::Kind::kPid);
  CHECK_FALSE(Term::FromBytes(theirs[kCount])->AsPid());
  CHECK(Term::FromBytes(theirs[kCount + 1])->AsReference().has_value());
  CHECK(Term::FromBytes(theirs[kCount + 2])->AsReference().has_value());
  CHECK(Term::FromBytes(theirs[kCount + 3])->kind() == Term::Kind::kPort);
  CHECK(Term::FromBytes(theirs[kCount + 4])->kind() == Term::Kind::kFunction);
  // Ours: read by them, and equal when they write them.
  const std::vector<std::string> back = unpack("back");
  REQUIRE(back.size() == ours.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    const auto term = Term::FromBytes(back[i]);
    REQUIRE(term.has_value());
    CAPTURE(ours[i].ToString(100));
    CAPTURE(term->ToString(100));
    CHECK(*term == ours[i]);
  }
  std::ifstream float_texts(folder / "float_texts");
  for (const double value : floats) {
    std::string text;
    REQUIRE(std::getline(float_texts, text));
    CHECK(FloatText(value) == text);
  }
}

}  // namespace
}  // namespace ergon::dist::erlang_term_test
