#include <ergon/node/delivery/unmade_string.h>

#include <string>

#include <doctest/doctest.h>

#include <ergon/node/delivery/envelope_marks.h>

namespace ergon::node {

TEST_CASE("unmade_string: the same bytes, of every size, in the same envelope") {
  for (std::size_t size = kLeastUnmade; size <= kMostUnmade; ++size) {
    REQUIRE(MayBeUnmade(size));
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(i * 31);
    const core::EnvelopePtr envelope = BeginString(bytes);
    CHECK(IsUnmadeString(*envelope));
    CHECK(envelope->lane == core::Lane::kMain);
    envelope->from = {1, 2, 3};
    envelope->generation = 4;
    MakeStringIfUnmade(*envelope);
    CHECK(KindOf(*envelope) == gen::EnvelopeKind::kMessage);
    CHECK(envelope->from == core::Address{1, 2, 3});
    CHECK(envelope->generation == 4);
    REQUIRE(envelope->ValueAs<std::string>() != nullptr);
    CHECK(*envelope->ValueAs<std::string>() == bytes);
    MakeStringIfUnmade(*envelope);  // nothing happens to it
    CHECK(*envelope->ValueAs<std::string>() == bytes);
  }
}

TEST_CASE("unmade_string: shorter ones need no memory, and longer ones have no envelope") {
  CHECK(std::string(kLeastUnmade - 1, 'x').capacity() < kLeastUnmade);
  CHECK_FALSE(MayBeUnmade(kLeastUnmade - 1));
  CHECK_FALSE(MayBeUnmade(kMostUnmade + 1));
  CHECK(core::EnvelopeBytes(sizeof(UnmadeString), alignof(UnmadeString)) + kMostUnmade ==
        core::kEnvelopeClasses * core::kEnvelopeAlignment);
}

TEST_CASE("unmade_string: one that nobody makes leaves nothing behind") {
  (void)BeginString(std::string(100, 'x'));  // the sanitizers would tell
}

}  // namespace ergon::node
