// Answers to spawn requests, as the node that has asked reads them.
#include <ergon/node/cluster/signals/spawn_signals.h>

#include <cstdint>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/signals/signal_codec.h>

#include <cluster/terms.h>

namespace ergon::dist::spawn_signals_test {
namespace {

const gen::Atom kOwn("own@127.0.0.1");
const gen::Atom kPeer("peer@127.0.0.1");
const gen::PID kProcess{std::uint64_t{3} << 32 | 5, kOwn, 7};
const gen::PID kAsker{std::uint64_t{4} << 32 | 6, kPeer, 8};
const std::string kRequest = terms::Reference("peer@127.0.0.1", 8, {1, 2, 3});

// The signal as it is on the wire, and at the peer. Its texts are views of `frame`.
Signal AtPeer(const Signal& signal, std::string& frame) {
  AppendFrame(frame, signal, kOwnFlags);
  auto parsed = ParseFrame(std::string_view(frame).substr(4), Peers{kPeer, kOwn}, 100);
  REQUIRE_MESSAGE(parsed.has_value(), parsed.error().ToString());
  CHECK(parsed->kind == SignalKind::kSpawnReply);
  CHECK(parsed->to == kAsker);
  CHECK(parsed->ref == kRequest);
  return *parsed;
}

}  // namespace

TEST_CASE("spawn signals: a reply has the process and the relations that were made") {
  for (const int made : {0, +kLinked, +kMonitored, kLinked | kMonitored}) {
    const auto links = static_cast<std::uint8_t>(made);
    CAPTURE(made);
    std::string frame;
    const Signal reply = AtPeer(SpawnReplyTo(kAsker, kProcess, kRequest, links), frame);
    CHECK(reply.from == kProcess);
    CHECK(reply.links == links);
  }
}

TEST_CASE("spawn signals: a refusal has no process, and says why") {
  const std::string why = terms::SmallAtom("notsup");
  std::string frame;
  const Signal refusal = AtPeer(SpawnRefusalTo(kAsker, kRequest, why), frame);
  CHECK(refusal.from.node.empty());
  CHECK(refusal.payload == why);
  CHECK(refusal.links == 0);
}

}  // namespace ergon::dist::spawn_signals_test
