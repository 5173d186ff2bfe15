// ergon-bench-network: one side of a measurement of scripts/bench --network. A client prints nanoseconds of one
// operation.
#include <cstdio>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>

#include <bench/network/bare.h>
#include <bench/network/fire.h>
#include <bench/network/nodes.h>

int main(int count, char** words) {
  using namespace ergon::bench;  // NOLINT(google-build-using-namespace)
  CLI::App app("Messages between programs. A client prints the nanoseconds of one operation.",
               "ergon-bench-network");
  app.require_subcommand(1);
  std::string name;
  std::string peer;
  BareOptions bare;
  bare.count = 100'000;
  bare.write_bytes = 256 * 1024;
  const auto add = [&](const char* command, const char* description) {
    CLI::App* const side = app.add_subcommand(command, description);
    side->add_option("--name", name, "the node's name, as in a@127.0.0.1")->required();
    return side;
  };
  const auto add_count = [&](CLI::App* side) {
    side->add_option("--count", bare.count, "how many")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
  };
  CLI::App* const serve = add("serve", "a node to be measured with");
  std::uint16_t port = 0;
  serve->add_option("--port", port, "where it listens; 0: anywhere")->capture_default_str();
  CLI::App* const latency = add("latency",
                                "calls as well; prints p50, p99 and the longest, how many are "
                                "answered, how often it has connected anew, and in vain, and how "
                                "long that took at most");
  CLI::App* const call = add("call", "calls a process of another node, one after the other");
  CLI::App* const stream = add("stream", "sends messages to a process of another node");
  for (CLI::App* const side : {call, latency, stream}) {
    side->add_option("--peer", peer, "the other node's name")->required();
    add_count(side);
  }
  std::string what = "text";
  stream->add_option("--what", what, "the messages: text; or terms, packed: a struct")
      ->check(CLI::IsMember({"text", "terms", "packed"}))
      ->capture_default_str();
  CLI::App* const attack = app.add_subcommand("attack", "hostile peers of a node");
  attack->add_option("--peer", peer, "the node's name")->required();
  attack->add_option("--port", port, "where it listens")->required();
  CLI::App* const bare_serve = app.add_subcommand("bare-serve", "a bare Asio loop that counts");
  CLI::App* const bare_stream =
      app.add_subcommand("bare-stream", "a bare Asio loop that writes frames as large as messages");
  bare_stream->add_option("--port", bare.port, "that of bare-serve")->required();
  bare_stream->add_option("--write", bare.write_bytes, "bytes of one write")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_count(bare_stream);
  CLI11_PARSE(app, count, words);

  try {
    if (*serve) {
      Serve(name, port);
    } else if (*attack) {
      Attack(peer, port);
    } else if (*latency) {
      const Latency measured = MeasureLatency(name, peer, bare.count);
      std::printf("%.1f %.1f %.1f %lld %lld %lld %.1f\n", measured.p50, measured.p99, measured.most,
                  static_cast<long long>(measured.answered),
                  static_cast<long long>(measured.connects),
                  static_cast<long long>(measured.failed_connects), measured.longest_connect);
    } else if (*bare_serve) {
      ServeBare();
    } else if (*call) {
      std::printf("%.1f\n", MeasureCalls(name, peer, bare.count));
    } else if (*stream) {
      std::printf("%.1f\n", MeasureStream(name, peer, what, bare.count));
    } else if (*bare_stream) {
      // As long as the names that turns.sh gives.
      bare.frame_bytes = FrameBytes("client12345@127.0.0.1", "server12345@127.0.0.1");
      std::printf("%.1f\n", MeasureBare(bare));
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ergon-bench-network: %s\n", error.what());
    return 1;
  }
}
