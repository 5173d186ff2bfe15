// Values in packed bytes: what cereal takes is read as it was written, and what a peer may send otherwise is refused.
#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <sstream>
#include <stack>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <valarray>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/node/cereal.h>

#include <cereal/archives/portable_binary.hpp>

namespace ergon::dist::packing {

enum class Color : std::int16_t { kRed, kGreen };

struct Item {
  int no = 0;
  double price = 0;
  std::optional<std::string> note;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(dist::Field("no", no), CEREAL_NVP(price), note);
  }
  friend bool operator==(const Item&, const Item&) = default;
};

// With functions of its own for both directions.
struct Pair {
  std::vector<int> numbers;
  bool is_right = true;
  template <class Archive>
  void save(Archive& archive) const {
    archive(numbers, is_right);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(numbers, is_right);
  }
  friend bool operator==(const Pair&, const Pair&) = default;
};

// With one beside it.
struct Free {
  Color color = Color::kGreen;
  int three[3] = {1, 2, 3};
};
template <class Archive>
void serialize(Archive& archive, Free& free) {
  archive(free.color, free.three);
}

struct Containers {
  std::vector<Item> items;
  std::vector<bool> truths;
  std::vector<double> doubles;
  std::map<std::string, std::vector<int>> map;
  std::multimap<int, int> multimap;
  std::unordered_map<int, std::string> hashed;
  std::set<int> set;
  std::unordered_set<std::string> texts;
  std::unordered_multiset<int> numbers;
  std::list<int> list;
  std::deque<Item> deque;
  std::forward_list<int> forward;
  std::valarray<int> valarray;
  std::bitset<10> bits;
  std::array<bool, 3> three{};
  std::tuple<int, std::string> tuple;
  std::variant<int, std::string, Item> variant;
  std::chrono::milliseconds time{0};
  std::wstring wide;
  std::unique_ptr<std::atomic<int>> atomic = std::make_unique<std::atomic<int>>(0);
  std::complex<double> complex;
  std::queue<int> queue;
  std::priority_queue<int> urgent;
  std::stack<std::string> stack;
  std::pair<int, std::string> pair;
  std::multiset<int> multiset;
  std::unordered_multimap<int, int> multihashed;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(items, truths, doubles, map, multimap, hashed, set, texts, numbers, list, deque,
            forward);
    archive(valarray, bits, three, tuple, variant, time, wide);
    archive(atomic, complex, queue, urgent, stack, pair, multiset, multihashed);
  }
};

struct Shape {
  virtual ~Shape() = default;
  int id = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(id);
  }
};
struct Circle : Shape {
  double radius = 1;
  template <class Archive>
  void serialize(Archive& archive, std::uint32_t) {
    archive(cereal::base_class<Shape>(this), radius);
  }
};
struct Square : Shape {
  double side = 1;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<Shape>(this), side);
  }
};
struct Drawing {
  std::unique_ptr<Shape> shape;
  std::vector<std::shared_ptr<Shape>> more;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(shape, more);
  }
};

struct Shared {
  std::shared_ptr<Item> one;
  std::shared_ptr<Item> other;
  std::shared_ptr<int> number;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(one, other, number);
  }
};
struct Chain {
  std::shared_ptr<Chain> next;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(next);
  }
};
struct Tree {
  int number = 0;
  std::vector<Tree> trees;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, trees);
  }
};

struct Addresses {
  gen::PID pid;
  gen::Atom atom;
  gen::Alias alias;
  gen::Ref ref;
  Reference reference;
  Term term;
  Charlist text;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(pid, atom, alias, ref, reference, term, text);
  }
};

struct Empty {};
// Says how many there are.
struct Counted {
  Counted() { ++made; }
  static inline std::size_t made = 0;
  int number = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number);
  }
};
template <class T>
struct Holder {
  T held{};
  template <class Archive>
  void serialize(Archive& archive) {
    archive(held);
  }
};

}  // namespace ergon::dist::packing

CEREAL_REGISTER_TYPE(ergon::dist::packing::Circle)
CEREAL_REGISTER_TYPE(ergon::dist::packing::Square)
CEREAL_REGISTER_POLYMORPHIC_RELATION(ergon::dist::packing::Shape, ergon::dist::packing::Circle)
CEREAL_REGISTER_POLYMORPHIC_RELATION(ergon::dist::packing::Shape, ergon::dist::packing::Square)
CEREAL_CLASS_VERSION(ergon::dist::packing::Circle, 3)
CEREAL_CLASS_VERSION(ergon::dist::packing::Item, 2)

