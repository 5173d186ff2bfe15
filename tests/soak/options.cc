#include <soak/options.h>

#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

namespace ergon::soak {
namespace {

constexpr std::int64_t kMostSeconds = 100 * 86'400;
constexpr std::int64_t kMostMessages = 1'000'000'000'000;

constexpr const char* kDescription =
    "Runs pools and processes under random load and faults, and proves at the end that no message\n"
    "was lost or handled twice, and that nothing is left over.\n";

constexpr const char* kFooter =
    "\nExit status: 0 all laws hold; 1 one is broken; 2 a wrong command line.";

class Help : public CLI::Formatter {
 public:
  // Without the "{false}" of the opposite of a flag.
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    return CLI::detail::find_and_replace(CLI::Formatter::make_option_name(option, positional),
                                         "{false}", "");
  }
};

}  // namespace

std::variant<Options, int> ParseOptions(int count, char** words) {
  Options options;
  CLI::App app(kDescription, "ergon-soak");
  app.footer(kFooter);
  app.formatter(std::make_shared<Help>());
  app.add_option("--seconds", options.seconds, "How long the load lasts; default: 20")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, kMostSeconds));
  app.add_option("--messages", options.messages, "Stop after so many messages, if that is earlier")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, kMostMessages));
  app.add_option("--seed", options.seed, "Where all random decisions come from; default: 1")
      ->option_text("N")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--workers", options.workers, "Threads of the node; default: as many as cores")
      ->option_text("N")
      ->check(CLI::Range(2, 1024));
  app.add_option("--crash-every", options.crash_every,
                 "One message of so many makes its handler throw, besides the usual faults")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, kMostMessages));
  app.add_flag("--detached,!--no-detached", options.detached,
               "Some processes have threads of their own (default)");
  app.add_flag("--progress,!--no-progress", options.progress,
               "A line every five seconds, if standard error is a terminal (default)");
  try {
    app.parse(count, words);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help() << std::flush;
    return std::cout ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    std::cerr << "ergon-soak: " << error.what() << "\nTry 'ergon-soak --help'.\n";
    return 2;
  }
  return options;
}

}  // namespace ergon::soak
