#include <ergon/node/cluster/values/trace_tokens.h>

#include <string>

#include <doctest/doctest.h>

#include <ergon/node/cluster/signals/trace_token.h>
#include <ergon/node/erlang/term.h>

#include <cluster/terms.h>

namespace ergon::dist::trace_tokens_test {
namespace {

const gen::PID kTheirs{1, gen::Atom("erl@127.0.0.1"), 2};
const gen::PID kOurs{3, gen::Atom("own@127.0.0.1"), 4};

std::string TokenWith(std::string_view label, std::uint64_t flags = 1, std::uint64_t serial = 1,
                      std::uint64_t previous = 0) {
  std::string token;
  AppendTraceToken(token, {.flags = flags, .label = label, .serial = serial, .previous = previous},
                   kTheirs);
  return token;
}
std::string Integer(std::int64_t value) { return std::string(Term(value).raw()); }

// What the token of Make says, as Erlang prints it: all but the PID.
std::string Made(TraceTokens& tokens, gen::TraceId trace) {
  const Term token = Term::FromChecked(tokens.Make(trace, kOurs));
  REQUIRE(token.size() == 5);
  CHECK(token[3].AsPid() == kOurs);
  std::string text;
  for (const std::size_t at : {0U, 1U, 2U, 4U}) text += token[at].ToString() + ' ';
  return text;
}

}  // namespace

TEST_CASE("trace tokens: an integer is the trace id, what else is a label has one made of it") {
  CHECK(TraceIdOf(Integer(1)) == 1);
  CHECK(TraceIdOf(Integer(1'000'000)) == 1'000'000);
  const std::string biggest = terms::Bytes({110, 8, 0}) + std::string(8, '\xff');
  CHECK(TraceIdOf(biggest) == ~gen::TraceId{0});
  const std::string too_big = terms::Bytes({110, 9, 0}) + std::string(9, '\xff');
  const std::string others[] = {
      Integer(0), Integer(-1), too_big, terms::SmallAtom("a"), terms::SmallAtom("b"), terms::kNil};
  for (const std::string& label : others) {
    CHECK(TraceIdOf(label) != 0);
    CHECK(TraceIdOf(label) == TraceIdOf(std::string(label)));
    for (const std::string& other : others) {
      CHECK((TraceIdOf(label) == TraceIdOf(other)) == (label == other));
    }
  }
  // The same on each node, of whatever version.
  CHECK(TraceIdOf(terms::SmallAtom("label")) == 0x6d5405feab88085f);
}

TEST_CASE("trace tokens: flags and label are kept, the serial counts on") {
  TraceTokens tokens;
  const gen::TraceId trace = tokens.TakeToken(TokenWith(Integer(17), 2, 5, 4));
  CHECK(trace == 17);
  CHECK(Made(tokens, trace) == "2 17 6 5 ");
  CHECK(Made(tokens, trace) == "2 17 7 5 ");
  // One that has been overtaken, and one that is further.
  CHECK(tokens.TakeToken(TokenWith(Integer(17), 1, 2, 1)) == 17);
  CHECK(Made(tokens, trace) == "1 17 8 2 ");
  CHECK(tokens.TakeToken(TokenWith(Integer(17), 1, 100, 99)) == 17);
  CHECK(Made(tokens, trace) == "1 17 101 100 ");

  const gen::TraceId of_atom = tokens.TakeToken(TokenWith(terms::SmallAtom("order")));
  CHECK(Made(tokens, of_atom) == "1 order 2 1 ");
  CHECK(tokens.size() == 2);

  CHECK(tokens.Make(0, kOurs).empty());
  CHECK(tokens.Make(17, gen::PID()).empty());
  CHECK(tokens.TakeToken({}) == 0);
}

TEST_CASE("trace tokens: a trace that begins here has its trace id as the label") {
  TraceTokens tokens;
  CHECK(Made(tokens, 42) == "7 42 1 0 ");
  CHECK(Made(tokens, 42) == "7 42 2 0 ");
  CHECK(Made(tokens, ~gen::TraceId{0}) == "7 18446744073709551615 1 0 ");
  // It comes back.
  CHECK(tokens.TakeToken(TokenWith(Integer(42), 7, 9, 2)) == 42);
  CHECK(Made(tokens, 42) == "7 42 10 9 ");
}

TEST_CASE("trace tokens: what others send takes no more room than it may") {
  TraceTokens tokens(3);
  const gen::TraceId kept = tokens.TakeToken(TokenWith(terms::SmallAtom("kept"), 1, 8));
  for (int label = 100; label < 110; ++label) {
    CHECK(tokens.TakeToken(TokenWith(Integer(label), 1, 50)) == static_cast<gen::TraceId>(label));
    (void)tokens.TakeToken(TokenWith(terms::SmallAtom("kept"), 1, 8));
    CHECK(tokens.size() <= 3);
  }
  CHECK(Made(tokens, kept) == "1 kept 9 8 ");
  CHECK(Made(tokens, 109) == "1 109 51 50 ");
  CHECK(Made(tokens, 100) == "7 100 1 0 ");  // forgotten

  const std::string longest = terms::Binary(std::string(TraceTokens::kMostLabelBytes - 5, 'x'));
  const std::string longer = terms::Binary(std::string(TraceTokens::kMostLabelBytes - 4, 'x'));
  const gen::TraceId of_longest = tokens.TakeToken(TokenWith(longest));
  CHECK(Term::FromChecked(tokens.Make(of_longest, kOurs))[1].raw() == longest);
  const gen::TraceId of_longer = tokens.TakeToken(TokenWith(longer));
  CHECK(of_longer == TraceIdOf(longer));
  TraceToken token;
  const std::string made = tokens.Make(of_longer, kOurs);
  REQUIRE(ReadTraceToken(made, 10, token));
  CHECK(TraceIdOf(token.label) == of_longer);
  CHECK(token.label.size() < 20);
  CHECK(token.serial == 2);
}

TEST_CASE("trace tokens: nobody is made to count to the end") {
  TraceTokens tokens;
  CHECK(tokens.TakeToken(TokenWith(Integer(1), 1, TraceToken::kMostNumber)) == 1);
  CHECK(Made(tokens, 1) == "1 1 1 0 ");
  CHECK(tokens.TakeToken(TokenWith(Integer(1), 1, TraceTokens::kMostSerial - 1)) == 1);
  TraceToken token;
  for (int i = 0; i < 2; ++i) {
    const std::string made = tokens.Make(1, kOurs);
    REQUIRE(ReadTraceToken(made, 10, token));
    CHECK(token.serial == TraceTokens::kMostSerial);
  }
}

TEST_CASE("trace tokens: a label that others might refuse goes on as a number") {
  const auto tuple_of = [](const std::string& element) { return terms::Tuple({element}); };
  const std::string atom = terms::SmallAtom("a");
  const std::string map = std::string("\x74\0\0\0\1", 5) + atom + atom;
  const std::string list = std::string("\x6c\0\0\0\1", 5) + atom + "\x6a";
  const std::string text = std::string("\x6b\0\2ab", 5);
  const std::string deep = tuple_of(tuple_of(tuple_of(tuple_of(atom))));
  for (const std::string& label : {text, deep, tuple_of(text), terms::Binary("x")}) {
    TraceTokens tokens;
    const gen::TraceId trace = tokens.TakeToken(TokenWith(label));
    CHECK(Term::FromChecked(tokens.Make(trace, kOurs))[1].raw() == label);
  }
  for (const std::string& label : {map, list, tuple_of(map), tuple_of(list), tuple_of(deep)}) {
    TraceTokens tokens;
    const gen::TraceId trace = tokens.TakeToken(TokenWith(label));
    CHECK(trace == TraceIdOf(label));
    CHECK(TraceIdOf(Term::FromChecked(tokens.Make(trace, kOurs))[1].raw()) == trace);
    CHECK(Term::FromChecked(tokens.Make(trace, kOurs))[1].kind() == Term::Kind::kInteger);
  }
}

}  // namespace ergon::dist::trace_tokens_test
