// logpipe: reads lines of logs from files and from UDP, and writes those that matter as JSON. See README.md.
#include <csignal>
#include <exception>
#include <memory>
#include <variant>

#include <fmt/core.h>

#include <ergon/node/node.h>

#include "options.h"
#include "traffic.h"
#include "tree.h"

namespace logpipe {

using namespace ergon;

namespace {

int Run(Options options) {
  std::signal(SIGPIPE, SIG_IGN);  // who reads the output may go: that is an error of a write
  options.node.stop_on_signal = true;
  auto node = node::Start("logpipe@localhost", options.node);
  if (!node) {
    fmt::print(stderr, "logpipe: {}\n", node.error().ToString());
    return 1;
  }
  const auto traffic = std::make_shared<Traffic>();
  auto root = node->Spawn(gen::Factory<Root>(options, traffic), {.init_timeout = gen::kInfinite});
  if (!root) {
    fmt::print(stderr, "logpipe: {}\n", root.error().ToString());
    return 1;
  }
  (void)node->WaitProcess(*root);  // all sources have ended, or a signal has come
  node->Stop();
  const std::uint64_t read = traffic->read;
  const std::uint64_t written = traffic->written;
  fmt::print(stderr, "read {} lines: {} written, {} left out, {} malformed\n", read, written,
             traffic->left_out.load(), traffic->malformed.load());
  const bool is_all = read == written + traffic->left_out + traffic->malformed;
  return is_all && traffic->failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace logpipe

int main(int argc, char** argv) {
  try {
    auto options = logpipe::ParseOptions(argc, argv);
    if (const int* status = std::get_if<int>(&options)) return *status;
    return logpipe::Run(std::get<logpipe::Options>(std::move(options)));
  } catch (const std::exception& error) {
    fmt::print(stderr, "logpipe: {}\n", error.what());
    return 1;
  }
}
