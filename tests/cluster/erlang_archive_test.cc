#include <ergon/node/erlang/archive.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/atom_budget.h>
#include <ergon/node/erlang/terms/check.h>
#include <ergon/node/node.h>
#include <terms.h>

// As cereal has it, so that what was written for that works.
namespace imitation {
template <class T>
struct NameValuePair {
  const char* name;
  T value;
};
template <class T>
NameValuePair<T> MakeNvp(const char* name, T&& value) {
  return {name, std::forward<T>(value)};
}
}  // namespace imitation

namespace ergon::dist::erlang_archive_test {
namespace {

namespace t = terms;
using t::Bytes;

// ---- types

struct Count {
  static constexpr const char* kTag = "count";
  std::string text;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text);
  }
  friend bool operator==(const Count&, const Count&) = default;
};

struct Item {
  int no = 0;
  double price = 0;
  std::optional<std::string> note;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(Field("no", no), Field("price", price));
    archive(imitation::MakeNvp("note", note));
  }
  friend bool operator==(const Item&, const Item&) = default;
};

struct Order {
  static constexpr std::string_view kTag = "order";
  std::vector<Item> items;
  std::map<std::string, Count> counts;
  template <class Archive>
  void serialize(Archive& archive) {
    archive& Field("items", items) & counts;
  }
  friend bool operator==(const Order&, const Order&) = default;
};

struct Outside {
  std::uint8_t x = 0;
};
template <class Archive>
void serialize(Archive& archive, Outside& value) {
  archive(Field("x", value.x));
}

struct Stop {
  static constexpr const char* kTag = "stop";
};
struct Start {
  static constexpr const char* kTag = "start";
  template <class Archive>
  void serialize(Archive&) {}
};

struct Tree {
  int value = 0;
  std::vector<Tree> children;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(Field("value", value), Field("children", children));
  }
};

struct Nameless {
  int first = 0;
  int second = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(Field("first", first), second);
  }
};
struct WithNameless {
  static constexpr const char* kTag = "with";
  std::vector<std::optional<Nameless>> inner;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(inner);
  }
};
struct Twice {
  int first = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(Field("x", first), Field("x", first));
  }
};

// Is it read or written?
struct Asking {
  int value = 1;
  bool was_read = false;
  template <class Archive>
  void serialize(Archive& archive) {
    static_assert(Archive::is_loading::value != Archive::is_saving::value);
    archive(Field("value", value));
    if constexpr (Archive::is_loading::value) was_read = true;
  }
};

enum class Color : std::uint8_t { kRed, kGreen };

// ---- both ways

template <class T>
std::string Raw(const T& value) {
  std::string out;
  const auto written = detail::WriteValue(out, value);
  if (!written) FAIL(written.error().ToString());
  CHECK(CheckTerm(out, 1000).value() == out.size());
  return out;
}
template <class T>
T FromRaw(const std::string& term) {
  REQUIRE(CheckTerm(term, 1000).value() == term.size());
  T value{};
  const auto read = detail::ReadValue(TermReader(term), value);
  if (!read) FAIL(read.error().ToString());
  return value;
}
template <class T>
std::string Problem(const std::string& term) {
  CHECK(CheckTerm(term, 1000).value() == term.size());
  T value{};
  const auto read = detail::ReadValue(TermReader(term), value);
  if (read) return "none";
  CHECK(read.error() == gen::ErrIncorrect);
  return std::string(read.error().detail());
}
template <class T>
std::string WriteProblem(const T& value) {
  std::string out = "before";
  const auto written = detail::WriteValue(out, value);
  CHECK(out == "before");
  if (written) return "none";
  CHECK(written.error() == gen::ErrIncorrect);
  return std::string(written.error().detail());
}
// There and back, and nothing else is read.
template <class T>
bool Survives(const T& value) {
  const std::string term = Raw(value);
  const std::string more = term + t::SmallAtom("more");
  detail::ValueReader reader{TermReader(more)};
  T read{};
  CHECK(detail::Codec<T>::Read(reader, read));
  CHECK(reader.in.position() == term.size());
  return read == value;
}

