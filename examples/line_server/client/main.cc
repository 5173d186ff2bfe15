// line_client: many connections to a line_server at once, each a process that sends lines and checks
// the answers.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <future>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <asio/buffer.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read_until.hpp>
#include <asio/write.hpp>

#include <ergon/act/actor.h>
#include <ergon/node/await.h>
#include <ergon/node/node.h>

#include "../file_limit.h"

namespace line_client {

using namespace ergon;
using namespace std::chrono_literals;
using asio::ip::tcp;

// Whether all that was printed has been written.
bool Written() {
  if (std::fflush(stdout) == 0) return true;
  std::fputs(fmt::format("line_client: cannot write to standard output: {}\n", std::strerror(errno))
                 .c_str(),
             stderr);
  return false;
}

struct Options {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  std::uint64_t connections = 1'000;
  std::uint64_t lines = 100;  // of each connection
};

// To a client: begin. The answer is empty, or what went wrong.
struct Begin {
  using Reply = std::string;
  std::uint64_t number = 0;
};

constexpr auto kPatience = 60s;

class Client : public act::Actor {
 public:
  explicit Client(Options options) : options_(std::move(options)) {}

 private:
  // Connects; all clients do, before the first one sends a line.
  gen::Status Init(const gen::Args&) override {
    socket_ = std::make_unique<tcp::socket>(node::IoContext(Node()));
    const tcp::endpoint server(asio::ip::make_address(options_.address), options_.port);
    const auto connected = socket_->async_connect(server, node::Await(kPatience));
    if (connected) return gen::Continue();
    return gen::Stop(gen::Reason::Error("connect: " + connected.error().message()));
  }

  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    const auto* begin = request.As<Begin>();
    if (begin == nullptr) return Actor::HandleCall(from, ref, request);
    for (std::uint64_t i = 0; i < options_.lines; ++i) {
      std::string problem = Exchange(fmt::format("sum {} {}\n", begin->number, i),
                                     fmt::format("{}\n", begin->number + i));
      if (!problem.empty()) return gen::Reply(problem);
    }
    return gen::Reply(std::string());
  }

  std::string Exchange(const std::string& line, const std::string& expected) {
    const auto written = asio::async_write(*socket_, asio::buffer(line), node::Await(kPatience));
    if (!written) return "write: " + written.error().message();
    const auto size = asio::async_read_until(*socket_, asio::dynamic_buffer(input_), '\n',
                                             node::Await(kPatience));
    if (!size) return "read: " + size.error().message();
    const std::string answer = input_.substr(0, *size);
    input_.erase(0, *size);
    return answer == expected ? std::string() : fmt::format("asked {:?}, got {:?}", line, answer);
  }

  const Options options_;
  std::unique_ptr<tcp::socket> socket_;
  std::string input_;
};

int Run(const Options& options) {
  std::signal(SIGPIPE, SIG_IGN);  // who reads the output may go: that is an error of a write
  RaiseFileLimit();
  auto node = node::Start("clients@localhost").value();
  std::vector<gen::PID> clients;
  for (std::uint64_t i = 0; i < options.connections; ++i) {
    auto client = node.Spawn(gen::Factory<Client>(options));
    if (!client) {
      std::fputs(
          fmt::format("line_client: connection {}: {}\n", i + 1, client.error().ToString()).c_str(),
          stderr);
      return 1;
    }
    clients.push_back(*client);
  }
  const auto started = std::chrono::steady_clock::now();
  std::vector<std::future<gen::Result<std::string>>> outcomes;
  for (std::uint64_t i = 0; i < clients.size(); ++i) {
    outcomes.push_back(node.CallAsync(clients[i], Begin{i}, {.timeout = gen::kInfinite}));
  }
  std::uint64_t failed = 0;
  for (auto& outcome : outcomes) {
    const auto problem = outcome.get();
    if (problem && problem->empty()) continue;
    if (++failed > 3) continue;  // they are all alike
    std::fputs(
        fmt::format("line_client: {}\n", problem ? *problem : problem.error().ToString()).c_str(),
        stderr);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
  const std::uint64_t lines = options.connections * options.lines;
  if (failed != 0) {
    std::fputs(
        fmt::format("line_client: {} of {} connections failed\n", failed, options.connections)
            .c_str(),
        stderr);
    return 1;
  }
  fmt::print("{} connections at once, {} lines each, all answered in {:.2f} s, {:.0f} a second\n",
             options.connections, options.lines, elapsed.count(),
             static_cast<double>(lines) / elapsed.count());
  return Written() ? 0 : 1;
}

}  // namespace line_client

int main(int argc, char** argv) {
  line_client::Options options;
  CLI::App app("Many connections to a line_server at once, which send lines and check the answers.",
               "line_client");
  app.add_option("-a,--address", options.address, "Of the server; default: 127.0.0.1")
      ->option_text("IP")
      ->check(CLI::ValidIPV4);
  app.add_option("-p,--port", options.port, "Of the server")
      ->option_text("N")
      ->required()
      ->check(CLI::Range(1, 65'535));
  app.add_option("-c,--connections", options.connections, "How many; default: 1000")
      ->option_text("N")
      ->check(CLI::Range(1, 30'000));
  app.add_option("-n,--lines", options.lines, "That each sends; default: 100")
      ->option_text("N")
      ->check(CLI::Range(1, 1'000'000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return line_client::Written() ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    std::fputs(fmt::format("line_client: {}\nTry 'line_client --help'.\n", error.what()).c_str(),
               stderr);
    return 2;
  }
  try {
    return line_client::Run(options);
  } catch (const std::exception& error) {
    std::fputs(fmt::format("line_client: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
