// What Ergon nodes tell each other beyond the protocol of Erlang: the terms, read and written.
#include <ergon/node/cluster/signals/ergon_messages.h>

#include <deque>
#include <string>

#include <doctest/doctest.h>

#include <ergon/node/delivery/remote_names.h>
#include <ergon/node/erlang/terms/check.h>
#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/erlang/terms/writer.h>

#include <cluster/terms.h>

namespace ergon::dist::ergon_messages_test {
namespace {

using Kind = ErgonMessage::Kind;
using terms::Binary;
using terms::Pid;
using terms::Small;
using terms::SmallAtom;
using terms::Tuple;

constexpr std::size_t kDepth = 64;
const gen::Atom kOwn("own@h");

// A message is a view of its term, which is kept.
std::optional<ErgonMessage> Read(const std::string& text) {
  static std::deque<std::string> kept;
  const std::string& term = kept.emplace_back(text);
  REQUIRE(CheckTerm(term, kDepth).value() == term.size());
  return ReadErgonMessage(term, kOwn, kDepth);
}

const std::string& Question() {
  static const std::string reference = terms::Reference("peer@h", 7, {1, 2, 0});
  return reference;
}

}  // namespace

TEST_CASE("own messages: an important one, for a process or a name") {
  std::string term;
  AppendImportant(term, Question(), {12, kOwn, 7});
  auto message = Read(term + Small(1));
  REQUIRE(message);
  CHECK(message->kind == Kind::kImportant);
  CHECK(message->reference == Question());
  CHECK(message->to == gen::PID{12, kOwn, 7});
  CHECK(message->term == Small(1));

  term.clear();
  // Not each name of ours is an atom in Erlang.
  AppendImportant(term, Question(), node::PidOfName({"na\xffme", kOwn}));
  message = Read(term + Small(1));
  REQUIRE(message);
  CHECK(message->to.node.empty());
  CHECK(message->name == "na\xffme");
}

TEST_CASE("own messages: links and inspections, by an alias, too") {
  const std::string alias = terms::Reference("own@h", 7, {5, 6, 0});
  const gen::PID by_alias = node::PidOfAlias(node::ForeignAlias{kOwn, 7, 3, {5, 6, 0}});
  std::string term;
  AppendLink(term, Question(), by_alias);
  auto message = Read(term);
  REQUIRE(message);
  CHECK(message->kind == Kind::kLink);
  CHECK(message->reference == Question());
  CHECK(message->alias == alias);
  CHECK(message->name.empty());

  term.clear();
  AppendInspect(term, Question(), node::PidOfName({"name", kOwn}));
  message = Read(term + Small(1));
  REQUIRE(message);
  CHECK(message->kind == Kind::kInspect);
  CHECK(message->name == "name");
  CHECK(message->term == Small(1));

  term.clear();
  AppendMakerEnd(term, Question());
  message = Read(term + SmallAtom("over"));
  REQUIRE(message);
  CHECK(message->kind == Kind::kMakerEnd);
  CHECK(message->term == SmallAtom("over"));

  term.clear();
  AppendUnlinked(term, Question());
  message = Read(term);
  REQUIRE(message);
  CHECK(message->kind == Kind::kUnlinked);
  CHECK(message->reference == Question());
}

TEST_CASE("own messages: a question for the room of a process") {
  std::string term;
  AppendRoomQuestion(term, Question(), {12, kOwn, 7});
  const auto message = Read(term);
  REQUIRE(message);
  CHECK(message->kind == Kind::kRoom);
  CHECK(message->reference == Question());
  CHECK(message->to == gen::PID{12, kOwn, 7});
}

TEST_CASE("own messages: of events") {
  const gen::Atom prices("prices");
  constexpr std::uint64_t kNumber = 0xffff'ffff'ffff'ffff;
  std::string term;
  AppendSubscribe(term, Question(), prices, kNumber, true);
  auto message = Read(term);
  REQUIRE(message);
  CHECK(message->kind == Kind::kSubscribe);
  CHECK(message->reference == Question());
  CHECK(message->event == "prices");
  CHECK(message->number == kNumber);
  CHECK(message->is_link);

  term.clear();
  AppendUnsubscribe(term, prices, 1, false);
  message = Read(term);
  REQUIRE(message);
  CHECK(message->kind == Kind::kUnsubscribe);
  CHECK(message->reference.empty());
  CHECK(message->event == "prices");
  CHECK(message->number == 1);
  CHECK_FALSE(message->is_link);

  term.clear();
  AppendMark(term, prices, 2, {.event = kNumber, .seen = 9, .creation = 0xffff'ffff});
  message = Read(term);
  REQUIRE(message);
  CHECK(message->kind == Kind::kMark);
  CHECK(message->reference.empty());
  CHECK(message->event == "prices");
  CHECK(message->number == 2);
  CHECK(message->mark.event == kNumber);
  CHECK(message->mark.seen == 9);
  CHECK(message->mark.creation == 0xffff'ffff);

  for (const std::uint64_t number : {std::uint64_t{0}, kNumber}) {
    term.clear();
    AppendValue(term, {12, kOwn, 7}, prices, {.monitor = kNumber, .link = 0}, -5, number);
    message = Read(term + Small(1));
    REQUIRE(message);
    CHECK(message->mark.seen == number);
    CHECK(message->term == Small(1));
  }
  // As nodes of earlier versions know it.
  term.clear();
  AppendValue(term, {12, kOwn, 7}, prices, {.monitor = kNumber, .link = 0}, -5, 0);
  CHECK(static_cast<int>(term[1]) == 7);
  message = Read(term + Small(1));
  REQUIRE(message);
  CHECK(message->kind == Kind::kValue);
  CHECK(message->to == gen::PID{12, kOwn, 7});
  CHECK(message->event == "prices");
  CHECK(message->subscription.monitor == kNumber);
  CHECK(message->subscription.link == 0);
  CHECK(message->time == -5);
  CHECK(message->term == Small(1));

  term.clear();
  AppendEventEnd(term, {12, kOwn, 7}, prices, 3, true);
  message = Read(term + SmallAtom("shutdown"));
  REQUIRE(message);
  CHECK(message->kind == Kind::kEventEnd);
  CHECK(message->to == gen::PID{12, kOwn, 7});
  CHECK(message->event == "prices");
  CHECK(message->number == 3);
  CHECK(message->is_link);
  CHECK(message->term == SmallAtom("shutdown"));
}

TEST_CASE("own messages: what a node packs") {
  std::string term;
  AppendPacks(term);
  TermWriter(term).Nil();
  CHECK(term == Tuple({SmallAtom("packs"), "j"}));
  const auto message = Read(term);
  REQUIRE(message);
  CHECK(message->kind == Kind::kPacks);
  CHECK(message->term == "j");
  CHECK(message->reference.empty());
}

TEST_CASE(
    "own messages: those of later versions are known as such, and whether they are questions") {
  auto message = Read(Tuple({SmallAtom("later"), Question(), Small(1)}));
  REQUIRE(message);
  CHECK(message->kind == Kind::kUnknown);
  CHECK(message->reference == Question());
  message = Read(Tuple({SmallAtom("later"), Small(1)}));
  REQUIRE(message);
  CHECK(message->kind == Kind::kUnknown);
  CHECK(message->reference.empty());
  message = Read(Tuple({SmallAtom("important"), Question(), Small(1)}));
  REQUIRE(message);
  CHECK(message->kind == Kind::kUnknown);
}

TEST_CASE("own messages: what is none") {
  const std::string to = Pid("own@h", 1, 0, 7);
  for (const std::string& term :
       {Small(1),
        SmallAtom("important"),
        Tuple({}),
        Tuple({SmallAtom("important")}),
        Tuple({Small(1), Question()}),
        Tuple({SmallAtom("important"), Question(), Small(1), Small(1)}),
        Tuple({SmallAtom("important"), Question(), SmallAtom("name"), Small(1)}),
        Tuple({SmallAtom("important"), Question(), Pid("other@h", 1, 0, 7), Small(1)}),
        Tuple({SmallAtom("link"), Question(), SmallAtom("name")}),
        Tuple({SmallAtom("inspect"), Question(), Small(1), Small(1)}),
        Tuple({SmallAtom("subscribe"), Question(), Binary("e"), Small(0), SmallAtom("true")}),
        Tuple({SmallAtom("subscribe"), Question(), Binary("e"), Small(1), SmallAtom("maybe")}),
        Tuple({SmallAtom("mark"), Binary("e"), Small(0), Small(1), Small(1), Small(1)}),
        Tuple({SmallAtom("mark"), Binary("e"), Small(1), Binary("c"), Small(1), Small(1)}),
        Tuple({SmallAtom("mark"), SmallAtom("e"), Small(1), Small(1), Small(1), Small(1)}),
        Tuple({SmallAtom("mark"), Binary("e"), Small(1), Small(1), Small(1), SmallAtom("x")}),
        Tuple({SmallAtom("event"), to, Binary("e"), Small(1), Small(1), Small(1), SmallAtom("x"),
               Small(1)}),
        Tuple({SmallAtom("unsubscribe"), SmallAtom("e"), Small(1), SmallAtom("true")}),
        Tuple(
            {SmallAtom("event"), to, Binary("e"), Small(1), Small(1), SmallAtom("now"), Small(1)}),
        Tuple({SmallAtom("event_end"), Binary("e"), to, Small(1), SmallAtom("true"), Small(1)})}) {
    CHECK_FALSE(Read(term));
  }
  CHECK(Read(Tuple({SmallAtom("important"), Question(), to, Small(1)})));
}

}  // namespace ergon::dist::ergon_messages_test
