#include <soak/machine.h>

#include <fstream>
#include <sstream>
#include <string>

#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include <ergon/core/messages/envelope_pool.h>

#include <kit/eventually.h>

namespace ergon::soak {
namespace {

std::uint64_t StatusNumber(const std::string& wanted) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t value = 0;
    if (words >> key >> value && key == wanted) return value;
  }
  return 0;
}

}  // namespace

std::uint64_t ResidentBytes() { return StatusNumber("VmRSS:") * 1024; }

std::uint64_t TrimmedResidentBytes() {
  // It stays for a second or two.
  (void)kit::Eventually([] { return core::EnvelopePoolUsage().reserved_bytes == 0; });
  (void)malloc_trim(0);
  return ResidentBytes();
}

int ThreadCount() { return static_cast<int>(StatusNumber("Threads:")); }

void RestartWithoutMallocCaches(char** words) {
  constexpr const char* kTunables = "GLIBC_TUNABLES";
  if (getenv(kTunables) != nullptr) return;
  if (setenv(kTunables, "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1", 1) != 0) return;
  (void)execv("/proc/self/exe", words);  // returns only if it fails: then with the caches
}

}  // namespace ergon::soak
