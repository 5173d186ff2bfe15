// A peer that speaks for processes of other nodes: it is not believed, whatever it says.
#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <ergon/gen/log_limit.h>
#include <ergon/node/cluster/signals/ergon_messages.h>
#include <ergon/node/erlang/term.h>

#include <cluster/erlang_peer.h>
#include <cluster/gen_call.h>
#include <cluster/terms.h>

namespace ergon::dist {
namespace {

const gen::PID kThird{5, "third@127.0.0.1", 9};

// What a process has got, and from whom.
class Witness : public act::Actor {
 public:
  struct Seen {
    std::mutex mutex;
    std::vector<std::pair<gen::PID, int>> lines;  // the number of a line; -1: something else
    std::atomic<int> calls{0};
    [[nodiscard]] std::vector<std::pair<gen::PID, int>> Lines() {
      std::lock_guard lock(mutex);
      return lines;
    }
  };
  explicit Witness(Seen* seen) : seen_(seen) {}

 private:
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const auto* const line = message.As<Line>();
    std::lock_guard lock(seen_->mutex);
    seen_->lines.emplace_back(from, line == nullptr ? -1 : line->number);
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    ++seen_->calls;
    return gen::Reply(std::int64_t{1});
  }
  Seen* const seen_;
};

std::uint64_t NotBelieved(node::Node& node, const char* peer) {
  for (const ConnectionInfo& connection : InspectConnections(node)) {
    if (connection.node == gen::Atom(peer)) return connection.not_believed;
  }
  return 0;
}

// A message to the name $ergon.
Signal ErgonMessageOf(gen::PID from, std::string_view payload) {
  return {.kind = SignalKind::kSendToName, .from = from, .name = kErgonName, .payload = payload};
}

}  // namespace

TEST_CASE("false claims: links, monitors, ends and exits of a third node's end the connection") {
  NodeForPeers there("claims");
  Witness::Seen seen;
  const gen::PID pid = there.node.SpawnRegister("witness", gen::Factory<Witness>(&seen)).value();
  std::string reason;
  AppendReason(reason, gen::Reason::Kill());
  std::string arguments;
  TermWriter(arguments).Nil();
  std::string reference;
  AppendReference(reference, 7, kThird.node, 9);
  using Kind = SignalKind;
  const std::vector<Signal> lies = {
      {.kind = Kind::kLink, .from = kThird, .to = pid},
      {.kind = Kind::kUnlink, .from = kThird, .to = pid, .id = 1},
      {.kind = Kind::kUnlinkAck, .from = kThird, .to = pid, .id = 1},
      {.kind = Kind::kExit, .from = kThird, .to = pid, .payload = reason},
      {.kind = Kind::kExitRequest, .from = kThird, .to = pid, .payload = reason},
      {.kind = Kind::kMonitor, .from = kThird, .to = pid, .ref = reference},
      {.kind = Kind::kMonitor, .from = kThird, .name = "witness", .ref = reference},
      {.kind = Kind::kDemonitor, .from = kThird, .to = pid, .ref = reference},
      {.kind = Kind::kDown, .from = kThird, .to = pid, .ref = reference, .payload = reason},
      {.kind = Kind::kSpawnRequest,
       .from = kThird,
       .ref = reference,
       .payload = arguments,
       .module = "words",
       .function = "start"},
      {.kind = Kind::kSpawnReply, .from = kThird, .to = pid, .ref = reference},
      // Nor for one of this node's.
      {.kind = Kind::kLink, .from = pid, .to = pid},
      {.kind = Kind::kExitRequest, .from = pid, .to = pid, .payload = reason},
  };
  std::size_t number = 0;
  for (const Signal& lie : lies) {
    CAPTURE(number);
    // In the older form, too, where the reason is in the tuple.
    const std::string name = "liar" + std::to_string(number++) + "@127.0.0.1";
    ErlangPeer liar(there.node, name, there.port());
    liar.Add(lie).SendLine(1, pid, 1).Flush();
    CHECK(liar.IsClosed());
    CHECK(kit::Eventually([&] {
      return there.log.Contains("no connection with " + name + ": it sent a malformed frame");
    }));
    CHECK_FALSE(liar.IsConnected());
  }
  const auto info = there.node.ProcessInfo(pid);
  REQUIRE(info);
  CHECK(info->links.empty());
  CHECK(info->monitored_by.empty());
  CHECK(seen.Lines().empty());
}

TEST_CASE("false claims: a message in the name of another node's is one of nobody's") {
  NodeForPeers there("senders");
  Witness::Seen seen;
  const gen::PID pid = there.node.SpawnRegister("witness", gen::Factory<Witness>(&seen)).value();
  ErlangPeer liar(there.node, "liar@127.0.0.1", there.port());
  std::vector<std::pair<gen::PID, int>> expected;
  int number = 0;
  std::uint64_t lies = 0;
  for (int i = 0; i < 100; ++i) {
    for (const gen::PID& from : {liar.Pid(3), kThird, pid}) {
      liar.SendLine(from, pid, ++number);
      const bool is_true = from == liar.Pid(3);
      expected.emplace_back(is_true ? from : gen::PID(), number);
      if (!is_true) ++lies;
    }
  }
  liar.FlushAndWait();
  REQUIRE(kit::Eventually([&] { return seen.Lines().size() == expected.size(); }));
  CHECK(seen.Lines() == expected);
  CHECK(NotBelieved(there.node, "liar@127.0.0.1") == lies);
  const std::size_t told = there.log.Count("liar@127.0.0.1 is not believed: a message of ");
  CHECK(told >= 1);
  CHECK(told <= static_cast<std::size_t>(2 * gen::LogLimit::kLines));
  // To an Ergon node messages are passed on as they are: a pool's to its workers there.
  ErlangPeer ergon(there.node, "passes@127.0.0.1", there.port(), kOwnFlags);
  ergon.SendLine(kThird, pid, 7).FlushAndWait();
  REQUIRE(kit::Eventually([&] { return seen.Lines().size() == expected.size() + 1; }));
  CHECK(seen.Lines().back() == std::pair(kThird, 7));
  CHECK(NotBelieved(there.node, "passes@127.0.0.1") == 0);
}