TEST_CASE("archive: scalars") {
  CHECK(Raw(true) == t::SmallAtom("true"));
  CHECK(Survives(false));
  CHECK(Raw(std::int8_t{-1}) == Bytes({98, 255, 255, 255, 255}));
  CHECK(Survives(std::numeric_limits<std::int64_t>::min()));
  CHECK(Survives(std::numeric_limits<std::uint64_t>::max()));
  CHECK(Survives(std::numeric_limits<long long>::max()));
  CHECK(Survives('x'));
  CHECK(Survives(1.5));
  CHECK(Survives(1.5F));
  CHECK(Survives(Color::kGreen));
  CHECK(Raw(Color::kGreen) == t::Small(1));
  CHECK(Survives(gen::Atom("ok")));
  CHECK(Survives(gen::PID{7, "a@b", 3}));
  CHECK(Survives(gen::Ref{std::uint64_t{5} << 40 | 1, "a@b", 3}));
  CHECK(Survives(gen::Alias{7, "a@b", 3}));
  CHECK(Survives(Reference{"a@b", 3, 3, {1, 2, 3}}));
  CHECK(Survives(Term::Tuple({1, 2})));
  CHECK(Survives(std::monostate()));
  CHECK(Raw(std::monostate()) == t::SmallAtom("undefined"));
  CHECK(FromRaw<double>(t::Small(7)) == 7);
  CHECK(FromRaw<float>(Bytes({110, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})) == std::ldexp(1.0F, 64));

  CHECK(Problem<bool>(t::SmallAtom("yes")) == "expected true or false, found yes");
  CHECK(Problem<std::int8_t>(t::Small(200)) == "expected an integer of -128..127, found 200");
  CHECK(Problem<std::uint8_t>(Bytes({98, 255, 255, 255, 255})) ==
        "expected an integer of 0..255, found -1");
  CHECK(Problem<std::int64_t>(Bytes({110, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})) ==
        "expected an integer of -9223372036854775808..9223372036854775807, found "
        "18446744073709551616");
  CHECK(Problem<int>(t::Float(1)) == "expected an integer of -2147483648..2147483647, found 1.0");
  CHECK(Problem<Color>(t::Small(2)) == "none");
  CHECK(Problem<Color>(Bytes({98, 0, 0, 1, 0})) == "expected an integer of 0..255, found 256");
  CHECK(Problem<double>(t::SmallAtom("x")) == "expected a number, found x");
  CHECK(Problem<float>(t::Float(1e300)).starts_with("expected a number of -3.4028234"));
  CHECK(Problem<gen::Atom>(t::Binary("x")) == "expected an atom, found <<\"x\">>");
  CHECK(Problem<gen::PID>(t::Small(1)) == "expected a pid, found 1");
  CHECK(Problem<Reference>(t::Small(1)) == "expected a reference, found 1");
  CHECK(Problem<gen::Ref>(t::Reference("a@b", 1, {1, 2, 3})) ==
        "expected a reference of an Ergon node, found #Ref<a@b.3.2.1>");
  // With the bit of a request's; no Ergon node makes an alias with the one below.
  CHECK(Problem<gen::Ref>(t::Reference("a@b", 1, {5, 0x80000000, 0})) == "none");
  CHECK(Problem<gen::Alias>(t::Reference("a@b", 1, {5, 0, 0})) == "none");
  CHECK(Problem<gen::Alias>(t::Reference("a@b", 1, {5, 0x40000000, 0})) ==
        "expected an alias of an Ergon node, found #Ref<a@b.0.1073741824.5>");
  CHECK(Problem<std::monostate>(t::Small(1)) == "expected undefined or nil, found 1");

  CHECK(WriteProblem(std::nan("")) == "nan is no float of Erlang");
  CHECK(WriteProblem(gen::Atom("\xff")) == "an atom has to be UTF-8");
  CHECK(WriteProblem(gen::PID{1, "\xff", 1}) == "an atom has to be UTF-8");
}

