#include <ergon/node/dist/challenge.h>

#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace ergon::dist {

std::uint32_t RandomChallenge() {
  std::uint32_t challenge = 0;
  // So few bytes come at once; only waiting for the kernel's first ones can be interrupted.
  while (::getrandom(&challenge, sizeof(challenge), 0) != sizeof(challenge)) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return challenge;
}

}  // namespace ergon::dist
