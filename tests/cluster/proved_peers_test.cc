// A node among peers that have proved to know the cookie, and mean harm.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/writer.h>

#include <cluster/client.h>
#include <cluster/cluster.h>
#include <cluster/gen_call.h>
#include <cluster/hostile_socket.h>

namespace ergon::dist::proved_peers_test {
namespace {

const gen::PID kCaller{7, "evil@127.0.0.1", 77};

std::size_t MostQueued(node::Node& node) {
  std::size_t most = 0;
  for (const ConnectionInfo& connection : InspectConnections(node)) {
    most = std::max(most, connection.most_queued_bytes);
  }
  return most;
}

// A call of words:any with a list of that many empty lists, as rpc:call makes it, and as spawn_request.
std::string CallOf(std::uint64_t number, std::size_t arguments, bool spawns) {
  std::string list;
  TermWriter writer(list);
  if (arguments != 0) writer.List(arguments);
  list.append(arguments, 'j');
  writer.Nil();
  const std::string reference = ReferenceOf(number, kCaller.node, kCaller.creation);
  std::string frames;
  if (spawns) {
    AppendFrame(frames,
                {.kind = SignalKind::kSpawnRequest,
                 .from = kCaller,
                 .ref = reference,
                 .payload = list,
                 .module = "words",
                 .function = "any",
                 .arity = static_cast<std::uint32_t>(arguments)},
                kOwnFlags);
    return frames;
  }
  std::string call;
  TermWriter request(call);
  BeginGenCall(request, kCaller, reference);
  request.Tuple(5);
  request.Atom("call");
  request.Atom("words");
  request.Atom("any");
  request.Raw(list);
  request.Atom("user");
  AppendFrame(frames,
              {.kind = SignalKind::kMonitor, .from = kCaller, .name = "rex", .ref = reference},
              kOwnFlags);
  AppendFrame(frames,
              {.kind = SignalKind::kSendToName, .from = kCaller, .name = "rex", .payload = call},
              kOwnFlags);
  return frames;
}

}  // namespace

// Each is told of to be ended there, and nobody reads that.
TEST_CASE("proved peers: who tells of processes that nobody has asked for is listened to no more") {
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  options.send_queue_bytes = 64 * 1024;
  kit::LogCapture log;
  auto node = TryStart("unasked@127.0.0.1", log, options).value();
  std::atomic<bool> stop{false};
  {
    HostileSocket socket(static_cast<std::uint16_t>(options.listen_port), stop);
    REQUIRE(socket.ShakeHands("evil@127.0.0.1", "unasked@127.0.0.1", "secret"));
    std::uint64_t number = 0;
    bool is_listened_to = true;
    // More than the sockets of both sides keep.
    for (int burst = 0; is_listened_to && burst < 200; ++burst) {
      std::string frames;
      for (int i = 0; i < 1000; ++i) {
        const std::string reference = ReferenceOf(++number, gen::Atom("unasked@127.0.0.1"), 1);
        AppendFrame(frames,
                    {.kind = SignalKind::kSpawnReply,
                     .from = {number, "evil@127.0.0.1", 77},
                     .to = {1, "unasked@127.0.0.1", 1},
                     .ref = reference},
                    kOwnFlags);
      }
      is_listened_to = socket.WriteForAWhile(frames);
    }
    CHECK_FALSE(is_listened_to);
    CHECK(MostQueued(node) < 2 * options.send_queue_bytes);
    CHECK(number > 1000);
  }
  CHECK(kit::Eventually([&] { return Nodes(node).empty(); }));
  node.Stop();
  kit::CheckBalance(node);
}

TEST_CASE("proved peers: no function has more arguments than one of Erlang may have") {
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  std::atomic<std::size_t> arguments_seen{0};
  options.functions.RegisterAny(
      "words", "any", [&](gen::Process&, const std::vector<Term>& arguments) -> gen::Result<Term> {
        arguments_seen = arguments.size();
        return Term::Atom("run");
      });
  kit::LogCapture log;
  auto node = TryStart("arguments@127.0.0.1", log, options).value();
  std::atomic<bool> stop{false};
  HostileSocket socket(static_cast<std::uint16_t>(options.listen_port), stop);
  REQUIRE(socket.ShakeHands("evil@127.0.0.1", "arguments@127.0.0.1", "secret"));
  std::string frame;
  for (const bool spawns : {false, true}) {
    const std::uint64_t number = spawns ? 10 : 1;
    const auto answer_to = [&](std::uint64_t of, std::size_t arguments) {
      REQUIRE(socket.Write(CallOf(of, arguments, spawns)));
      REQUIRE(socket.AwaitFrame(ReferenceOf(of, kCaller.node, kCaller.creation), frame));
    };
    arguments_seen = 0;
    answer_to(number, 255);
    CHECK(frame.find("notsup") == std::string::npos);
    CHECK(frame.find("badrpc") == std::string::npos);
    CHECK(kit::Eventually([&] { return arguments_seen == 255; }));
    for (const std::size_t too_many : {256, 1'000'000}) {
      answer_to(number + too_many, too_many);
      CHECK(frame.find(spawns ? "notsup" : "has registered no function") != std::string::npos);
    }
    CHECK(arguments_seen == 255);
  }
  node.Stop();
  kit::CheckBalance(node);
}

}  // namespace ergon::dist::proved_peers_test