namespace ergon::dist::packing {
namespace {

template <class T>
PackedType Described() {
  const auto type = WireTypeOf<Cereal<T>>::Describe();
  REQUIRE(type->problem == "");
  REQUIRE(type->packed.has_value());
  return *type->packed;
}
template <class T>
std::string Packed(const T& value) {
  std::string bytes;
  Described<T>().pack(bytes, &value);
  return bytes;
}
template <class T>
core::EnvelopePtr Unpacked(std::string_view bytes) {
  return Described<T>().unpack(bytes, {}, 1, {});
}
// What is wrong with the bytes; empty: nothing.
template <class T>
std::string Problem(std::string_view bytes) {
  try {
    (void)Unpacked<T>(bytes);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}
template <class T>
std::string Words() {
  CerealLayout layout;
  layout.Describe<T>();
  return layout.words();
}
// Whether all that begins as `bytes` and ends too early is refused, and what has more than that.
template <class T>
void CheckEnds(const std::string& bytes) {
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK(Problem<T>(bytes.substr(0, size)) != "");
  }
  CHECK(Problem<T>(bytes + 'x') == "1 bytes behind the value");
}
// A number as it is packed.
template <class T>
std::string Bytes(T number) {
  std::string bytes;
  detail::PackedOut out(bytes);
  out.Number(number);
  out.Close();
  return bytes;
}
const std::string kBegin(1, '\1');

Containers Full() {
  Containers full;
  full.items = {{1, 1.5, "note"}, {2, 2.5, {}}};
  full.truths = {true, false, true};
  full.doubles = {1.5, -2};
  full.map = {{"a", {1, 2}}, {"b", {}}};
  full.multimap = {{1, 2}, {1, 3}};
  full.hashed = {{1, "one"}};
  full.set = {3, 4};
  full.texts = {"text"};
  full.numbers = {5, 5};
  full.list = {6};
  full.deque = {{7, 0, {}}};
  full.forward = {8, 9};
  full.valarray = {10, 11};
  full.bits = 0x155;
  full.three = {true, false, true};
  full.tuple = {12, "tuple"};
  full.variant = Item{13, 0.5, "variant"};
  full.time = std::chrono::milliseconds(14);
  full.wide = L"wide";
  *full.atomic = 15;
  full.complex = {1.5, -0.5};
  full.queue.push(16);
  full.urgent.push(17);
  full.urgent.push(18);
  full.stack.push("below");
  full.stack.push("above");
  full.pair = {19, "pair"};
  full.multiset = {20, 20};
  full.multihashed = {{21, 22}, {21, 23}};
  return full;
}

}  // namespace

TEST_CASE(
    "cereal: values of all kinds are read as they were written, and nothing that ends elsewhere") {
  const Containers full = Full();
  const std::string bytes = Packed(full);
  const auto envelope = Unpacked<Containers>(bytes);
  const auto& read = *static_cast<const Containers*>(envelope->Value());
  CHECK(read.items == full.items);
  CHECK(read.truths == full.truths);
  CHECK(read.doubles == full.doubles);
  CHECK(read.map == full.map);
  CHECK(read.multimap == full.multimap);
  CHECK(read.hashed == full.hashed);
  CHECK(read.set == full.set);
  CHECK(read.texts == full.texts);
  CHECK(read.numbers == full.numbers);
  CHECK(read.list == full.list);
  CHECK(read.deque == full.deque);
  CHECK(read.forward == full.forward);
  CHECK(read.valarray.size() == 2);
  CHECK(read.valarray[1] == 11);
  CHECK(read.bits == full.bits);
  CHECK(read.three == full.three);
  CHECK(read.tuple == full.tuple);
  CHECK(read.variant == full.variant);
  CHECK(read.time == full.time);
  CHECK(read.wide == full.wide);
  CHECK(*read.atomic == 15);
  CHECK(read.complex == full.complex);
  CHECK(read.queue == full.queue);
  CHECK(read.urgent.size() == 2);
  CHECK(read.urgent.top() == 18);
  CHECK(read.stack == full.stack);
  CHECK(read.pair == full.pair);
  CHECK(read.multiset == full.multiset);
  CHECK(read.multihashed == full.multihashed);
  CheckEnds<Containers>(bytes);

  const Pair pair{{1, 2, 3}, false};
  CHECK(*static_cast<const Pair*>(Unpacked<Pair>(Packed(pair))->Value()) == pair);
  Free free;
  free.color = Color::kRed;
  free.three[2] = 4;
  const auto read_free = Unpacked<Free>(Packed(free));
  CHECK(static_cast<const Free*>(read_free->Value())->color == Color::kRed);
  CHECK(static_cast<const Free*>(read_free->Value())->three[2] == 4);
}

TEST_CASE("cereal: the bytes are those of cereal's portable binary") {
  const auto of_cereal = [](const auto& value) {
    std::ostringstream out;
    cereal::PortableBinaryOutputArchive archive(
        out, cereal::PortableBinaryOutputArchive::Options::LittleEndian());
    archive(value);
    return out.str();
  };
  CHECK(Packed(Full()) == of_cereal(Full()));
  CHECK(Packed(Pair{{1, 2}, true}) == of_cereal(Pair{{1, 2}, true}));
  CHECK(Packed(Shared{std::make_shared<Item>(), nullptr, std::make_shared<int>(7)}) ==
        of_cereal(Shared{std::make_shared<Item>(), nullptr, std::make_shared<int>(7)}));
}

TEST_CASE("cereal: values with virtual functions travel by their names, with their versions") {
  Drawing drawing;
  auto circle = std::make_unique<Circle>();
  circle->id = 4;
  circle->radius = 2.5;
  drawing.shape = std::move(circle);
  drawing.more = {std::make_shared<Square>(), nullptr, std::make_shared<Circle>()};
  drawing.more.push_back(drawing.more[0]);
  const std::string bytes = Packed(drawing);
  const auto envelope = Unpacked<Drawing>(bytes);
  const auto& read = *static_cast<const Drawing*>(envelope->Value());
  const auto* read_circle = dynamic_cast<const Circle*>(read.shape.get());
  REQUIRE(read_circle != nullptr);
  CHECK(read_circle->id == 4);
  CHECK(read_circle->radius == 2.5);
  REQUIRE(read.more.size() == 4);
  CHECK(dynamic_cast<const Square*>(read.more[0].get()) != nullptr);
  CHECK(read.more[1] == nullptr);
  CHECK(read.more[3] == read.more[0]);
  CheckEnds<Drawing>(bytes);

  // Behind the name of the first one, and the byte that says that it is there.
  const std::string name = "ergon::dist::packing::Circle";
  std::string other = bytes;
  other[bytes.find(name) + name.size() + 1] = 2;
  CHECK(Problem<Drawing>(other) ==
        "ergon::dist::packing::Circle: version 3 of it here, version 2 on the other node");
  other = bytes;
  other[bytes.find(name)] = 'X';
  CHECK(Problem<Drawing>(other).find("unregistered polymorphic type") != std::string::npos);
}

TEST_CASE("cereal: addresses, references and terms") {
  Addresses value;
  value.pid = {7, "packed@127.0.0.1", 3};
  value.atom = "an_atom";
  value.alias = {8, "packed@127.0.0.1", 4};
  value.ref = {9, "packed@127.0.0.1", 5};
  value.reference = {"shell@127.0.0.1", 6, 2, {1, 2}};
  value.term = Term::Tuple({Term::Atom("ok"), Term::Of(1)});
  value.text = {"list"};
  const std::string bytes = Packed(value);
  const auto envelope = Unpacked<Addresses>(bytes);
  const auto& read = *static_cast<const Addresses*>(envelope->Value());
  CHECK(read.pid == value.pid);
  CHECK(read.atom == value.atom);
  CHECK(read.alias == value.alias);
  CHECK(read.ref == value.ref);
  CHECK(read.reference == value.reference);
  CHECK(read.term == value.term);
  CHECK(read.text == value.text);
  CheckEnds<Addresses>(bytes);
  std::string six_words = Bytes(std::uint8_t{0}) + Bytes(std::uint32_t{1}) + '\6';
  CHECK(Problem<Reference>(kBegin + six_words + std::string(24, '\0')) ==
        "a reference of 6 words, at most 5 are possible");
}

TEST_CASE("cereal: numbers of elements are bounded before anything is made") {
  for (const std::uint64_t count : {std::uint64_t{1} << 62, std::uint64_t{100}}) {
    const std::string bytes = kBegin + Bytes(count);
    CAPTURE(count);
    const std::string why = "elements, for which there are not enough bytes";
    CHECK(Problem<std::vector<double>>(bytes).find(why) != std::string::npos);
    CHECK(Problem<std::vector<Item>>(bytes).find(why) != std::string::npos);
    CHECK(Problem<std::vector<bool>>(bytes).find(why) != std::string::npos);
    CHECK(Problem<std::vector<Empty>>(bytes).find(why) != std::string::npos);
    CHECK(Problem<std::string>(bytes).find(why) != std::string::npos);
    CHECK(Problem<std::wstring>(bytes).find(why) != std::string::npos);
    CHECK(Problem<std::deque<Item>>(bytes).find(why) != std::string::npos);
    CHECK(Problem<std::list<int>>(bytes).find(why) != std::string::npos);
    CHECK(Problem<std::forward_list<int>>(bytes).find(why) != std::string::npos);
    CHECK(Problem<std::valarray<int>>(bytes).find(why) != std::string::npos);
    CHECK(Problem<std::map<int, int>>(bytes).find(why) != std::string::npos);
    CHECK(Problem<std::unordered_map<int, int>>(bytes).find(why) != std::string::npos);
    CHECK(Problem<std::set<int>>(bytes).find(why) != std::string::npos);
    CHECK(Problem<std::unordered_set<int>>(bytes).find(why) != std::string::npos);
  }
  // As many elements are made as there are bytes for, and not as many as are announced.
  constexpr std::size_t kElements = 1000;
  const std::string bytes =
      kBegin + Bytes(std::uint64_t{4 * kElements}) + std::string(4 * kElements, '\0');
  Counted::made = 0;
  CHECK(Problem<Holder<std::vector<Counted>>>(bytes) != "");
  CHECK(Counted::made <= kElements + 1 + detail::kMostReservedElements);
  Counted::made = 0;
  CHECK(Problem<Holder<std::deque<Counted>>>(bytes) != "");
  CHECK(Counted::made <= kElements + 2);
  // Many numbers of elements that are each possible are not together.
  std::string nested = kBegin + Bytes(std::uint64_t{2});
  nested += Bytes(std::uint64_t{40}) + Bytes(std::uint64_t{40}) + std::string(30, '\0');
  CHECK(Problem<std::vector<std::vector<Empty>>>(nested).find("not enough bytes") !=
        std::string::npos);
  CHECK_THROWS_AS((void)Packed(std::vector<Empty>(100)), detail::PackedProblem);
  CHECK(static_cast<std::vector<Empty>*>(
            Unpacked<std::vector<Empty>>(Packed(std::vector<Empty>(5)))->Value())
            ->size() == 5);
}

struct OneBucketOfAll {
  std::size_t operator()(int) const { return 0; }
};

TEST_CASE("cereal: keys of one bucket are refused before they take long") {
  const auto keys = [](int count, std::size_t rest) {
    std::string bytes = kBegin + Bytes(static_cast<std::uint64_t>(count));
    for (int i = 0; i < count; ++i) bytes += Bytes(i) + std::string(rest, '\0');
    return bytes;
  };
  const auto most = static_cast<int>(detail::kMostInBucket);
  using Set = std::unordered_set<int, OneBucketOfAll>;
  using MultiSet = std::unordered_multiset<int, OneBucketOfAll>;
  using Map = std::unordered_map<int, int, OneBucketOfAll>;
  using MultiMap = std::unordered_multimap<int, int, OneBucketOfAll>;
  CHECK(Problem<Set>(keys(most, 0)).empty());
  CHECK(Problem<Map>(keys(most, 4)).empty());
  const std::string why = "keys in one bucket";
  CHECK(Problem<Set>(keys(most + 1, 0)).find(why) != std::string::npos);
  CHECK(Problem<MultiSet>(keys(most + 1, 0)).find(why) != std::string::npos);
  CHECK(Problem<Map>(keys(most + 1, 4)).find(why) != std::string::npos);
  CHECK(Problem<MultiMap>(keys(most + 1, 4)).find(why) != std::string::npos);
  const std::string equal =
      kBegin + Bytes(std::uint64_t{1000}) + std::string(8 * std::size_t{1000}, '\0');
  CHECK(Problem<MultiMap>(equal).empty());
}

TEST_CASE("cereal: what is no value of its type is refused") {
  CHECK(Problem<bool>(kBegin + '\2') == "byte 1: expected true or false, found 2");
  const std::string three = std::string("\1\2\0", 3);
  CHECK(Problem<std::array<bool, 3>>(kBegin + three) == "byte 2: expected true or false, found 2");
  CHECK(Problem<std::optional<int>>(kBegin + '\7') != "");
  CHECK(Problem<std::variant<int, bool>>(kBegin + Bytes(2) + Bytes(0)) != "");
  CHECK(Problem<std::variant<int, bool>>(kBegin + Bytes(-1) + Bytes(0)) != "");
  CHECK(Problem<int>(std::string(1, '\0') + Bytes(1)) ==
        "byte 0: numbers with their highest byte first");
  CHECK(Problem<int>("") != "");
}

TEST_CASE("cereal: shared objects are of one type, and none contains itself") {
  Shared shared{std::make_shared<Item>(Item{1, 2, "three"}), nullptr, std::make_shared<int>(4)};
  shared.other = shared.one;
  const std::string bytes = Packed(shared);
  const auto envelope = Unpacked<Shared>(bytes);
  const auto& read = *static_cast<const Shared*>(envelope->Value());
  CHECK(*read.one == *shared.one);
  CHECK(read.other == read.one);
  CHECK(*read.number == 4);
  CheckEnds<Shared>(bytes);
  // The last one is the second: as if it were the first, an Item.
  const std::string confused = bytes.substr(0, bytes.size() - 8) + Bytes(std::uint32_t{1});
  CHECK(Problem<Shared>(confused).find("shared object 1 is a ergon::dist::packing::Item, expected "
                                       "a int") != std::string::npos);
  const std::string unknown = bytes.substr(0, bytes.size() - 8) + Bytes(std::uint32_t{3});
  CHECK(Problem<Shared>(unknown).find("shared object 3, of 1") != std::string::npos);

  const std::string circle = kBegin + Bytes(std::uint32_t{0x80000001}) + Bytes(std::uint32_t{1});
  CHECK(Problem<Chain>(circle).find("shared object 1 contains itself") != std::string::npos);
  CHECK(Problem<Chain>(kBegin + Bytes(std::uint32_t{0x80000007})).find("expected 1") !=
        std::string::npos);
}

TEST_CASE("cereal: values are in each other only so deep") {
  Tree tree;
  for (int i = 0; i < 40; ++i) {
    Tree outer;
    outer.trees.push_back(std::move(tree));
    tree = std::move(outer);
  }
  CHECK(Problem<Tree>(Packed(tree)) == "");
  std::string deep = kBegin;
  for (int i = 0; i < 100'000; ++i) deep += Bytes(1) + Bytes(std::uint64_t{1});
  CHECK(Problem<Tree>(deep) == "more than 100 values in each other");
  for (int i = 0; i < 40; ++i) {
    Tree outer;
    outer.trees.push_back(std::move(tree));
    tree = std::move(outer);
  }
  CHECK_THROWS_AS((void)Packed(tree), detail::PackedProblem);
}

TEST_CASE("cereal: what a type is made of, with versions") {
  CHECK(Words<Item>() == "ergon::dist::packing::Item:2{i4,f8,?[[i1]],}");
  CHECK(Words<Pair>() == "ergon::dist::packing::Pair:0{[i4],b1,}");
  CHECK(Words<Free>() == "ergon::dist::packing::Free:0{i2,3*i4,}");
  CHECK(Words<Tree>() == "ergon::dist::packing::Tree:0{i4,[ergon::dist::packing::Tree:0],}");
  CHECK(Words<std::map<int, std::variant<bool, float>>>() == "[(i4,<b1|f4|>,)]");
  // Other bytes, other words.
  CHECK(Words<std::vector<int>>() == "[i4]");
  CHECK(Words<std::optional<int>>() == "?[i4]");
  CHECK(Words<std::shared_ptr<int>>() == "^i4");
  CHECK(Words<std::unique_ptr<int>>() == "^!i4");
  CHECK(Words<std::atomic<int>>() == "i4");
  CHECK(Words<std::complex<double>>() == "2*f8");
  CHECK(Described<Holder<int>>().fingerprint != Described<Holder<unsigned>>().fingerprint);
  CHECK(Described<Holder<int>>().fingerprint == Described<Holder<int>>().fingerprint);
  CHECK(Described<Item>().version == 2);
  CHECK(Described<Tree>().version == 0);
}

}  // namespace ergon::dist::packing
