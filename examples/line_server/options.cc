#include "options.h"

#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

namespace line_server {
namespace {

constexpr int kUsageError = 2;
constexpr std::uint64_t kMaxConnections = 30'000;  // suspended processes, see the README
constexpr double kMinIdle = 0.001;                 // seconds
constexpr double kMaxIdle = 86'400;

constexpr const char* kDescription =
    "Answers lines of text over TCP, a process for each connection:\n"
    "  echo TEXT    TEXT\n"
    "  upper TEXT   TEXT in capitals\n"
    "  sum N...     the sum of the numbers\n"
    "  quit         closes the connection\n";

constexpr const char* kFooter =
    "\nCtrl-C stops it in order: requests that have begun are answered. Exit status: 0 stopped; 1\n"
    "something failed; 2 a wrong command line.";

// CLI::Range would let "nan" through, which is neither less nor more than anything.
std::string CheckIdle(const std::string& text) {
  double seconds = 0;
  const bool is_number = CLI::detail::lexical_cast(text, seconds);
  if (is_number && seconds >= kMinIdle && seconds <= kMaxIdle) return {};
  return "Value " + text + " not in range [0.001 - 86400]";
}

class Help : public CLI::Formatter {
 public:
  Help() { column_width(26); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "\nUsage: line_server [OPTION]...\n";
  }
};

}  // namespace

std::variant<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  CLI::App app(kDescription, "line_server");
  app.footer(kFooter);
  app.formatter(std::make_shared<Help>());
  app.add_option("-a,--address", options.address, "Where to listen; default: 127.0.0.1")
      ->type_name("IP")
      ->option_text("IP");
  app.add_option("-p,--port", options.port, "Likewise; default: one that is free")
      ->type_name("N")
      ->option_text("N")
      ->check(CLI::Range(0, 65'535));
  app.add_option("-c,--connections", options.connections,
                 "How many there may be at the same time; default: 10000")
      ->type_name("N")
      ->option_text("N")
      ->check(CLI::Range(std::uint64_t{1}, kMaxConnections));
  app.add_option("-i,--idle", options.idle,
                 "Close those that have sent no line for so long; default: 60")
      ->type_name("SECONDS")
      ->option_text("SECONDS")
      ->check(CLI::Validator(CheckIdle, "", "idle"));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help() << std::flush;
    return std::cout ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    std::cerr << "line_server: " << error.what() << "\nTry 'line_server --help'.\n";
    return kUsageError;
  }
  return options;
}

}  // namespace line_server
