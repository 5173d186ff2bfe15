#include <ergon/gen/message.h>

#include <memory>
#include <string>
#include <type_traits>

#include <doctest/doctest.h>

#include <ergon/gen/atom.h>

namespace ergon::gen {
namespace message_test {

struct Job {
  int number;
};
struct Order {
  static constexpr const char* kTag = "order";
};
struct Price {
  static constexpr const char* kTag = "price";
};

core::EnvelopePtr Make(std::string text) {
  return core::MakeEnvelope<std::string>(0, core::Lane::kMain, std::move(text));
}

TEST_CASE("message: asked for its type") {
  const core::EnvelopePtr envelope = Make("hello");
  Message message(*envelope);
  CHECK(message.Is<std::string>());
  CHECK_FALSE(message.Is<int>());
  REQUIRE(message.As<std::string>() != nullptr);
  CHECK(*message.As<std::string>() == "hello");
  CHECK(message.As<int>() == nullptr);
  CHECK(message.As<const char*>() == nullptr);
  CHECK(&message.envelope() == envelope.get());
}

TEST_CASE("message: a constant one gives constants") {
  const core::EnvelopePtr envelope = Make("hello");
  const Message message(*envelope);
  static_assert(std::is_same_v<decltype(message.As<std::string>()), const std::string*>);
  CHECK(*message.As<std::string>() == "hello");
}

TEST_CASE("message: taken") {
  const core::EnvelopePtr envelope = Make(std::string(100, 'x'));
  Message message(*envelope);
  CHECK(message.Take<std::string>() == std::string(100, 'x'));
  CHECK(message.As<std::string>()->empty());  // moved out

  const core::EnvelopePtr pointer =
      core::MakeEnvelope<std::unique_ptr<int>>(0, core::Lane::kMain, std::make_unique<int>(5));
  CHECK(*Message(*pointer).Take<std::unique_ptr<int>>() == 5);
}

TEST_CASE("message: taken as something else") {
  const core::EnvelopePtr envelope = core::MakeEnvelope<Job>(0, core::Lane::kMain, 3);
  Message message(*envelope);
  CHECK_THROWS_WITH_AS((void)message.Take<int>(),
                       "message is ergon::gen::message_test::Job, not int", BadMessage);
  CHECK(message.As<Job>()->number == 3);
}

TEST_CASE("message: what is wrong with it names types as they call themselves") {
  const core::EnvelopePtr envelope = core::MakeEnvelope<Order>(0, core::Lane::kMain);
  Message message(*envelope);
  CHECK(message.TypeName() == "order");
  CHECK(message.Describe() == "order");
  CHECK_THROWS_WITH_AS((void)message.Take<Price>(), "message is order, not price", BadMessage);
  const core::EnvelopePtr atom = core::MakeEnvelope<Atom>(0, core::Lane::kMain, "grow");
  CHECK_THROWS_WITH_AS((void)Message(*atom).Take<Order>(), "message is atom 'grow', not order",
                       BadMessage);
}

TEST_CASE("message: without a value") {
  const core::EnvelopePtr signal = core::MakeSignal(0, core::Lane::kMain);
  Message message(*signal);
  CHECK(message.TypeName() == "nothing");
  CHECK_FALSE(message.Is<int>());
  CHECK(message.As<int>() == nullptr);
  CHECK_THROWS_WITH_AS((void)message.Take<int>(), "message is nothing, not int", BadMessage);
}

TEST_CASE("message: owned") {
  OwnedMessage empty;
  CHECK_FALSE(empty);
  OwnedMessage owned(Make("hello"));
  CHECK(bool(owned));
  CHECK(*owned.View().As<std::string>() == "hello");
  OwnedMessage moved = std::move(owned);
  CHECK(moved.View().Take<std::string>() == "hello");
  static_assert(!std::is_copy_constructible_v<OwnedMessage>);
}

TEST_CASE("message: text literals are stored as strings, others as they are") {
  static_assert(std::is_same_v<StoredType<const char(&)[6]>, std::string>);
  static_assert(std::is_same_v<StoredType<const char*>, std::string>);
  static_assert(std::is_same_v<StoredType<char*>, std::string>);
  static_assert(std::is_same_v<StoredType<const std::string&>, std::string>);
  static_assert(std::is_same_v<StoredType<const Job&>, Job>);
  static_assert(std::is_same_v<StoredType<Job>, Job>);
  static_assert(std::is_same_v<StoredType<int&>, int>);
}

}  // namespace message_test
}  // namespace ergon::gen
