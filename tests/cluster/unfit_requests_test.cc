// What Erlang hears, and the log has, of a message that is no registered type's, but nearly or by no means.
#include <cstdint>
#include <functional>
#include <string>

#include <ergon/act/actor.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/writer.h>

#include <cluster/cluster.h>
#include <cluster/erlang_peer.h>
#include <cluster/gen_call.h>

namespace ergon::dist::unfit_requests_test {
namespace {

constexpr std::uint64_t kCaller = 7;
constexpr std::size_t kLong = 5'000;

using Write = std::function<void(TermWriter&)>;

// {line, 1, <<"xxx...">>, 2}, where {line, Number, Text} was meant.
void WriteLongLine(TermWriter& writer) {
  writer.Tuple(4);
  writer.Atom("line");
  writer.Integer(1);
  writer.Binary(std::string(kLong, 'x'));
  writer.Integer(2);
}

// The text of the answer {error, {unsupported, Text}} to a gen_server:call.
std::string RefusalOf(ErlangPeer& peer, gen::PID to, const Write& request) {
  std::string payload;
  TermWriter writer(payload);
  BeginGenCall(writer, peer.Pid(kCaller), peer.Reference(kCaller));
  request(writer);
  peer.Add({.kind = SignalKind::kSend, .from = peer.Pid(kCaller), .to = to, .payload = payload});
  peer.Flush();
  // {Reference, Answer}
  const Term answer = Term::FromChecked(std::string(peer.Await(SignalKind::kSend).payload))[1];
  REQUIRE(answer[0].AsAtomText() == "error");
  REQUIRE(answer[1][0].AsAtomText() == "unsupported");
  return answer[1][1].AsText().value();
}

struct Asked {
  explicit Asked(const std::string& name)
      : t("asked_" + name),
        pid(t.node.Spawn(gen::Factory<act::Actor>()).value()),
        peer(t.node, "asks_" + name + "@127.0.0.1", t.port()) {}
  ~Asked() { peer.Close(); }

  NodeForPeers t;
  gen::PID pid;
  ErlangPeer peer;
};

}  // namespace

TEST_CASE("unfit requests: of the right tag, but another size, say both, and the term, shortened") {
  Asked asked("size");
  const std::string start =
      "line: 3 elements expected, found 4: {line,1,<<\"" + std::string(50, 'x');
  const std::string refusal = RefusalOf(asked.peer, asked.pid, WriteLongLine);
  CHECK(refusal.starts_with("request " + start));
  CHECK(refusal.size() < 250);
  CHECK(asked.t.log.Count("unhandled request " + start) == 1);

  // Of a message nobody hears, but the log.
  std::string payload;
  TermWriter writer(payload);
  WriteLongLine(writer);
  asked.peer.Add({.kind = SignalKind::kSend,
                  .from = asked.peer.Pid(kCaller),
                  .to = asked.pid,
                  .payload = payload});
  asked.peer.Flush();
  CHECK(kit::Eventually([&] { return asked.t.log.Count("unhandled message " + start) == 1; }));
  for (const auto& line : asked.t.log.Lines()) CHECK(line.text.size() < 400);
}

TEST_CASE("unfit requests: an atom that the program has never heard of is called by its name") {
  Asked asked("atom");
  const auto write = [](TermWriter& writer) { writer.Atom("never_heard_of_before"); };
  CHECK_FALSE(gen::Atom::Find("never_heard_of_before"));
  CHECK(RefusalOf(asked.peer, asked.pid, write) == "request atom 'never_heard_of_before'");
  CHECK(asked.t.log.Count("unhandled request atom 'never_heard_of_before' from <") == 1);
}

TEST_CASE("unfit requests: one to net_kernel that is no ping is answered, also if it is watched") {
  NodeForPeers t("asked_net_kernel");
  CHECK(t.node.SpawnRegister("asked", gen::Factory<act::Actor>()));
  ErlangPeer peer(t.node, "asks_net_kernel@127.0.0.1", t.port());
  peer.Monitor(kCaller, "net_kernel", 1);
  peer.CallWithLine(kCaller, "net_kernel", 1, 0).CallWithLine(kCaller, "asked", 2, 0).Flush();
  const Signal answer = peer.Await(SignalKind::kSendToAlias);
  CHECK(answer.ref == peer.Reference(1));
  CHECK(Term::FromChecked(std::string(answer.payload))[1].ToString() == "{error,noproc}");
  peer.Close();
}

}  // namespace ergon::dist::unfit_requests_test
