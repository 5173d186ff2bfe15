#include <ergon/gen/match.h>

#include <memory>
#include <string>
#include <type_traits>
#include <variant>

#include <doctest/doctest.h>

#include <ergon/gen/status.h>

namespace ergon::gen {
namespace {

struct Add {
  int amount = 0;
};
struct Rename {
  std::string name;
};
struct Owner {
  std::unique_ptr<int> value;
};

template <class T>
core::EnvelopePtr Envelope(T value) {
  return core::MakeEnvelope<T>(static_cast<std::uint8_t>(EnvelopeKind::kMessage), core::Lane::kMain,
                               std::move(value));
}

// Calls `test` with a message that holds the value.
template <class T, class F>
auto With(T value, F test) {
  auto envelope = Envelope(std::move(value));
  Message message(*envelope);
  return test(message);
}

TEST_CASE("match: the handler of the message's type is called, and no other") {
  std::string called;
  const auto match = [&](Message& message) {
    return Match(
        message, [&](const Add& add) { called += "add " + std::to_string(add.amount); },
        [&](Rename& rename) { called += "rename " + rename.name; },
        [&](int number) { called += "int " + std::to_string(number); });
  };
  static_assert(std::is_same_v<decltype(match(std::declval<Message&>())), bool>);
  CHECK(With(Add{3}, match));
  CHECK(called == "add 3");
  called.clear();
  CHECK(With(Rename{"x"}, match));
  CHECK(called == "rename x");
  called.clear();
  CHECK(With(7, match));
  CHECK(called == "int 7");
  called.clear();
  CHECK_FALSE(With(1.5, match));
  CHECK(called.empty());
}

TEST_CASE("match: references see the value in the message, values take it") {
  auto envelope = Envelope(Rename{"old"});
  Message message(*envelope);
  CHECK(Match(message, [](Rename& rename) { rename.name = "new"; }));
  CHECK_FALSE(message.taken());
  std::string seen;
  CHECK(Match(message, [&](const Rename& rename) { seen = rename.name; }));
  CHECK(seen == "new");
  CHECK(Match(message, [&](Rename rename) { seen = rename.name + "!"; }));
  CHECK(seen == "new!");
  CHECK(message.taken());

  With(Owner{std::make_unique<int>(5)}, [](Message& owner) {
    std::unique_ptr<int> got;
    CHECK(Match(owner, [&](Owner&& moved) { got = std::move(moved.value); }));
    REQUIRE(got);
    CHECK(*got == 5);
    CHECK(owner.taken());
  });
}

TEST_CASE("match: handlers that return something") {
  const auto match = [](Message& message) {
    return Match(
        message, [](const Add&) { return Continue(); },
        [](const Rename& rename) { return Stop(Reason::Error(rename.name)); });
  };
  static_assert(std::is_same_v<decltype(match(std::declval<Message&>())), std::optional<Status>>);
  auto status = With(Add{1}, match);
  REQUIRE(status);
  CHECK_FALSE(status->stops());
  status = With(Rename{"enough"}, match);
  REQUIRE(status);
  CHECK(status->reason() == Reason::Error("enough"));
  CHECK_FALSE(With(1, match));
}

TEST_CASE("match: the last handler may take everything else") {
  const auto match = [](Message& message) {
    return Match(
        message, [](const Add& add) { return Reply(add.amount); },
        [](Message& other) { return ReplyError(Error("no " + other.TypeName())); });
  };
  static_assert(std::is_same_v<decltype(match(std::declval<Message&>())), CallResult>);
  CHECK(*With(Add{4}, match).response()->ValueAs<int>() == 4);
  CHECK(With(1.5, match).response()->ValueAs<Error>()->detail() == "no double");

  const auto generic = [](Message& message) {
    return Match(
        message, [](int number) { return number; }, [](auto& other) { return other ? -1 : -2; });
  };
  static_assert(std::is_same_v<decltype(generic(std::declval<Message&>())), int>);
  CHECK(With(8, generic) == 8);
  CHECK(With(Add{}, generic) == -1);
  With(8, [&](Message& message) {
    message.Clear();  // forwarded
    CHECK(generic(message) == -2);
  });
}

int Twice(int number) { return 2 * number; }
struct Functor {
  int operator()(const Add& add) noexcept { return calls += add.amount; }
  int calls = 0;
};

TEST_CASE("match: functions and function objects, which are not copied") {
  Functor functor;
  const auto match = [&](Message& message) { return Match(message, &Twice, functor); };
  CHECK(With(4, match) == 8);
  CHECK(With(Add{2}, match) == 2);
  CHECK(With(Add{3}, match) == 5);
  CHECK(functor.calls == 5);
}

TEST_CASE("match: what was received, of several types") {
  using Received = std::variant<int, std::string, std::unique_ptr<int>>;
  const auto name = [](Received received) {
    return gen::Match(
        received, [](int number) { return "number " + std::to_string(number); },
        [](std::unique_ptr<int>& owned) {
          const std::unique_ptr<int> taken = std::move(owned);
          return "owned " + std::to_string(*taken);
        },
        [](const auto&) { return std::string("other"); });
  };
  CHECK(name(5) == "number 5");
  CHECK(name(std::make_unique<int>(6)) == "owned 6");
  CHECK(name(std::string("text")) == "other");
  int calls = 0;
  Received number = 1;
  gen::Match(number, [&calls](const auto&) { ++calls; });
  CHECK(calls == 1);
  // The exact type goes before one that fits better or is converted, and what is taken by value is taken out.
  std::variant<int, double> either = 2;
  const auto which = [&either] {
    return gen::Match(
        either, [](const int&) { return 1; }, [](auto&) { return 2; });
  };
  CHECK(which() == 1);
  either = 2.5;
  CHECK(which() == 2);
  Received owned = std::make_unique<int>(7);
  CHECK(gen::Match(
            owned, [](std::unique_ptr<int> taken) { return *taken; },
            [](const auto&) { return 0; }) == 7);
  CHECK(std::get<std::unique_ptr<int>>(owned) == nullptr);
}

}  // namespace
}  // namespace ergon::gen
