#include <soak/machine.h>

#include <fstream>
#include <sstream>
#include <string>

#include <malloc.h>

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
  (void)malloc_trim(0);
  return ResidentBytes();
}

int ThreadCount() { return static_cast<int>(StatusNumber("Threads:")); }

}  // namespace ergon::soak
