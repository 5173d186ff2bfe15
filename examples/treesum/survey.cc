#include "survey.h"

#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include <dirent.h>
#include <ergon/act/actor.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages.h"

namespace treesum {

using namespace ergon;
using namespace std::chrono_literals;

namespace {

// To itself.
struct Begin {};
constexpr auto kDelay = 500ms;
constexpr int kNiceness = 15;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

class Survey : public act::Actor {
 public:
  Survey(std::vector<std::string> arguments, gen::PID printer, std::stop_token stop)
      : printer_(printer), stop_(std::move(stop)), pending_(std::move(arguments)) {}

 private:
  gen::Status Init(const gen::Args&) override {
    SendAfter(Self(), Begin{}, kDelay).value();
    return gen::Continue();
  }

  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (!message.Is<Begin>()) return Actor::HandleMessage(from, message);
    // Of this thread only: the process is detached.
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
    // The order does not matter; last in, first out keeps the list short.
    while (!pending_.empty()) {
      if (stop_.stop_requested()) return gen::Stop(gen::Reason::Normal());
      std::string path = std::move(pending_.back());
      pending_.pop_back();
      Count(path);
    }
    Send(printer_, count_).value();
    return gen::Stop(gen::Reason::Normal());
  }

  // What cannot be read is passed over in silence: the walk will report it.
  void Count(const std::string& path) {
    std::unique_ptr<DIR, CloseDirectory> directory(::opendir(path.c_str()));
    if (directory == nullptr) {
      struct stat status {};
      if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) Add(status);
      return;
    }
    while (const dirent* entry = ::readdir(directory.get())) {
      std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (entry->d_type != DT_DIR && entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN) {
        continue;
      }
      if (entry->d_type != DT_DIR) {
        struct stat status {};
        if (::fstatat(::dirfd(directory.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
          continue;
        }
        if (S_ISREG(status.st_mode)) Add(status);
        if (!S_ISDIR(status.st_mode)) continue;
      }
      pending_.push_back(path + "/" + entry->d_name);
    }
  }

  void Add(const struct stat& status) {
    ++count_.files;
    count_.bytes += static_cast<std::uint64_t>(status.st_size);
  }

  const gen::PID printer_;
  const std::stop_token stop_;
  std::vector<std::string> pending_;
  Surveyed count_;
};

}  // namespace

gen::ProcessFactory SurveyFactory(std::vector<std::string> arguments, gen::PID printer,
                                  std::stop_token stop) {
  return gen::Factory<Survey>(std::move(arguments), printer, std::move(stop));
}

}  // namespace treesum
