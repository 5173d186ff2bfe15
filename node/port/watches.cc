#include <ergon/node/port/watches.h>

#include <chrono>
#include <system_error>
#include <utility>

#include <asio/posix/stream_descriptor.hpp>

#include <ergon/gen/notices.h>
#include <ergon/node/await.h>

namespace ergon::node {
namespace {

// How often it looks when the system does not tell.
constexpr std::chrono::milliseconds kPause(20);

}  // namespace

void ProgramWatch::operator()(gen::Process& self) const {
  if (!program->process) {
    while (!program->HasEnded() && self.Sleep(kPause)) {
    }
    return;
  }
  asio::posix::stream_descriptor end(IoContext(self.Node()));
  end.assign(program->process.number());
  (void)program->process.Release();
  while (!program->HasEnded()) {
    auto ready = end.async_wait(asio::posix::stream_descriptor::wait_read, Await());
    if (ready) continue;
    if (ready.error() == asio::error::operation_aborted) return;
    throw std::system_error(ready.error(), "the program's end cannot be waited for");
  }
}

void OwnerWatch::operator()(gen::Process& self) const {
  if (!self.Monitor(owner) || !self.Receive<gen::MessageDownPID>()) return;
  (void)self.SendExit(port, gen::Reason::Shutdown());
}

}  // namespace ergon::node
