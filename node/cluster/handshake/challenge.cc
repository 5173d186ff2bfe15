#include <ergon/node/cluster/handshake/challenge.h>

#include <sys/random.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace ergon::dist {

std::uint32_t RandomChallenge() {
  std::uint32_t challenge = 0;
  // So few bytes come at once; only waiting for the kernel's first ones can be interrupted.
  while (::getrandom(&challenge, sizeof(challenge), 0) != sizeof(challenge)) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return challenge;
}

Challenge::Challenge(Challenges& all) : all_(&all), value_(RandomChallenge()) {
  while (!all.issued_.insert(value_).second) value_ = RandomChallenge();
}

Challenge::~Challenge() {
  if (all_ != nullptr) all_->issued_.erase(value_);
}

Challenge::Challenge(Challenge&& other) noexcept
    : all_(std::exchange(other.all_, nullptr)), value_(other.value_) {}

}  // namespace ergon::dist
