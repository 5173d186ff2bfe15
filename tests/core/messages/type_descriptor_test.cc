#include <ergon/core/messages/type_descriptor.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

namespace ergon::core::type_descriptor_test {

struct Plain {
  int number;
};
struct alignas(32) Aligned {
  char bytes[40];
};
struct Counting {
  explicit Counting(int* count) : destroyed(count) {}
  ~Counting() { ++*destroyed; }
  int* destroyed;
};
template <class T>
struct Box {
  T value;
};

TEST_CASE("type descriptor: one address per type") {
  CHECK(TypeOf<int>() == TypeOf<int>());
  CHECK(TypeOf<int>() != TypeOf<unsigned>());
  CHECK(TypeOf<Box<int>>() == TypeOf<Box<int>>());
  CHECK(TypeOf<Box<int>>() != TypeOf<Box<long>>());
  CHECK(TypeOf<int*>() != TypeOf<const int*>());
}

TEST_CASE("type descriptor: const, volatile and references do not count") {
  CHECK(TypeOf<const Plain&>() == TypeOf<Plain>());
  CHECK(TypeOf<Plain&&>() == TypeOf<Plain>());
  CHECK(TypeOf<volatile int>() == TypeOf<int>());
}

// As a plugin has one that its host does not see.
TEST_CASE("type descriptor: two of one type are the same") {
  const TypeDescriptor other{&typeid(Plain), sizeof(Plain), alignof(Plain), nullptr};
  REQUIRE(&other != TypeOf<Plain>());
  CHECK(SameType(&other, TypeOf<Plain>()));
  CHECK(SameType(TypeOf<Plain>(), &other));
  CHECK(IsType<Plain>(&other));
  CHECK(TypeHash()(&other) == TypeHash()(TypeOf<Plain>()));
  CHECK_FALSE(IsType<Aligned>(&other));
  CHECK_FALSE(IsType<Plain>(nullptr));
  CHECK_FALSE(SameType(nullptr, &other));
  CHECK(SameType(nullptr, nullptr));
}

struct Count {
  static constexpr const char* kTag = "count";
};
struct Other {
  static constexpr int kTag = 7;  // something else
};

TEST_CASE("type descriptor: a type with a tag is called so beyond this program") {
  CHECK(TypeOf<Count>()->TagOrName() == "count");
  CHECK(TypeOf<Count>()->Name() != "count");
  CHECK(TypeOf<Other>()->TagOrName() == TypeOf<Other>()->Name());
  CHECK(TypeOf<int>()->TagOrName() == "int");
}

TEST_CASE("type descriptor: size and alignment") {
  CHECK(TypeOf<Plain>()->size == sizeof(Plain));
  CHECK(TypeOf<Plain>()->alignment == alignof(Plain));
  CHECK(TypeOf<Aligned>()->size == 64);
  CHECK(TypeOf<Aligned>()->alignment == 32);
  CHECK(*TypeOf<Plain>()->info == typeid(Plain));
}

TEST_CASE("type descriptor: destroys what needs it, and only that") {
  CHECK((TypeOf<Plain>()->destroy == nullptr));
  CHECK((TypeOf<std::unique_ptr<int>>()->destroy != nullptr));

  int destroyed = 0;
  alignas(Counting) unsigned char place[sizeof(Counting)];
  auto* value = new (place) Counting(&destroyed);
  REQUIRE((TypeOf<Counting>()->destroy != nullptr));
  TypeOf<Counting>()->destroy(value);
  CHECK(destroyed == 1);
}

TEST_CASE("type descriptor: names as written in C++") {
  CHECK(TypeOf<int>()->Name() == "int");
  CHECK(TypeOf<Plain>()->Name() == "ergon::core::type_descriptor_test::Plain");
  CHECK(TypeOf<Box<Plain>>()->Name() ==
        "ergon::core::type_descriptor_test::Box<ergon::core::type_descriptor_test::Plain>");
}

// Constants, so that they can be used before main and after static destruction has begun.
static_assert(std::is_trivially_destructible_v<TypeDescriptor>);
const TypeDescriptor* const early = TypeOf<std::vector<Plain>>();

TEST_CASE("type descriptor: complete before main") {
  REQUIRE(early != nullptr);
  CHECK(early->size == sizeof(std::vector<Plain>));
}

}  // namespace ergon::core::type_descriptor_test
