#include "options.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <iostream>
#include <string_view>
#include <thread>

#include <CLI/CLI.hpp>

namespace treesum {
namespace {

constexpr int kUsageError = 2;
constexpr int kMaxWorkers = 1000;
constexpr int kMaxMailbox = 100'000;
constexpr int kDefaultMailbox = 16;
constexpr double kMaxSeconds = 1e8;

constexpr const char* kDescription =
    "Writes the SHA-256 of every regular file under the directories named, in the format of\n"
    "sha256sum and the order of `find DIR... -type f | LC_ALL=C sort`.\n";

constexpr const char* kFooter =
    "\nCheck the sums with `sha256sum -c`. Symbolic links are followed on the command line only.\n"
    "\nExit status: 0 all done; 1 some files could not be read, or there was something else to\n"
    "report; 2 a wrong command line; 130 interrupted (143 by SIGTERM).";

int Cores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

template <class T>
bool ParseNumber(std::string_view text, T& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// "N@T". Returns what is wrong with it, or nothing.
std::string ParseScaleStep(std::string_view text, ScaleStep& step) {
  std::size_t at = text.find('@');
  double seconds = 0;
  if (at == std::string_view::npos || !ParseNumber(text.substr(0, at), step.workers) ||
      !ParseNumber(text.substr(at + 1), seconds)) {
    return "'" + std::string(text) + "' is not of the form N@T, as in 4@2.5";
  }
  if (step.workers < 1 || step.workers > kMaxWorkers) {
    return "'" + std::string(text) + "': N is not in range 1 to " + std::to_string(kMaxWorkers);
  }
  if (!(seconds >= 0 && seconds <= kMaxSeconds)) {
    return "'" + std::string(text) + "': T is not a number of seconds";
  }
  step.after = std::chrono::nanoseconds(std::llround(seconds * 1e9));
  return {};
}

std::string CheckScaleStep(const std::string& text) {
  ScaleStep step;
  return ParseScaleStep(text, step);
}

}  // namespace

std::variant<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  options.workers = std::min(Cores(), kMaxWorkers);
  options.mailbox = kDefaultMailbox;
  std::vector<std::string> scale;
  bool zero = false;

  CLI::App app(kDescription, "treesum");
  app.footer(kFooter);
  app.get_formatter()->column_width(26);
  app.get_formatter()->label("REQUIRED", "");
  app.add_option("DIR", options.arguments, "Directories; files are summed up too")
      ->option_text("...")
      ->required();
  app.add_option("-w,--workers", options.workers, "Workers of the pool; default: as many as cores")
      ->option_text("N")
      ->check(CLI::Range(1, kMaxWorkers));
  app.add_option("-m,--mailbox", options.mailbox, "Batches that may wait at each; default: 16")
      ->option_text("N")
      ->check(CLI::Range(1, kMaxMailbox));
  app.add_option("-s,--scale", scale, "After T seconds have N workers (repeatable)")
      ->option_text("N@T")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::Validator(CheckScaleStep, "", "scale"));
  app.add_flag("--progress,!--no-progress", options.progress,
               "A bar on standard error, if that is a terminal (default)");
  app.add_flag("--stats", options.stats, "At the end, what the pool has done, on standard error");
  app.add_flag("-z,--zero", zero, "End lines with a zero byte and do not escape names");

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help() << std::flush;
    return std::cout ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    if (argc == 1) {
      std::cerr << app.help();
    } else {
      std::cerr << "treesum: " << error.what() << "\nTry 'treesum --help'.\n";
    }
    return kUsageError;
  }
  for (const std::string& text : scale) ParseScaleStep(text, options.scale.emplace_back());
  if (zero) options.line_end = LineEnd::kZero;
  return options;
}

}  // namespace treesum
