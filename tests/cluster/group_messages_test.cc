// What nodes tell each other of their groups: the terms of Erlang's module pg, read and written.
#include <ergon/node/cluster/groups/group_messages.h>

#include <deque>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/check.h>

#include <cluster/terms.h>

namespace ergon::dist::group_messages_test {
namespace {

using Kind = GroupMessage::Kind;
using PIDs = std::vector<gen::PID>;
using terms::Binary;
using terms::Bytes;
using terms::kNil;
using terms::List;
using terms::Map;
using terms::Pid;
using terms::Small;
using terms::SmallAtom;
using terms::Tuple;

constexpr std::size_t kDepth = 64;
const gen::Atom kNode("peer@h");

gen::PID PidOf(std::uint64_t id) { return {id, kNode, 7}; }
std::string TermOf(std::uint32_t id) { return Pid("peer@h", id, 0, 7); }
std::string Foreign() { return Pid("other@h", 1, 0, 7); }
std::string Cast(const std::string& request) { return Tuple({SmallAtom("$gen_cast"), request}); }

// A message is a view of its term, which is kept.
std::optional<GroupMessage> Read(const std::string& text) {
  static std::deque<std::string> kept;
  const std::string& term = kept.emplace_back(text);
  REQUIRE(CheckTerm(term, kDepth).value() == term.size());
  return ReadGroupMessage(term, kNode, kDepth);
}

}  // namespace

TEST_CASE("group messages: each is read as it is written by pg") {
  auto message = Read(Tuple({SmallAtom("discover"), TermOf(1)}));
  REQUIRE(message);
  CHECK(message->kind == Kind::kDiscover);
  CHECK(message->peer == PidOf(1));

  message = Read(Tuple({SmallAtom("discover"), TermOf(1), Small(2)}));
  REQUIRE(message);
  CHECK(message->kind == Kind::kDiscover);

  message = Read(Tuple({SmallAtom("join"), TermOf(1), SmallAtom("web"), TermOf(2)}));
  REQUIRE(message);
  CHECK(message->kind == Kind::kJoin);
  REQUIRE(message->groups.size() == 1);
  CHECK(message->groups[0].name == "web");
  CHECK(message->groups[0].pids == PIDs{PidOf(2)});

  message =
      Read(Tuple({SmallAtom("join"), TermOf(1), SmallAtom("web"), List({TermOf(2), TermOf(3)})}));
  REQUIRE(message);
  CHECK(message->groups[0].pids == PIDs{PidOf(2), PidOf(3)});

  message = Read(Tuple({SmallAtom("join"), TermOf(1), SmallAtom("web"), kNil}));
  REQUIRE(message);
  CHECK(message->groups[0].pids.empty());

  message = Read(Tuple({SmallAtom("leave"), TermOf(1), TermOf(2),
                        List({SmallAtom("web"), SmallAtom("api"), SmallAtom("web")})}));
  REQUIRE(message);
  CHECK(message->kind == Kind::kLeave);
  CHECK(message->pids == PIDs{PidOf(2)});
  REQUIRE(message->groups.size() == 3);
  CHECK(message->groups[1].name == "api");

  message = Read(Cast(Tuple({SmallAtom("sync"), TermOf(1),
                             List({Tuple({SmallAtom("web"), List({TermOf(2), TermOf(2)})}),
                                   Tuple({SmallAtom("api"), List({TermOf(3)})})})})));
  REQUIRE(message);
  CHECK(message->kind == Kind::kSync);
  REQUIRE(message->groups.size() == 2);
  CHECK(message->groups[0].pids == PIDs{PidOf(2), PidOf(2)});
  CHECK(message->groups[1].pids == PIDs{PidOf(3)});
  CHECK(Read(Cast(Tuple({SmallAtom("sync"), TermOf(1), kNil})))->groups.empty());
}

TEST_CASE("group messages: names that are no atoms are left out, and told of") {
  const std::vector<std::string> names = {
      Small(1),     Binary("web"),         Tuple({SmallAtom("room"), Small(1)}), Map({}), kNil,
      Foreign(),    Bytes({107, 0, 1, 7}),  // "\a"
      SmallAtom("")};
  for (const std::string& name : names) {
    auto message = Read(Tuple({SmallAtom("join"), TermOf(1), name, TermOf(2)}));
    REQUIRE(message);
    CHECK(message->groups.empty());
    CHECK(message->left_out == name);
    message = Read(Cast(
        Tuple({SmallAtom("sync"), TermOf(1),
               List({Tuple({name, List({TermOf(2)})}), Tuple({SmallAtom("web"), List({TermOf(3)})}),
                     Tuple({Small(9), kNil})})})));
    REQUIRE(message);
    REQUIRE(message->groups.size() == 1);
    CHECK(message->groups[0].name == "web");
    CHECK(message->left_out == name);
    message =
        Read(Tuple({SmallAtom("leave"), TermOf(1), TermOf(2), List({name, SmallAtom("web")})}));
    REQUIRE(message);
    CHECK(message->groups.size() == 1);
  }
  // A list of small numbers is written as a string.
  const auto message =
      Read(Tuple({SmallAtom("leave"), TermOf(1), TermOf(2), Bytes({107, 0, 2, 1, 2})}));
  REQUIRE(message);
  CHECK(message->groups.empty());
}

TEST_CASE("group messages: processes of another node than the message came from are named") {
  const gen::Atom other("other@h");
  for (const std::string& term : {
           Tuple({SmallAtom("discover"), Foreign()}),
           Tuple({SmallAtom("join"), Foreign(), SmallAtom("web"), TermOf(1)}),
           Tuple({SmallAtom("join"), TermOf(1), SmallAtom("web"), Foreign()}),
           Tuple({SmallAtom("join"), TermOf(1), SmallAtom("web"), List({TermOf(2), Foreign()})}),
           Tuple({SmallAtom("leave"), TermOf(1), Foreign(), List({SmallAtom("web")})}),
           Cast(Tuple({SmallAtom("sync"), Foreign(), kNil})),
       }) {
    CAPTURE(Term::FromChecked(term).ToString());
    const auto message = Read(term);
    REQUIRE(message);
    CHECK(message->of_another == gen::PID{1, other, 7});
    for (const auto& group : message->groups) {
      for (const gen::PID pid : group.pids) CHECK(pid.node == kNode);
    }
    for (const gen::PID pid : message->pids) CHECK(pid.node == kNode);
  }
}

TEST_CASE("group messages: what has another form is none") {
  for (const std::string& term : {
           kNil,
           SmallAtom("discover"),
           Tuple({}),
           Tuple({SmallAtom("discover")}),
           Tuple({SmallAtom("discover"), SmallAtom("x")}),
           Tuple({SmallAtom("discover"), TermOf(1), Small(1), Small(2)}),
           Tuple({SmallAtom("join"), TermOf(1), SmallAtom("web")}),
           Tuple({SmallAtom("join"), TermOf(1), SmallAtom("web"), List({TermOf(2)}, Small(1))}),
           Tuple({SmallAtom("leave"), TermOf(1), TermOf(2), SmallAtom("web")}),
           Tuple({SmallAtom("leave"), TermOf(1), SmallAtom("web"), kNil}),
           Tuple({SmallAtom("leave"), TermOf(1), TermOf(2), List({SmallAtom("web")}, Small(1))}),
           Tuple({SmallAtom("moved"), TermOf(1), TermOf(2), kNil}),
           Cast(SmallAtom("sync")),
           Cast(Tuple({SmallAtom("sync"), TermOf(1)})),
           Cast(Tuple({SmallAtom("sync"), TermOf(1), SmallAtom("web")})),
           Cast(Tuple({SmallAtom("sync"), TermOf(1), List({SmallAtom("web")})})),
           Cast(Tuple({SmallAtom("sync"), TermOf(1), List({Tuple({SmallAtom("web")})})})),
           Cast(Tuple({SmallAtom("other"), TermOf(1), kNil})),
       }) {
    CAPTURE(Term::FromChecked(term).ToString());
    CHECK_FALSE(Read(term));
  }
  for (const std::string& term : terms::All()) CHECK_FALSE(Read(term));
}

TEST_CASE("group messages: what is written here is read there") {
  std::string term;
  AppendDiscover(term, PidOf(1));
  CHECK(term == Tuple({SmallAtom("discover"), TermOf(1)}));
  term.clear();
  const gen::PID joined = PidOf(2);
  AppendJoin(term, PidOf(1), "web", {&joined, 1});
  CHECK(term == Tuple({SmallAtom("join"), TermOf(1), SmallAtom("web"), TermOf(2)}));
  term.clear();
  AppendLeave(term, PidOf(1), "web", PidOf(2), 2);
  CHECK(term == Tuple({SmallAtom("leave"), TermOf(1), List({TermOf(2), TermOf(2)}),
                       List({SmallAtom("web")})}));
  term.clear();
  AppendSync(term, PidOf(1), {});
  CHECK(term == Cast(Tuple({SmallAtom("sync"), TermOf(1), kNil})));
  term.clear();
  AppendSync(term, PidOf(1), {{"web", {PidOf(2), PidOf(2), PidOf(3)}}});
  CHECK(term ==
        Cast(Tuple({SmallAtom("sync"), TermOf(1),
                    List({Tuple({SmallAtom("web"), List({TermOf(2), TermOf(2), TermOf(3)})})})})));
  CHECK(IsGroupOfErlang("ünï"));
  CHECK_FALSE(IsGroupOfErlang("\xff"));
}

TEST_CASE("group messages: terms with changed bytes are read as something, or not at all") {
  std::vector<std::string> originals;
  originals.push_back(
      Cast(Tuple({SmallAtom("sync"), TermOf(1),
                  List({Tuple({SmallAtom("web"), List({TermOf(2), TermOf(3)})})})})));
  originals.push_back(Tuple(
      {SmallAtom("leave"), TermOf(1), List({TermOf(2)}), List({SmallAtom("web"), Small(1)})}));
  originals.push_back(Tuple({SmallAtom("join"), TermOf(1), SmallAtom("web"), TermOf(2)}));
  std::mt19937 random(1);
  int read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string term = originals[random() % originals.size()];
    for (auto changes = random() % 3 + 1; changes != 0; --changes) {
      term[random() % term.size()] = static_cast<char>(random());
    }
    const auto size = CheckTerm(term, kDepth);
    if (!size) continue;
    if (ReadGroupMessage(std::string_view(term).substr(0, *size), kNode, kDepth)) ++read;
  }
  CHECK(read > 0);
}

}  // namespace ergon::dist::group_messages_test
