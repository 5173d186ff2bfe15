#include "options.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <string_view>
#include <thread>

#include <CLI/CLI.hpp>

namespace treesum {
namespace {

constexpr int kUsageError = 2;
constexpr int kMaxWorkers = 1000;
constexpr int kMaxMailbox = 100'000;
constexpr int kDefaultMailbox = 4;
constexpr double kMaxSeconds = 1e8;
constexpr int kMaxPort = 65'535;

constexpr const char* kDescription =
    "Writes the SHA-256 of every regular file under the directories named, in the format of\n"
    "sha256sum and the order of `find DIR... -type f | LC_ALL=C sort`.\n";

constexpr const char* kFooter =
    "\nCheck the sums with `sha256sum -c`. Symbolic links are followed on the command line only.\n"
    "\nExit status: 0 all done; 1 some files could not be read, or there was something else to\n"
    "report; 2 a wrong command line; 130 interrupted (143 by SIGTERM).";

class Help : public CLI::Formatter {
 public:
  Help() { column_width(26); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "\nUsage: treesum [OPTION]... DIR...\n";
  }
  // Without the "{false}" of the opposite of a flag.
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    return CLI::detail::find_and_replace(CLI::Formatter::make_option_name(option, positional),
                                         "{false}", "");
  }
};

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

// "[ADDRESS:]PORT"; whether the address is one is for the observer to say. Returns what is wrong with it, or nothing.
std::string ParseObserve(std::string_view text, Observe& observe) {
  const std::size_t colon = text.rfind(':');
  std::string_view address = colon == std::string_view::npos ? "" : text.substr(0, colon);
  const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
  if (address.starts_with('[') && address.ends_with(']')) {  // of IPv6
    address = address.substr(1, address.size() - 2);
  }
  if ((colon != std::string_view::npos && address.empty()) || !ParseNumber(port, observe.port)) {
    return "'" + std::string(text) + "' is not of the form [ADDRESS:]PORT, as in 127.0.0.1:9911";
  }
  if (observe.port < 0 || observe.port > kMaxPort) {
    return "'" + std::string(text) + "': PORT is not in range 0 to " + std::to_string(kMaxPort);
  }
  if (!address.empty()) observe.address = address;
  return {};
}

std::string CheckObserve(const std::string& text) {
  Observe observe;
  return ParseObserve(text, observe);
}

// What is left of the command line without the options: directories, and what nobody knows. (CLI11
// would take a list of arguments itself, but read a directory "[a,b]" as two, "a" and "b".) Returns
// what is wrong with it, or nothing.
std::string TakeArguments(const std::vector<std::string>& rest,
                          std::vector<std::string>& arguments) {
  bool options_end = false;
  for (const std::string& argument : rest) {
    if (!options_end && argument == "--") {
      options_end = true;
    } else if (!options_end && argument.size() > 1 && argument.front() == '-') {
      return "no such option: " + argument;
    } else {
      arguments.push_back(argument);
    }
  }
  return arguments.empty() ? "DIR is missing" : "";
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
  std::string observe;

  CLI::App app(kDescription, "treesum");
  app.footer(kFooter);
  app.formatter(std::make_shared<Help>());
  app.allow_extras();
  std::string unused;  // for the help: nothing gets there
  app.add_option("DIR", unused, "Directories; files are summed up too")
      ->option_text("...")
      ->expected(0, 1)
      ->allow_extra_args(false);
  app.add_option("-w,--workers", options.workers, "Workers of the pool; default: as many as cores")
      ->type_name("N")
      ->option_text("N")
      ->check(CLI::Range(1, kMaxWorkers));
  app.add_option("-m,--mailbox", options.mailbox, "Batches that may wait at each; default: 4")
      ->type_name("N")
      ->option_text("N")
      ->check(CLI::Range(1, kMaxMailbox));
  app.add_option("-s,--scale", scale, "After T seconds have N workers (repeatable)")
      ->type_name("N@T")
      ->option_text("N@T")
      ->allow_extra_args(false)
      ->check(CLI::Validator(CheckScaleStep, "", "scale"));
  app.add_flag("--progress,!--no-progress", options.progress,
               "A bar on standard error, if that is a terminal (default)");
  app.add_flag("--stats", options.stats, "At the end, what the pool has done, on standard error");
  app.add_option("--observe", observe, "Tell over HTTP how it goes, e.g. /metrics; 0: any port")
      ->type_name("[ADDRESS:]PORT")
      ->option_text("[ADDRESS:]PORT")
      ->check(CLI::Validator(CheckObserve, "", "observe"));
  app.add_flag("-z,--zero", zero, "End lines with a zero byte and do not escape names");

  std::string wrong;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help() << std::flush;
    return std::cout ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    wrong = error.what();
  }
  if (wrong.empty()) wrong = TakeArguments(app.remaining(), options.arguments);
  if (!wrong.empty()) {
    if (argc > 1) wrong = "treesum: " + wrong + "\nTry 'treesum --help'.\n";
    std::cerr << (argc > 1 ? wrong : app.help());
    return kUsageError;
  }
  for (const std::string& text : scale) ParseScaleStep(text, options.scale.emplace_back());
  if (!observe.empty()) ParseObserve(observe, options.observe.emplace());
  if (zero) options.line_end = LineEnd::kZero;
  return options;
}

}  // namespace treesum
