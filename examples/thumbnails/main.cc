// thumbnails: scales images down, over HTTP. See README.md.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include <ergon/node/node.h>

#include "options.h"
#include "traffic.h"
#include "tree.h"

namespace thumbnails {

using namespace ergon;

namespace {

// Whether all that was printed has been written.
bool Written() {
  if (std::fflush(stdout) == 0) return true;
  std::fputs(fmt::format("thumbnails: cannot write to standard output: {}\n", std::strerror(errno))
                 .c_str(),
             stderr);
  return false;
}

int Fail(const gen::Error& error) {
  std::fputs(fmt::format("thumbnails: {}\n", error.ToString()).c_str(), stderr);
  return 1;
}

int Run(Options options) {
  // Who reads the output or the log may go: that is an error of a write.
  std::signal(SIGPIPE, SIG_IGN);
  options.node.stop_on_signal = true;
  auto node = node::Start("thumbnails@localhost", options.node);
  if (!node) return Fail(node.error());
  const auto traffic = std::make_shared<Traffic>();
  const auto root = node->Spawn(gen::Factory<Root>(options, traffic));
  if (!root) return Fail(root.error());
  fmt::print("listening at {} port {}\n", options.address, traffic->port.load());
  if (!Written()) return 1;  // whoever started it does not learn the port
  (void)node->WaitProcess(*root);
  const bool has_given_up = node->StopReason().IsNormal();  // else a signal has come
  node->Stop();
  fmt::print("{} requests: {} thumbnails, {} refused, {} wrong, {} failed; {} answered\n",
             traffic->requests.load(), traffic->thumbnails.load(), traffic->busy.load(),
             traffic->wrong.load(), traffic->failed.load(), traffic->answered.load());
  if (!Written()) return 1;
  if (!has_given_up) return 0;
  return Fail(gen::Error(gen::ErrorCode::kProcessTerminated,
                         "the service has failed too often, as the log says"));
}

}  // namespace
}  // namespace thumbnails

int main(int argc, char** argv) {
  try {
    auto options = thumbnails::ParseOptions(argc, argv);
    if (const int* status = std::get_if<int>(&options)) return *status;
    return thumbnails::Run(std::get<thumbnails::Options>(std::move(options)));
  } catch (const std::exception& error) {
    std::fputs(fmt::format("thumbnails: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
