#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>
#include <CLI/CLI.hpp>

#include <ergon/node/command_line.h>

namespace ergon::node {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

struct Line {
  gen::NodeOptions options = {};
  std::string error = {};
};

Line Parse(std::vector<std::string> words, gen::NodeOptions defaults = {}) {
  Line line{std::move(defaults)};
  CLI::App app;
  AddNodeOptions(app, line.options);
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    line.error = error.what();
  }
  return line;
}

class File {
 public:
  explicit File(const std::string& contents)
      : path_((std::filesystem::temp_directory_path() /
               ("ergon_line_" + std::to_string(getpid()) + ".toml"))
                  .string()) {
    std::ofstream(path_) << contents;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

TEST_CASE("command line: options by their names; the rest stays") {
  const Line line = Parse({"--workers", "4", "--policy=work-sharing", "--turn-time", "30us",
                           "--stealing-relaxed-pause", "5ms", "--measure-running-time", "true"},
                          {.throughput = 7});
  CHECK(line.error.empty());
  CHECK(line.options.workers == 4);
  CHECK(line.options.policy == gen::DispatcherPolicy::kWorkSharing);
  CHECK(line.options.turn_time == 30us);
  CHECK(line.options.stealing.relaxed.pause == 5ms);
  CHECK(line.options.measure_running_time);
  CHECK(line.options.throughput == 7);
}

TEST_CASE("command line: it overrides the file, wherever that is named") {
  const File file("workers = 3\nthroughput = 9\n");
  for (const bool file_first : {true, false}) {
    std::vector<std::string> words = {"--workers", "5"};
    words.insert(file_first ? words.begin() : words.end(), {"--config", file.path()});
    const Line line = Parse(words, {.throughput = 7, .blocking_threads = 2});
    CHECK(line.error.empty());
    CHECK(line.options.workers == 5);
    CHECK(line.options.throughput == 9);
    CHECK(line.options.blocking_threads == 2);
    CHECK(line.options.options_file == file.path());
    CHECK(line.options.overridden_options == std::vector<std::string>{"workers"});
  }
}

TEST_CASE("command line: the file is found again from another folder") {
  const auto before = std::filesystem::current_path();
  const File file("");
  std::filesystem::current_path(std::filesystem::path(file.path()).parent_path());
  const Line line = Parse({"--config", std::filesystem::path(file.path()).filename().string()});
  std::filesystem::current_path(before);
  CHECK(line.options.options_file == file.path());
  CHECK(Parse({}).options.options_file.empty());
}

TEST_CASE("command line: errors name the option, and the file's line") {
  CHECK(Parse({"--throughput", "0"}).error == "--throughput: throughput: 0 is outside 1..4096");
  CHECK(Parse({"--turn-time", "soon"}).error ==
        "--turn-time: turn_time: \"soon\", must be a whole number with its unit (ns, us, ms, s or "
        "min), as 20us, 5ms or 3s");
  CHECK(Parse({"--worker", "4"}).error.find("--worker") != std::string::npos);
  const File file("\nworkers = 1\n");
  CHECK(Parse({"--config", file.path()}).error ==
        "--config: " + file.path() + ":2: workers: 1 is outside 2..1024 (0: one per core)");
  CHECK(Parse({"--config", "/no/such/file"}).error ==
        "--config: /no/such/file: cannot be read: No such file or directory");
}

TEST_CASE("command line: the help tells values and defaults") {
  CLI::App app;
  gen::NodeOptions options;
  AddNodeOptions(app, options);
  const std::string help = app.help();
  CHECK(help.find("--turn-time TIME") != std::string::npos);
  CHECK(help.find("20us") != std::string::npos);
  CHECK(help.find("--config FILE") != std::string::npos);
}

}  // namespace
}  // namespace ergon::node
