// price_service: makes offers to a shop that is written in Elixir. See README.md.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include <ergon/node/end_of_input.h>
#include <ergon/node/erlang.h>
#include <ergon/node/node.h>

#include "messages.h"
#include "options.h"
#include "tree.h"

namespace price_service {

using namespace ergon;

namespace {

int Fail(const std::string& why) {
  std::fputs(fmt::format("price_service: {}\n", why).c_str(), stderr);
  return 1;
}
int Fail(const gen::Error& error) { return Fail(error.ToString()); }

// Permanent: when the tree gives up, the node stops, too.
gen::Result<void> StartService(gen::Node& node, const Options& options) {
  const gen::Atom name("price_service");
  auto loaded = node.LoadApplication(
      {.name = name,
       .description = "makes offers to the shop",
       .processes = {{.factory = gen::Factory<Root>(options), .shutdown_timeout = gen::kInfinite}},
       .mode = gen::ApplicationMode::kPermanent});
  return loaded ? node.StartApplication(name) : loaded;
}

int Run(Options options) {
  // Who reads the output or the log may go: that is an error of a write.
  std::signal(SIGPIPE, SIG_IGN);
  // What has no value is nil in Elixir, and Erlang's tools may look at the node.
  options.node.network = dist::Erlang({.absent = dist::Absent::kNil, .observable = true});
  options.node.stop_on_signal = true;
  RegisterTypes(options.node);
  auto node = node::Start(options.name, options.node);
  if (!node) return Fail(node.error());
  if (const auto started = StartService(*node, options); !started) return Fail(started.error());
  if (options.stop_with_input) {
    const auto watch = node::StopAtEndOfInput(*node);
    if (!watch) return Fail(watch.error());
  }
  fmt::print("listening at 127.0.0.1 port {}\n", options.http_port->load());
  if (std::fflush(stdout) != 0) {  // whoever started it does not learn the port
    return Fail(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
  node->Wait();
  return node->StopReason().IsFailure() ? 1 : 0;  // systemd starts it again (Restart=on-failure)
}

}  // namespace
}  // namespace price_service

int main(int argc, char** argv) {
  try {
    auto options = price_service::ParseOptions(argc, argv);
    if (const int* status = std::get_if<int>(&options)) return *status;
    return price_service::Run(std::get<price_service::Options>(std::move(options)));
  } catch (const std::exception& error) {
    std::fputs(fmt::format("price_service: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
