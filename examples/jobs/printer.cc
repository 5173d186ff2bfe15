#include "printer.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <string_view>
#include <variant>

#include <poll.h>
#include <unistd.h>

#include <ergon/gen/blocking.h>

namespace jobs {

using namespace ergon;

namespace {

constexpr int kSignalCheckMilliseconds = 50;

bool WaitUntilReady(int file, const std::atomic<int>& signals) {
  pollfd output{file, POLLOUT, 0};
  for (;;) {
    const bool is_over = signals >= 2;
    if (::poll(&output, 1, is_over ? 0 : kSignalCheckMilliseconds) != 0) return true;
    if (is_over) return false;
  }
}

int Write(int file, std::string_view text, const std::atomic<int>& signals) {
  const gen::Blocking blocking;  // the reader may be slow
  while (!text.empty()) {
    if (!WaitUntilReady(file, signals)) return ECANCELED;
    // A pipe that is ready takes this much without waiting.
    const auto written = ::write(file, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR && errno != EAGAIN) {
      return errno;  // here: this may be another thread afterwards
    }
  }
  return 0;
}

}  // namespace

void Print(gen::Process& self, const std::atomic<int>& signals) {
  int lost = 0;  // the first error of standard output
  const auto write = [&](const Line& line) {
    const int error = Write(line.file, line.text + "\n", signals);
    if (line.file != STDOUT_FILENO) return error;
    if (lost == 0 && error != ECANCELED) lost = error;
    return lost != 0 ? lost : error;
  };
  while (auto next = self.Receive<gen::SentBy<Line>, gen::Asked<Line>>()) {
    if (const auto* sent = std::get_if<gen::SentBy<Line>>(&*next)) {
      (void)write(sent->value);
      (void)self.Send(sent->from, Printed{});  // it may have ended meanwhile
    } else {
      const auto& asked = std::get<gen::Asked<Line>>(*next);
      (void)self.Reply(asked, write(asked.value));
    }
  }
}

}  // namespace jobs
