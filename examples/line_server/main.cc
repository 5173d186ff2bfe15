// line_server: answers lines of text over TCP. Each connection is a process with straight-line code.
// See README.md.
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

int Run(const Options& options) {
  RaiseFileLimit();
  auto node = node::Start("lines@localhost", {.log_level = gen::LogLevel::kWarning}).value();
  const auto traffic = std::make_shared<Traffic>();
  auto root = node.Spawn(gen::Factory<Root>(options, traffic));
  if (!root) {
    fmt::print(stderr, "line_server: {}\n", root.error().ToString());
    return 1;
  }
  fmt::print("listening at {} port {}\n", options.address, traffic->port.load());
  std::fflush(stdout);
  node.WaitForSignal().value();
  fmt::print("answered {} lines of {} connections, refused {}\n", traffic->lines.load(),
             traffic->accepted.load(), traffic->refused.load());
  return 0;
}

}  // namespace
}  // namespace line_server

int main(int argc, char** argv) {
  try {
    auto options = line_server::ParseOptions(argc, argv);
    if (const int* status = std::get_if<int>(&options)) return *status;
    return line_server::Run(std::get<line_server::Options>(options));
  } catch (const std::exception& error) {
    fmt::print(stderr, "line_server: {}\n", error.what());
    return 1;
  }
}
