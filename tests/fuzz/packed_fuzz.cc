// Packed bytes of another node: refused with a text, or a value that is the same after it has been packed and read
// again. The first byte chooses the type.
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <valarray>
#include <variant>
#include <vector>

#include <fuzz/fuzz.h>

#include <ergon/node/cereal.h>
#include <ergon/node/cluster/values/packed_types.h>
#include <ergon/node/erlang/terms/atom_budget.h>

namespace dist = ergon::dist;
namespace gen = ergon::gen;
using ergon::fuzz::Require;

namespace packed_fuzz {

struct Item {
  std::int8_t no = 0;
  bool is_there = false;
  std::optional<std::string> note;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(no, is_there, note);
  }
};
struct Order {
  std::vector<Item> items;
  std::map<std::string, std::vector<std::int32_t>> more;
  std::variant<std::int64_t, std::string, std::vector<bool>> value;
  std::unique_ptr<Item> one;
  std::shared_ptr<Item> first;
  std::shared_ptr<Item> second;
  std::shared_ptr<std::string> text;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(items, more, value, one, first, second, text);
  }
};
struct Tree {
  std::list<Tree> trees;
  std::shared_ptr<Tree> shared;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(trees, shared);
  }
};
struct Shape {
  virtual ~Shape() = default;
  std::int32_t id = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(id);
  }
};
struct Circle : Shape {
  std::int32_t radius = 0;
  std::shared_ptr<Shape> inner;
  template <class Archive>
  void serialize(Archive& archive, std::uint32_t) {
    archive(cereal::base_class<Shape>(this), radius, inner);
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
struct Others {
  std::deque<Item> deque;
  std::valarray<std::int16_t> numbers;
  std::unordered_set<std::string> texts;
  std::u16string wide;
  gen::PID pid;
  gen::Atom atom;
  dist::Reference reference;
  dist::Term term;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(deque, numbers, texts, wide, pid, atom, reference, term);
  }
};

}  // namespace packed_fuzz

CEREAL_REGISTER_TYPE(packed_fuzz::Circle)
CEREAL_REGISTER_POLYMORPHIC_RELATION(packed_fuzz::Shape, packed_fuzz::Circle)
CEREAL_CLASS_VERSION(packed_fuzz::Circle, 2)

namespace {

// So that inputs do not fill the program with atoms.
dist::AtomBudget& Atoms() {
  static const auto atoms = std::make_shared<dist::AtomBudget>(1000);
  return *atoms;
}

template <class T>
void Check(std::string_view bytes) {
  static const dist::PackedType type = *dist::WireTypeOf<dist::Cereal<T>>::Describe()->packed;
  ergon::core::EnvelopePtr read;
  try {
    read = type.unpack(bytes, {.atoms = &Atoms()}, 1, {});
  } catch (const std::exception& error) {
    Require(*error.what() != '\0', "an error says what is wrong");
    Require(dynamic_cast<const std::bad_alloc*>(&error) == nullptr &&
                dynamic_cast<const std::length_error*>(&error) == nullptr,
            "nothing is made because a peer says so");
    return;
  }
  Require(static_cast<T*>(read->Value()) != nullptr, "a value");
  std::string written;
  type.pack(written, read->Value());
  const auto again = type.unpack(written, {.atoms = &Atoms()}, 1, {});
  std::string twice;
  type.pack(twice, again->Value());
  Require(twice.size() == written.size(), "a value is as long each time");
}

// As it comes in a message.
void CheckMessage(std::string_view bytes) {
  static const auto& types = *[] {
    auto* const all = new dist::PackedTypes;  // for the program's life
    all->Add(*dist::WireTypeOf<dist::Cereal<packed_fuzz::Order>>::Describe());
    return all;
  }();
  if (!dist::PackedTypes::IsPacked(bytes)) return;
  const dist::PackedTypes::Type* const type = types.FindIn(bytes);
  if (type == nullptr) return;
  const auto read = dist::PackedTypes::Read(*type, bytes, {.atoms = &Atoms()}, 1, {});
  if (read) return;
  Require(read.error() == gen::ErrIncorrect || read.error() == gen::ErrUnsupported,
          "what is refused has one of two codes");
  Require(read.error().detail().find('\n') == std::string_view::npos, "an error is one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // A copy of its size: whatever is read behind its end is noticed.
  const auto copy = std::make_unique<char[]>(size);
  std::memcpy(copy.get(), data, size);
  const std::string_view bytes(copy.get() + 1, size - 1);
  switch (copy[0] % 6) {
    case 0:
      Check<packed_fuzz::Order>(bytes);
      break;
    case 1:
      Check<packed_fuzz::Tree>(bytes);
      break;
    case 2:
      Check<packed_fuzz::Drawing>(bytes);
      break;
    case 3:
      Check<packed_fuzz::Others>(bytes);
      break;
    case 4:
      Check<std::vector<double>>(bytes);
      break;
    default:
      CheckMessage(bytes);
      break;
  }
  return 0;
}
