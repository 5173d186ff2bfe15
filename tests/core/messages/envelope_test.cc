#include <ergon/core/messages/envelope.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

namespace ergon::core::envelope_test {
namespace {

struct Tracked {
  explicit Tracked(int value = 0) : number(value) { ++alive; }
  Tracked(const Tracked& other) : number(other.number) { ++alive; }
  ~Tracked() { --alive; }
  int number;
  static inline int alive = 0;
};

struct Pair {  // an aggregate: no constructor
  int first;
  std::string second;
};

template <std::size_t kAlignment>
struct alignas(kAlignment) Aligned {
  std::uint64_t number = 7;
};

bool IsAligned(const void* address, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

TEST_CASE("envelope: carries a value of its type") {
  EnvelopePtr envelope = MakeEnvelope<std::string>(3, Lane::kSystem, "hello");
  CHECK(envelope->type == TypeOf<std::string>());
  CHECK(envelope->kind == 3);
  CHECK(envelope->lane == Lane::kSystem);
  CHECK(envelope->flags == 0);
  CHECK(envelope->ref == 0);
  CHECK(envelope->deadline == 0);
  CHECK(envelope->generation == 0);
  CHECK(envelope->from == Address{});
  REQUIRE(envelope->ValueAs<std::string>() != nullptr);
  CHECK(*envelope->ValueAs<std::string>() == "hello");
  CHECK(envelope->ValueAs<int>() == nullptr);
}

TEST_CASE("envelope: aggregates and move-only values") {
  EnvelopePtr pair = MakeEnvelope<Pair>(0, Lane::kMain, 5, "five");
  CHECK(pair->ValueAs<Pair>()->second == "five");
  EnvelopePtr pointer =
      MakeEnvelope<std::unique_ptr<int>>(0, Lane::kMain, std::make_unique<int>(8));
  CHECK(**pointer->ValueAs<std::unique_ptr<int>>() == 8);
}

template <std::size_t kAlignment>
void CheckAlignment() {
  EnvelopePtr envelope = MakeEnvelope<Aligned<kAlignment>>(0, Lane::kMain);
  CHECK(IsAligned(envelope.get(), kEnvelopeAlignment));
  CHECK(IsAligned(envelope->Value(), kAlignment));
  CHECK(static_cast<char*>(envelope->Value()) >=
        reinterpret_cast<char*>(envelope.get()) + sizeof(Envelope));
  CHECK(envelope->template ValueAs<Aligned<kAlignment>>()->number == 7);
  CHECK(EnvelopeBytes(sizeof(Aligned<kAlignment>), kAlignment) ==
        static_cast<std::size_t>(static_cast<char*>(envelope->Value()) -
                                 reinterpret_cast<char*>(envelope.get())) +
            sizeof(Aligned<kAlignment>));
}

TEST_CASE("envelope: alignment of the value") {
  CheckAlignment<8>();
  CheckAlignment<16>();
  CheckAlignment<32>();
  CheckAlignment<64>();
}

TEST_CASE("envelope: 8 bytes fit one cache line") {
  CHECK(EnvelopeBytes(8, 8) == 64);
  CHECK(EnvelopeBytes(9, 1) == 65);
  CHECK(EnvelopeBytes(16, 16) == 80);
  CHECK(EnvelopeBytes(64, 64) == 128);
}

TEST_CASE("envelope: values larger than any block") {
  struct Large {
    std::array<unsigned char, 100'000> bytes;
  };
  EnvelopePtr envelope = MakeEnvelope<Large>(0, Lane::kMain);
  CHECK(IsAligned(envelope.get(), kEnvelopeAlignment));
  envelope->ValueAs<Large>()->bytes.fill(0xab);
  CHECK(envelope->ValueAs<Large>()->bytes.back() == 0xab);
}

TEST_CASE("envelope: the value dies with it") {
  { EnvelopePtr envelope = MakeEnvelope<Tracked>(0, Lane::kMain, 5); }
  CHECK(Tracked::alive == 0);
  DisposeEnvelope(nullptr);
}

TEST_CASE("envelope: a consumed value is not destroyed again") {
  EnvelopePtr envelope = MakeEnvelope<Tracked>(0, Lane::kMain, 5);
  CHECK(Tracked::alive == 1);
  ConsumeValue(*envelope);
  CHECK(Tracked::alive == 0);
  CHECK((envelope->flags & Envelope::kFlagConsumed) != 0);
  ConsumeValue(*envelope);
  CHECK(Tracked::alive == 0);
  envelope.reset();
  CHECK(Tracked::alive == 0);
}

TEST_CASE("envelope: a consumed one may be freed without disposing") {
  Envelope* envelope = MakeEnvelope<Tracked>(0, Lane::kMain, 5).release();
  ConsumeValue(*envelope);
  FreeEnvelope(envelope, envelope->size_class);
  CHECK(Tracked::alive == 0);
}

TEST_CASE("envelope: a throwing constructor leaves nothing behind") {
  struct Thrower {
    explicit Thrower(bool now) {
      if (now) throw std::runtime_error("no");
    }
    Tracked member;
  };
  CHECK_THROWS_AS((void)MakeEnvelope<Thrower>(0, Lane::kMain, true), std::runtime_error);
  CHECK(Tracked::alive == 0);
  EnvelopePtr good = MakeEnvelope<Thrower>(0, Lane::kMain, false);
  CHECK(Tracked::alive == 1);
}

template <class T>
void CheckTag(std::uint64_t tag) {
  EnvelopePtr envelope = MakeEnvelopeWith<T>({.tag = tag}, 3, Lane::kSystem);
  REQUIRE((envelope->flags & Envelope::kFlagTagged) != 0);
  CHECK(envelope->Tag() == tag);
  const auto value = reinterpret_cast<std::uintptr_t>(envelope->Value());
  const auto place = reinterpret_cast<std::uintptr_t>(&envelope->Tag());
  CHECK(place % alignof(std::uint64_t) == 0);
  CHECK(place >= value + sizeof(T));
  CHECK(place < value + sizeof(T) + 8);
  envelope->Tag() = ~std::uint64_t{0};
  CHECK(*envelope->ValueAs<T>() == T{});
  // Still there when the value is gone.
  ConsumeValue(*envelope);
  CHECK(envelope->Tag() == ~std::uint64_t{0});
}

TEST_CASE("envelope: a tag stands behind the value, whatever its size") {
  CheckTag<char>(1);
  CheckTag<std::uint64_t>(2);
  CheckTag<std::array<char, 57>>(3);
  CheckTag<std::array<char, 4096>>(std::uint64_t{1} << 63);
  CheckTag<std::string>(4);
  EnvelopePtr aligned = MakeEnvelopeWith<Aligned<64>>({.tag = 5}, 0, Lane::kMain);
  CHECK(aligned->Tag() == 5);
  CHECK(aligned->ValueAs<Aligned<64>>()->number == 7);
  EnvelopePtr without = MakeEnvelopeWith<int>({}, 0, Lane::kMain, 5);
  CHECK(without->flags == 0);
  CHECK(without->size_class == MakeEnvelope<int>(0, Lane::kMain, 5)->size_class);
}

TEST_CASE("envelope: a signal has no value") {
  EnvelopePtr signal = MakeSignal(9, Lane::kUrgent);
  CHECK(signal->type == nullptr);
  CHECK(signal->kind == 9);
  CHECK(signal->lane == Lane::kUrgent);
  CHECK(signal->ValueAs<int>() == nullptr);
  ConsumeValue(*signal);
}

}  // namespace
}  // namespace ergon::core::envelope_test