TEST_CASE("false claims: a request in the name of another node's is a message, and not answered") {
  NodeForPeers there("callers");
  Witness::Seen seen;
  const gen::PID pid = there.node.SpawnRegister("witness", gen::Factory<Witness>(&seen)).value();
  ErlangPeer liar(there.node, "liar@127.0.0.1", there.port());
  std::string request;
  TermWriter writer(request);
  BeginGenCall(writer, kThird, liar.Reference(8));
  writer.Atom("question");
  liar.Add({.kind = SignalKind::kSend, .from = liar.Pid(3), .to = pid, .payload = request});
  liar.FlushAndWait();
  REQUIRE(kit::Eventually([&] { return !seen.Lines().empty(); }));
  CHECK(seen.Lines().front() == std::pair(liar.Pid(3), -1));
  CHECK(seen.calls == 0);
  CHECK(NotBelieved(there.node, "liar@127.0.0.1") == 1);
  CHECK(Nodes(there.node).size() == 1);  // the third node is not called
  CHECK(there.log.Count("liar@127.0.0.1 is not believed: a request of " + kThird.ToString()) == 1);
}

TEST_CASE("false claims: groups are those of the peer's own processes") {
  NodeForPeers there("groups");
  ErlangPeer liar(there.node, "liar@127.0.0.1", there.port());
  const std::string scope = terms::Pid("liar@127.0.0.1", 4, 0, 77);
  const std::string third = terms::Pid("third@127.0.0.1", 5, 0, 9);
  const auto sync = terms::Tuple({terms::SmallAtom("$gen_cast"),
                                  terms::Tuple({terms::SmallAtom("sync"), scope, terms::kNil})});
  const auto lie = terms::Tuple({terms::SmallAtom("join"), scope, terms::SmallAtom("web"), third});
  const auto truth = terms::Tuple({terms::SmallAtom("join"), scope, terms::SmallAtom("web"),
                                   terms::Pid("liar@127.0.0.1", 6, 0, 77)});
  for (const std::string& term : {sync, lie, truth}) {
    liar.Add({.kind = SignalKind::kSendToName, .from = liar.Pid(4), .name = "pg", .payload = term});
  }
  liar.FlushAndWait();
  CHECK(there.node.GroupMembers("web") == std::vector<gen::PID>{liar.Pid(6)});
  CHECK(NotBelieved(there.node, "liar@127.0.0.1") == 1);
  CHECK(there.log.Count("is not believed: a change of groups of " + kThird.ToString()) == 1);
}

TEST_CASE("false claims: what Ergon nodes ask each other is asked for their own processes") {
  NodeForPeers there("own");
  Witness::Seen seen;
  const gen::PID pid = there.node.SpawnRegister("witness", gen::Factory<Witness>(&seen)).value();
  ErlangPeer liar(there.node, "liar@127.0.0.1", there.port(), kOwnFlags);
  std::string link;
  AppendLink(link, liar.Reference(1), pid);
  std::string subscribe;
  AppendSubscribe(subscribe, liar.Reference(2), "prices", 1, false);
  std::string inspect;
  AppendInspect(inspect, liar.Reference(3), pid);
  TermWriter(inspect).Nil();
  std::string room;
  AppendRoomQuestion(room, liar.Reference(4), pid);
  std::uint64_t said = 0;
  for (const std::string& payload : {link, subscribe, inspect, room}) {
    liar.Add(ErgonMessageOf(kThird, payload)).Flush();
    const Signal answer = liar.Await(SignalKind::kSendToAlias);
    CHECK(answer.ref == liar.Reference(++said));
    CHECK(answer.payload.find("is no process of liar@127.0.0.1") != std::string_view::npos);
  }
  CHECK(NotBelieved(there.node, "liar@127.0.0.1") == said);
  CHECK(there.node.ProcessInfo(pid).value().links.empty());
  // The log has an end, whatever is said.
  std::string nonsense;
  TermWriter(nonsense).Atom("nonsense");
  for (int i = 0; i < 100; ++i) liar.Add(ErgonMessageOf(liar.Pid(3), nonsense));
  for (int i = 0; i < 100; ++i) liar.Add(ErgonMessageOf(kThird, room));
  liar.FlushAndWait();
  CHECK(NotBelieved(there.node, "liar@127.0.0.1") == said + 100);
  const auto most = static_cast<std::size_t>(2 * gen::LogLimit::kLines);
  CHECK(there.log.Count("does not understand") <= most);
  CHECK(there.log.Count("is not believed") <= most);
}

}  // namespace ergon::dist
