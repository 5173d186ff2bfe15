// line_server: answers lines of text over TCP. Each connection is a process with straight-line code.
// See README.md.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <variant>

#include <fmt/core.h>

#include <ergon/node/node.h>

#include "file_limit.h"
#include "options.h"
#include "traffic.h"
#include "tree.h"

namespace line_server {

using namespace ergon;

namespace {

// Whether all that was printed has been written.
bool Written() {
  if (std::fflush(stdout) == 0) return true;
  std::fputs(fmt::format("line_server: cannot write to standard output: {}\n", std::strerror(errno))
                 .c_str(),
             stderr);
  return false;
}

int Run(const Options& options) {
  // Who reads the output or the log may go: that is an error of a write.
  std::signal(SIGPIPE, SIG_IGN);
  RaiseFileLimit();
  gen::NodeOptions node_options;
  node_options.log_level = gen::LogLevel::kWarning;
  node_options.stop_on_signal = true;
  auto node = node::Start("lines@localhost", node_options).value();
  const auto traffic = std::make_shared<Traffic>();
  auto root = node.Spawn(gen::Factory<Root>(options, traffic));
  if (!root) {
    std::fputs(fmt::format("line_server: {}\n", root.error().ToString()).c_str(), stderr);
    return 1;
  }
  fmt::print("listening at {} port {}\n", options.address, traffic->port.load());
  if (!Written()) return 1;  // whoever started it does not learn the port
  (void)node.WaitProcess(*root);
  const bool has_given_up = node.StopReason().IsNormal();  // else a signal has come
  node.Stop();
  fmt::print("answered {} lines of {} connections, refused {}\n", traffic->lines.load(),
             traffic->accepted.load(), traffic->refused.load());
  if (has_given_up) {
    std::fputs("line_server: the service has failed too often, as the log says\n", stderr);
  }
  return Written() && !has_given_up ? 0 : 1;
}

}  // namespace
}  // namespace line_server

int main(int argc, char** argv) {
  try {
    auto options = line_server::ParseOptions(argc, argv);
    if (const int* status = std::get_if<int>(&options)) return *status;
    return line_server::Run(std::get<line_server::Options>(options));
  } catch (const std::exception& error) {
    std::fputs(fmt::format("line_server: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
