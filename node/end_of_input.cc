#include <ergon/node/end_of_input.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <system_error>
#include <thread>

#include <asio/buffer.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include <ergon/gen/process.h>
#include <ergon/node/await.h>

namespace ergon::node {
namespace {

// Asio makes a descriptor non-blocking for all who have it, as the shell.
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

void StopWhenInputEnds(gen::Process& self) {
  const SharedInput shared;  // longer than Asio has it
  asio::posix::stream_descriptor input(IoContext(self.Node()));
  std::error_code error;
  input.assign(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), error);
  std::array<char, 4'096> bytes;
  while (!error) {
    const auto read = input.async_read_some(asio::buffer(bytes), AwaitOrStop());
    if (read) continue;
    error = read.error();
    if (error ==
        asio::error::no_memory) {  // no stack to wait on: what frees one needs this thread, too
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      self.Yield();
      error.clear();
    }
  }
  if (error == asio::error::operation_aborted) return;  // this process is asked to end
  self.Node().Stop();                                   // in a process it only begins
}

}  // namespace

gen::Result<gen::PID> StopAtEndOfInput(gen::Node& node) { return node.Spawn(StopWhenInputEnds); }

}  // namespace ergon::node