TEST_CASE("archive: texts and bytes") {
  CHECK(Raw(std::string("abc")) == t::Binary("abc"));
  CHECK(Survives(std::string("a\0\xff", 3)));
  CHECK(FromRaw<std::string>(Bytes({107, 0, 2, 'a', 0xe4})) == "a\xc3\xa4");
  CHECK(FromRaw<std::string>(t::List({Bytes({98, 0, 0, 0x20, 0xac})})) == "\xe2\x82\xac");
  CHECK(FromRaw<std::string>(t::kNil).empty());
  CHECK(Raw(Charlist{"abc"}) == Bytes({107, 0, 3, 'a', 'b', 'c'}));
  CHECK(Survives(Charlist{"p\xc3\xb6ol \xe2\x82\xac"}));
  CHECK(FromRaw<Charlist>(t::Binary("abc")).text == "abc");
  CHECK(Problem<std::string>(t::Small(42)) == "expected a binary, found 42");
  CHECK(Problem<std::string>(t::List({t::Small(1)}, t::Small(2))) ==
        "expected a binary, found [1|2]");
  CHECK(Problem<std::string>(t::List({t::SmallAtom("a")})) == "expected a binary, found [a]");
  // No characters: negative, a surrogate, too large.
  for (const std::string& number :
       {Bytes({98, 255, 255, 255, 255}), Bytes({98, 0, 0, 0xd8, 0}), Bytes({98, 0, 0x11, 0, 0})}) {
    CHECK(Problem<std::string>(t::List({number})).starts_with("expected a binary, found ["));
  }

  const std::vector<std::byte> bytes = {std::byte{1}, std::byte{255}};
  CHECK(Raw(bytes) == t::Binary("\x01\xff"));
  CHECK(Survives(bytes));
  CHECK(FromRaw<std::vector<std::byte>>(Bytes({107, 0, 2, 1, 255})) == bytes);
  const std::vector<std::uint8_t> numbers = {1, 255};
  CHECK(Raw(numbers) == t::Binary("\x01\xff"));
  CHECK(Survives(numbers));
  CHECK(FromRaw<std::vector<std::uint8_t>>(t::List({t::Small(1), t::Small(255)})) == numbers);
  CHECK(Problem<std::vector<std::uint8_t>>(t::List({t::Small(1), Bytes({98, 0, 0, 1, 0})})) ==
        "expected a binary, found [1,256]");
}

