#include <ergon/node/cluster/handshake/challenge.h>

#include <sys/random.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <openssl/evp.h>

namespace ergon::dist {
namespace {

// The challenges of unfinished handshakes, each with the node that has issued it.
struct Issued {
  std::mutex mutex;
  std::multiset<std::pair<std::uint32_t, std::string>> challenges;  // guarded by mutex
};

// Never destroyed: nodes may still shake hands when the program ends.
Issued& IssuedHere() {
  static Issued& issued = *new Issued;
  return issued;
}

}  // namespace

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

Challenge::~Challenge() {
  if (node_.empty()) return;
  Issued& issued = IssuedHere();
  std::lock_guard lock(issued.mutex);
  issued.challenges.erase(issued.challenges.find({value_, node_}));
}

Challenge::Challenge(Challenge&& other) noexcept
    : value_(other.value_), node_(std::exchange(other.node_, {})) {}

void Challenge::Issue(std::string_view node) {
  Issued& issued = IssuedHere();
  std::lock_guard lock(issued.mutex);
  issued.challenges.emplace(value_, node);
  node_ = node;
}

bool IsIssuedByOthers(std::uint32_t challenge, std::string_view peer) {
  Issued& issued = IssuedHere();
  std::lock_guard lock(issued.mutex);
  // Sorted by the challenge.
  auto at = issued.challenges.lower_bound({challenge, std::string()});
  for (; at != issued.challenges.end() && at->first == challenge; ++at) {
    if (at->second != peer) return true;
  }
  return false;
}

}  // namespace ergon::dist
