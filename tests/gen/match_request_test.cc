#include <ergon/gen/match_request.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

struct ThumbnailDone {
  std::string path;
};
struct Thumbnail {
  using Reply = ThumbnailDone;
  std::string path;
};
struct Lookup {
  using Reply = int;
  int key = 0;
};
struct Untyped {};
struct Later {};
struct Unknown {};

static_assert(TypedRequest<Thumbnail> && TypedRequest<const Thumbnail&> && !TypedRequest<Untyped>);
static_assert(std::is_same_v<ReplyOf<const Thumbnail&>, ThumbnailDone>);

CallResult Handle(Message& request) {
  return MatchRequest(
      request, [](const Thumbnail& job) { return ThumbnailDone{job.path + ".small"}; },
      [](const Lookup& lookup) -> Result<int> {
        if (lookup.key == 0) return Error(ErrorCode::kIncorrect, "key: 0");
        return 10 * lookup.key;
      },
      [](const Untyped&) { return std::string("anything"); },
      [](const Later&) { return NoReply(); },
      [](Message& other) { return ReplyError(Error(ErrorCode::kUnsupported, other.TypeName())); });
}

template <class T>
CallResult Ask(T value) {
  auto envelope = core::MakeEnvelope<T>(static_cast<std::uint8_t>(EnvelopeKind::kRequest),
                                        core::Lane::kMain, std::move(value));
  Message request(*envelope);
  return Handle(request);
}
template <class T>
T* ValueOf(CallResult& result) {
  return result.response() ? result.response()->ValueAs<T>() : nullptr;
}

TEST_CASE("match request: what a handler returns is the reply") {
  CallResult done = Ask(Thumbnail{"a"});
  REQUIRE(ValueOf<ThumbnailDone>(done) != nullptr);
  CHECK(ValueOf<ThumbnailDone>(done)->path == "a.small");
  CallResult text = Ask(Untyped());
  REQUIRE(ValueOf<std::string>(text) != nullptr);
  CHECK(*ValueOf<std::string>(text) == "anything");
}

TEST_CASE("match request: a result is its value or its error") {
  CallResult found = Ask(Lookup{4});
  REQUIRE(ValueOf<int>(found) != nullptr);
  CHECK(*ValueOf<int>(found) == 40);
  CallResult missing = Ask(Lookup{0});
  REQUIRE(ValueOf<Error>(missing) != nullptr);
  CHECK(ValueOf<Error>(missing)->code() == ErrorCode::kIncorrect);
}

TEST_CASE("match request: a call result stays one, and the rest goes to the last handler") {
  CallResult later = Ask(Later());
  CHECK(later.response() == nullptr);
  CHECK_FALSE(later.status().stops());
  CallResult other = Ask(Unknown());
  REQUIRE(ValueOf<Error>(other) != nullptr);
  CHECK(ValueOf<Error>(other)->code() == ErrorCode::kUnsupported);
}

TEST_CASE("match request: without a handler for all others it is empty when nobody was called") {
  auto envelope = core::MakeEnvelope<Unknown>(static_cast<std::uint8_t>(EnvelopeKind::kRequest),
                                              core::Lane::kMain);
  Message request(*envelope);
  auto result = MatchRequest(request, [](const Untyped&) { return 1; });
  static_assert(std::is_same_v<decltype(result), std::optional<CallResult>>);
  CHECK_FALSE(result.has_value());
}

TEST_CASE("match request: a value taken out of the request, move-only replies") {
  struct Parcel {
    std::unique_ptr<int> value;
  };
  auto envelope = core::MakeEnvelope<Parcel>(static_cast<std::uint8_t>(EnvelopeKind::kRequest),
                                             core::Lane::kMain, Parcel{std::make_unique<int>(3)});
  Message request(*envelope);
  auto result = MatchRequest(request, [](Parcel parcel) { return std::move(parcel.value); });
  REQUIRE(result.has_value());
  REQUIRE(ValueOf<std::unique_ptr<int>>(*result) != nullptr);
  CHECK(**ValueOf<std::unique_ptr<int>>(*result) == 3);
}

}  // namespace
}  // namespace ergon::gen