TEST_CASE("archive: containers") {
  CHECK(Raw(std::vector<int>{1, 2}) == t::List({t::Small(1), t::Small(2)}));
  CHECK(Raw(std::vector<int>()) == t::kNil);
  CHECK(Survives(std::vector<int>{1, 2, 70'000}));
  CHECK(Survives(std::vector<bool>{true, false}));
  CHECK(Survives(std::vector<std::string>{"a", ""}));
  CHECK(Survives(std::list<int>{1, 2}));
  CHECK(Survives(std::deque<int>{1, 2}));
  CHECK(Survives(std::set<std::string>{"a", "b"}));
  CHECK(Survives(std::unordered_set<int>{1, 2}));
  CHECK(Survives(std::array<int, 3>{1, 2, 3}));
  CHECK(Survives(std::array<int, 0>{}));
  CHECK(Survives(std::map<std::string, std::vector<int>>{{"a", {1}}, {"b", {}}}));
  CHECK(Survives(std::unordered_map<int, gen::Atom>{{1, "a"}, {2, "b"}}));
  CHECK(Survives(std::pair<int, std::string>{1, "a"}));
  CHECK(Survives(std::tuple<int, std::string, std::tuple<>>{1, "a", {}}));
  CHECK(Raw(std::tuple<int, int>{1, 2}) == t::Tuple({t::Small(1), t::Small(2)}));
  // "..." of Erlang is a list of numbers.
  CHECK(FromRaw<std::vector<int>>(Bytes({107, 0, 2, 1, 200})) == std::vector<int>{1, 200});
  CHECK(FromRaw<std::array<int, 2>>(Bytes({107, 0, 2, 1, 2})) == std::array<int, 2>{1, 2});
  CHECK(FromRaw<std::vector<Term>>(Bytes({107, 0, 2, 1, 2})) == std::vector<Term>{1, 2});
  CHECK(FromRaw<std::vector<int>>(t::List({t::Small(1)}, t::List({t::Small(2)}))) ==
        std::vector<int>{1, 2});
  // What was there before is gone.
  std::vector<int> values = {7, 8, 9};
  CHECK(detail::ReadValue(TermReader(t::kNil), values));
  CHECK(values.empty());

  CHECK(Problem<std::vector<int>>(t::Small(1)) == "expected a list, found 1");
  CHECK(Problem<std::vector<int>>(t::List({t::Small(1)}, t::Small(2))) ==
        "expected a list, found [1|2]");
  CHECK(Problem<std::vector<std::int8_t>>(Bytes({107, 0, 2, 1, 200})) ==
        "[1]: expected an integer of -128..127, found 200");
  CHECK(Problem<std::array<int, 2>>(Bytes({107, 0, 1, 1})) == "expected a list of 2, found [1]");
  CHECK(Problem<std::array<int, 2>>(Bytes({107, 0, 3, 1, 2, 3})) ==
        "expected a list of 2, found [1,2,3]");
  CHECK(Problem<std::map<std::string, int>>(t::kNil) == "expected a map, found []");
  CHECK(Problem<std::map<std::string, int>>(t::Map({t::Binary("a"), t::Binary("b")})) ==
        "[<<\"a\">>]: expected an integer of -2147483648..2147483647, found <<\"b\">>");
  CHECK(Problem<std::map<std::string, int>>(t::Map({t::SmallAtom("a"), t::Small(1)})) ==
        "[a]: expected a binary, found a");
  CHECK(Problem<std::pair<int, int>>(t::Tuple({t::Small(1)})) ==
        "expected a tuple of 2, found {1}");
  CHECK(Problem<std::pair<int, bool>>(t::Tuple({t::Small(1), t::Small(2)})) ==
        "[1]: expected true or false, found 2");
  CHECK(WriteProblem(std::map<int, std::vector<double>>{{1, {0, std::nan("")}}}) ==
        "[0][1]: nan is no float of Erlang");
}

// So that they are all in the first bucket, as somebody could choose numbers who knows the sizes of tables.
struct OneBucket {
  std::size_t operator()(int) const { return 0; }
};

TEST_CASE("archive: keys of one bucket are refused before they take long") {
  const auto numbers = [](int count) {
    std::vector<int> list;
    for (int i = 0; i < count; ++i) list.push_back(i);
    return list;
  };
  const auto entries = [&](int count) {
    std::map<int, int> map;
    for (const int number : numbers(count)) map[number] = 1;
    return map;
  };
  const auto most = static_cast<int>(detail::kMostInBucket);
  using Set = std::unordered_set<int, OneBucket>;
  using MultiSet = std::unordered_multiset<int, OneBucket>;
  using Map = std::unordered_map<int, int, OneBucket>;
  CHECK(Term::Of(numbers(most)).To<Set>()->size() == static_cast<std::size_t>(most));
  CHECK(Term::Of(entries(most)).To<Map>()->size() == static_cast<std::size_t>(most));
  const auto is_refused = [](const auto& result) {
    return !result && result.error().ToString().find("keys in one bucket") != std::string::npos;
  };
  CHECK(is_refused(Term::Of(numbers(most + 1)).To<Set>()));
  CHECK(is_refused(Term::Of(numbers(most + 1)).To<MultiSet>()));
  CHECK(is_refused(Term::Of(entries(most + 1)).To<Map>()));
  // Equal ones are no further keys, and what chance does is no matter.
  CHECK(Term::Of(std::vector<int>(10'000, 7)).To<MultiSet>()->size() == 10'000);
  CHECK(Term::Of(numbers(10'000)).To<std::unordered_set<int>>()->size() == 10'000);
}

TEST_CASE("archive: what may be absent, or one of several") {
  CHECK(Survives(std::optional<int>(7)));
  CHECK(Raw(std::optional<int>()) == t::SmallAtom("undefined"));
  CHECK(FromRaw<std::optional<int>>(t::SmallAtom("nil")) == std::nullopt);
  CHECK(FromRaw<std::optional<int>>(t::SmallAtom("undefined")) == std::nullopt);
  CHECK(Problem<std::optional<bool>>(t::SmallAtom("x")) == "expected true or false, found x");

  using Tagged = std::variant<Count, Stop, Start, Order>;
  CHECK(std::get<Count>(FromRaw<Tagged>(Raw(Tagged(Count{"a"})))).text == "a");
  CHECK(std::holds_alternative<Stop>(FromRaw<Tagged>(Raw(Tagged(Stop())))));
  CHECK(std::holds_alternative<Start>(FromRaw<Tagged>(t::Tuple({t::SmallAtom("start")}))));
  CHECK(Problem<Tagged>(t::Tuple({t::SmallAtom("count"), t::Small(42)})) ==
        "1: expected a binary, found 42");
  CHECK(Problem<Tagged>(t::Tuple({t::SmallAtom("count")})) ==
        "expected a tuple with 1 fields behind count, or more, found {count}");
  CHECK(Problem<Tagged>(t::Small(42)).find("expected one of ") == 0);
  CHECK(Problem<Tagged>(t::Small(42)).find("Count, ") != std::string::npos);
  CHECK(Problem<Tagged>(t::Small(42)).ends_with(", found 42"));

  using Plain = std::variant<std::monostate, double, int, std::string, std::vector<int>, gen::Atom,
                             std::map<int, int>, Item, Outside, Term>;
  const auto index = [](const std::string& term) { return FromRaw<Plain>(term).index(); };
  CHECK(index(t::SmallAtom("undefined")) == 0);
  CHECK(index(t::Float(1)) == 1);
  CHECK(index(t::Small(1)) == 2);                                   // not the double
  CHECK(index(Bytes({110, 8, 0, 0, 0, 0, 0, 0, 0, 0, 128})) == 1);  // too large for the int
  CHECK(index(t::Binary("a")) == 3);
  CHECK(index(t::List({t::Small(1)})) == 4);  // not the text
  CHECK(index(t::SmallAtom("x")) == 5);
  CHECK(index(t::Map({t::Small(1), t::Small(2)})) == 6);
  CHECK(index(t::Map({t::SmallAtom("no"), t::Small(2), t::SmallAtom("price"), t::Small(3)})) == 7);
  CHECK(index(t::Map({t::SmallAtom("x"), t::Small(2)})) == 8);
  CHECK(index(t::Tuple({})) == 9);
  CHECK(Survives(std::variant<int, std::string>("a")));
  // Decided by its kind, and then it has to fit.
  CHECK(Problem<std::variant<std::vector<int>, std::vector<std::string>>>(t::List({t::Binary(
            "a")})) == "[0]: expected an integer of -2147483648..2147483647, found <<\"a\">>");
  CHECK(Survives(std::optional<std::variant<int, std::string>>("a")));
}

TEST_CASE("archive: types with a tag are tuples") {
  CHECK(Raw(Count{"a"}) == t::Tuple({t::SmallAtom("count"), t::Binary("a")}));
  CHECK(Survives(Count{"a"}));
  CHECK(Raw(Stop()) == t::SmallAtom("stop"));
  CHECK(Raw(Start()) == t::SmallAtom("start"));
  (void)FromRaw<Stop>(t::Tuple({t::SmallAtom("stop")}));
  (void)FromRaw<Start>(t::SmallAtom("start"));
  const Order order{{{1, 2.5, "x"}, {2, 3, std::nullopt}}, {{"a", {"b"}}}};
  CHECK(Survives(order));
  CHECK(Term::Of(order).ToString() ==
        "{order,[#{no => 1,price => 2.5,note => <<\"x\">>},#{no => 2,price => 3.0,note => "
        "undefined}],#{<<\"a\">> => {count,<<\"b\">>}}}");
  CHECK(Problem<Count>(t::Tuple({t::SmallAtom("count"), t::Small(42)})) ==
        "count.1: expected a binary, found 42");
  CHECK(Problem<Count>(t::Small(42)) == "count: expected a tuple that begins with count, found 42");
  CHECK(Problem<Count>(t::Tuple({t::SmallAtom("counts"), t::Small(42)})) ==
        "count: expected a tuple that begins with count, found {counts,42}");
  CHECK(Problem<Count>(t::Tuple({})) == "count: expected a tuple that begins with count, found {}");
  CHECK(Problem<Count>(t::Tuple({t::SmallAtom("count"), t::Binary("a"), t::Small(1)})) ==
        "count: expected a tuple with 1 fields behind count, found {count,<<\"a\">>,1}");
  CHECK(Problem<Count>(t::SmallAtom("count")) ==
        "count: expected a tuple with 1 fields behind count, or more, found count");
  CHECK(Problem<Start>(t::Tuple({t::SmallAtom("start"), t::Small(1)})) ==
        "start: expected a tuple with 0 fields behind start, found {start,1}");
}

TEST_CASE("archive: types without are maps") {
  CHECK(Raw(Outside{7}) == t::Map({t::SmallAtom("x"), t::Small(7)}));
  CHECK(Survives(Item{1, 2.5, "note"}));
  CHECK(Survives(Item{}));
  const auto no = t::SmallAtom("no");
  const auto price = t::SmallAtom("price");
  const auto note = t::SmallAtom("note");
  // In any order, with more in between, and without what may be missing.
  const std::string deep = t::List({t::Map({no, t::Small(9)})});
  const std::string term =
      t::Map({note, t::Binary("n"), t::Binary("no"), deep, price, t::Small(2), deep, t::kNil,
              Bytes({115, 2, 'n', 'o'}), t::Small(1), t::SmallAtom("other"), deep});
  CHECK(FromRaw<Item>(term) == Item{1, 2, "n"});
  CHECK(FromRaw<Item>(t::Map({no, t::Small(1), price, t::Small(2)})) == Item{1, 2, std::nullopt});
  CHECK(FromRaw<std::vector<Item>>(t::List({term, term})) ==
        std::vector<Item>{{1, 2, "n"}, {1, 2, "n"}});
  // A field that was set before and is missing is absent now.
  Item item{1, 1, "old"};
  const std::string without = t::Map({no, t::Small(1), price, t::Small(2)});
  CHECK(detail::ReadValue(TermReader(without), item));
  CHECK(item.note == std::nullopt);

  CHECK(Problem<Item>(t::Map({no, t::Small(1)})) == "Item.price: missing");
  CHECK(Problem<Item>(t::Map({})) == "Item.no: missing");
  CHECK(Problem<Item>(t::Small(1)) == "Item: expected a map, found 1");
  CHECK(Problem<Item>(t::Map({no, t::Small(1), price, no})) ==
        "Item.price: expected a number, found no");
  CHECK(Problem<Order>(
            t::Tuple({t::SmallAtom("order"), t::List({without, without, t::Map({no, t::Small(1)})}),
                      t::Map({})})) == "order.items[2].price: missing");
  CHECK(
      Problem<Order>(t::Tuple({t::SmallAtom("order"), t::kNil,
                               t::Map({t::Binary("k"), t::Tuple({t::SmallAtom("count"), no})})})) ==
      "order.2[<<\"k\">>].1: expected a binary, found no");
  CHECK(WriteProblem(Order{{{1, 1, {}}, {1, std::nan(""), {}}}, {}}) ==
        "order.items[1].price: nan is no float of Erlang");
  CHECK(Problem<Item>(t::Map({no, t::Binary(std::string(1000, 'x'))})).size() < 200);
  std::vector<std::string> many{no, t::Small(1), price, t::Small(2)};
  for (int i = 0; i < 9'998; ++i) many.insert(many.end(), {Bytes({98}) + t::Big(300 + i, 4), no});
  CHECK(FromRaw<Item>(t::Map(many)) == Item{1, 2, std::nullopt});
  many.insert(many.end(), {t::Small(1), no});
  CHECK(Problem<Item>(t::Map(many)).starts_with("Item: expected a map with 10000 entries at most"));
}

TEST_CASE("archive: it can be asked what it does") {
  const std::string term = Raw(Asking{3});
  const auto read = FromRaw<Asking>(term);
  CHECK(read.value == 3);
  CHECK(read.was_read);
}

TEST_CASE("archive: types that contain themselves, so many levels deep") {
  const auto chain = [](int levels) {
    Tree tree;
    for (int i = 0; i < levels; ++i) {
      Tree parent{i, {}};
      parent.children.push_back(std::move(tree));
      tree = std::move(parent);
    }
    return tree;
  };
  // A tree and its list are two levels.
  const std::string deepest = Raw(chain(49));
  CHECK(FromRaw<Tree>(deepest).children.size() == 1);
  CHECK(WriteProblem(chain(50)).ends_with("values in each other, more than 100 levels deep"));
  std::string deeper =
      t::Map({t::SmallAtom("value"), t::Small(1), t::SmallAtom("children"), t::kNil});
  for (int i = 0; i < 200; ++i) {
    deeper =
        t::Map({t::SmallAtom("value"), t::Small(1), t::SmallAtom("children"), t::List({deeper})});
  }
  CHECK(Problem<Tree>(deeper).starts_with("Tree.children[0].children[0]."));
  CHECK(Problem<Tree>(deeper).ends_with("values in each other, more than 100 levels deep"));
}

TEST_CASE("archive: every prefix of a term is refused before it is read") {
  const std::string term = Raw(Order{{{1, 2.5, "x"}, {2, 3, std::nullopt}}, {{"a", {"b"}}}});
  for (std::size_t size = 0; size < term.size(); ++size) {
    CHECK_FALSE(CheckTerm(term.substr(0, size), 100).has_value());
  }
}

TEST_CASE("archive: atoms in values have a limit") {
  const auto budget = std::make_shared<AtomBudget>(0);
  const std::string known = t::SmallAtom("ok");
  gen::Atom atom("ok");
  CHECK(detail::ReadValue(TermReader(known, budget.get()), atom));
  const std::string unknown = t::List({t::SmallAtom("archive_atom_that_is_new")});
  std::vector<gen::Atom> atoms;
  const auto read = detail::ReadValue(TermReader(unknown, budget.get()), atoms);
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().detail() ==
        "[0]: an atom that is new here: messages have brought 0 new atoms, and may not bring more");
  CHECK_FALSE(gen::Atom::Find("archive_atom_that_is_new").has_value());
  // A term remembers whose limit it has.
  std::vector<Term> terms;
  CHECK(detail::ReadValue(TermReader(unknown, budget.get()), terms));
  CHECK(terms[0].AsAtomText() == "archive_atom_that_is_new");
  CHECK_FALSE(terms[0].To<gen::Atom>().has_value());
  CHECK_FALSE(gen::Atom::Find("archive_atom_that_is_new").has_value());
}

TEST_CASE("archive: types, as they are registered") {
  const auto order = WireTypeOf<Order>::Describe();
  CHECK(order->type == core::TypeOf<Order>());
  CHECK(order->name.ends_with("Order"));
  CHECK(order->tag == "order");
  CHECK(order->arity == 3);
  const auto item = WireTypeOf<Item>::Describe();
  CHECK(item->tag.empty());
  CHECK(item->keys == std::vector<std::string>{"no", "price"});
  CHECK(item->optional_keys == std::vector<std::string>{"note"});
  CHECK(WireTypeOf<Stop>::Describe()->arity == 1);
  CHECK(WireTypeOf<Outside>::Describe()->keys == std::vector<std::string>{"x"});
  CHECK(WireTypeOf<Tree>::Describe()->keys == std::vector<std::string>{"value", "children"});

  std::string out;
  const Count count{"a"};
  CHECK(WireTypeOf<Count>::Describe()->write(out, &count, Absent::kUndefined));
  auto envelope = WireTypeOf<Count>::Describe()->read(TermReader(out), 3, {.tag = 7});
  REQUIRE(envelope.has_value());
  CHECK((*envelope)->kind == 3);
  CHECK((*envelope)->Tag() == 7);
  CHECK(*(*envelope)->ValueAs<Count>() == count);
  CHECK(WireTypeOf<Item>::Describe()->read(TermReader(out), 0, {}).error().detail() ==
        "Item: expected a map, found {count,<<\"a\">>}");

  CHECK(WireTypeOf<Order>::Describe()->problem.empty());
  CHECK(WireTypeOf<Nameless>::Describe()->problem ==
        "ergon::dist::erlang_archive_test::(anonymous namespace)::Nameless: field 2 has no name: a "
        "type without kTag is "
        "a map, and its fields are given to the archive as dist::Field(\"name\", name)");
  // Also far inside.
  CHECK(WireTypeOf<WithNameless>::Describe()->problem.find("Nameless: field 2") !=
        std::string::npos);
  CHECK(WireTypeOf<Twice>::Describe()->problem.ends_with("two fields have the name 'x'"));
  // Who has not registered it learns so when it is written or read.
  CHECK(WriteProblem(Nameless()) == "Nameless: field 2 has no name, as those of a map must");
  gen::WireTypes types;
  types.Register<Count>().Register<Item>();
  CHECK(types.All().size() == 2);
  // Registering does not throw; the start of the node says it, whether it goes to others or not.
  types.Register<WithNameless>();
  const auto node = node::Start("test@localhost", {.types = types});
  REQUIRE_FALSE(node);
  CHECK(node.error() == gen::ErrIncorrect);
  CHECK(node.error().ToString().find("WithNameless: ") != std::string::npos);
  CHECK(node.error().ToString().find("Nameless: field 2 has no name") != std::string::npos);
}

struct East {
  int x = 0;
  std::optional<int> y = {};
  template <class Archive>
  void serialize(Archive& archive) {
    archive(Field("x", x), Field("y", y));
  }
};
struct West {
  int y = 0;
  int x = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(Field("y", y), Field("x", x));
  }
};
template <int kNumber>
struct Turned {
  static constexpr const char* kTag = "turned";
  int by = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(by);
    if constexpr (kNumber == 3) archive(by);
  }
};
template <class... Types>
struct Choice {
  std::vector<std::optional<std::variant<Types...>>> any = {};
  template <class Archive>
  void serialize(Archive& archive) {
    archive(Field("any", any));
  }
};

TEST_CASE("archive: a variant of types that look the same is no type for other nodes") {
  const std::string maps = WireTypeOf<Choice<int, East, West>>::Describe()->problem;
  CHECK(maps.find("::East and ergon::dist::erlang_archive_test::(anonymous namespace)::West are "
                  "both maps with the keys "
                  "{x, y}, and could not be told apart") != std::string::npos);
  CHECK(maps.find("::Choice<int, ") != std::string::npos);
  const std::string tuples = WireTypeOf<Choice<Turned<1>, Turned<2>>>::Describe()->problem;
  CHECK(tuples.find("::Turned<1> and ") != std::string::npos);
  CHECK(tuples.find("::Turned<2> are both the tuple turned of 2, and") != std::string::npos);
  // In another variant, or one that may be absent.
  CHECK_FALSE((WireTypeOf<Choice<std::variant<int, East>, std::optional<West>>>::Describe()
                   ->problem.empty()));
  CHECK((WireTypeOf<Choice<Turned<1>, Turned<3>, East, int>>::Describe()->problem.empty()));
  CHECK(WireTypeOf<Tree>::Describe()->problem.empty());
}

}  // namespace
}  // namespace ergon::dist::erlang_archive_test
