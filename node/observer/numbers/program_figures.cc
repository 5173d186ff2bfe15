#include <ergon/node/observer/numbers/program_figures.h>

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>

namespace ergon::node {
namespace {

// Of /proc/self/stat, see proc(5): from the third field on, behind the name, which may contain anything.
constexpr int kThreads = 20;
constexpr int kStartTime = 22;
constexpr int kVirtualBytes = 23;
constexpr int kResidentPages = 24;

void ReadStat(ProgramFigures& figures, std::int64_t& start_ticks) {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return;
  std::istringstream rest(line.substr(name_end + 1));
  std::string state;
  rest >> state;
  std::int64_t value = 0;
  for (int field = 4; field <= kResidentPages && rest >> value; ++field) {
    if (field == kThreads) figures.threads = value;
    if (field == kStartTime) start_ticks = value;
    if (field == kVirtualBytes) figures.virtual_bytes = value;
    if (field == kResidentPages) figures.resident_bytes = value * ::sysconf(_SC_PAGESIZE);
  }
}

// Seconds since the year 1970 at which the machine was started.
std::int64_t ReadBootTime() {
  std::ifstream file("/proc/stat");
  std::string key;
  std::int64_t seconds = 0;
  while (file >> key) {
    if (key == "btime" && file >> seconds) return seconds;
    std::getline(file, key);
  }
  return 0;
}

std::int64_t CountDescriptors(std::int64_t most) {
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  if (error == std::errc::too_many_files_open) return most;  // not one is left to look with
  std::int64_t count = error ? 0 : -1;                       // without that of the folder itself
  for (const std::filesystem::directory_iterator end; !error && entry != end;) {
    ++count;
    entry.increment(error);
  }
  return count < 0 ? 0 : count;
}

}  // namespace

ProgramFigures ReadProgramFigures() {
  ProgramFigures figures;
  timespec time{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0) {
    figures.processor_seconds =
        static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
  std::int64_t start_ticks = 0;
  ReadStat(figures, start_ticks);
  static constinit std::atomic<double> started_at = 0;  // never changes
  if (started_at == 0 && start_ticks != 0) {
    const std::int64_t boot = ReadBootTime();
    if (boot != 0) {
      started_at = static_cast<double>(boot) +
                   static_cast<double>(start_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    }
  }
  figures.started_at = started_at;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    figures.most_descriptors = static_cast<std::int64_t>(limit.rlim_cur);
  }
  figures.open_descriptors = CountDescriptors(figures.most_descriptors);
  return figures;
}

}  // namespace ergon::node
