// logpipe: reads lines of logs from files and from UDP, and writes those that matter as JSON. See README.md.
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <variant>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <ergon/node/node.h>

#include "options.h"
#include "traffic.h"
#include "tree.h"

namespace logpipe {

using namespace ergon;

namespace {

// Standard input is that of others, too, as of the shell. Asio makes it non-blocking for all who have it.
class SharedInput {
 public:
  SharedInput() = default;
  ~SharedInput() {
    if (flags_ >= 0) ::fcntl(STDIN_FILENO, F_SETFL, flags_);
  }
  SharedInput(const SharedInput&) = delete;
  SharedInput& operator=(const SharedInput&) = delete;

 private:
  const int flags_ = ::fcntl(STDIN_FILENO, F_GETFL);
};

gen::Result<void> Pump(const Options& options, const std::shared_ptr<Traffic>& traffic) {
  const SharedInput input;  // longer than the node
  auto node = node::Start("logpipe@localhost", options.node);
  if (!node) return node.error();
  auto root = node->Spawn(gen::Factory<Root>(options, traffic), {.init_timeout = gen::kInfinite});
  if (!root) return root.error();
  (void)node->WaitProcess(*root);  // all sources have ended, or a signal has come
  return {};
}

int Run(Options options) {
  std::signal(SIGPIPE, SIG_IGN);  // who reads the output may go: that is an error of a write
  options.node.stop_on_signal = true;
  const auto traffic = std::make_shared<Traffic>();
  const auto pumped = Pump(options, traffic);
  if (!pumped) {
    std::fputs(fmt::format("logpipe: {}\n", pumped.error().ToString()).c_str(), stderr);
    if (traffic->read == 0) return 1;  // else the other files have begun to be read
  }
  const std::uint64_t read = traffic->read;
  const std::uint64_t written = traffic->written;
  std::fputs(fmt::format("read {} lines: {} written, {} left out, {} malformed\n", read, written,
                         traffic->left_out.load(), traffic->malformed.load())
                 .c_str(),
             stderr);
  const bool is_all = read == written + traffic->left_out + traffic->malformed;
  return pumped && is_all && traffic->failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace logpipe

int main(int argc, char** argv) {
  try {
    auto options = logpipe::ParseOptions(argc, argv);
    if (const int* status = std::get_if<int>(&options)) return *status;
    return logpipe::Run(std::get<logpipe::Options>(std::move(options)));
  } catch (const std::exception& error) {
    std::fputs(fmt::format("logpipe: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
