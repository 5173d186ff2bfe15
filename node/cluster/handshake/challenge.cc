#include <ergon/node/cluster/handshake/challenge.h>

#include <sys/random.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <openssl/evp.h>

namespace ergon::dist {

std::uint32_t RandomChallenge() {
  std::uint32_t challenge = 0;
  // So few bytes come at once; only waiting for the kernel's first ones can be interrupted.
  while (::getrandom(&challenge, sizeof(challenge), 0) != sizeof(challenge)) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return challenge;
}

std::string DigestOf(std::string_view cookie, std::uint32_t challenge) {
  const std::string text = std::string(cookie) + std::to_string(challenge);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest, &size, EVP_md5(), nullptr) != 1) return {};
  return {reinterpret_cast<const char*>(digest), size};
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
