#include <cluster/chaos/ledger.h>

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace ergon::chaos {

Ledger::Ledger(const std::string& path)
    : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_ < 0) throw std::system_error(errno, std::system_category(), path);
}

Ledger::~Ledger() { ::close(file_); }

// With one call: lines of several threads stand one behind the other, and none is lost in a buffer.
void Ledger::Write(std::string line) {
  line += '\n';
  if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw std::system_error(errno, std::system_category(), "the ledger");
  }
}

}  // namespace ergon::chaos
