#include "options.h"

#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

namespace queue_service {
namespace {

constexpr int kUsageError = 2;
constexpr std::uint64_t kMaxOperations = 100'000'000;
constexpr std::uint64_t kMaxCustomers = 10'000;
// Less than 2^64 - 1, which CLI11 makes of a number that does not fit.
constexpr std::uint64_t kMaxSeed = 1'000'000'000'000'000'000;

constexpr const char* kDescription =
    "Puts into and takes from a queue that is made of processes, behind a serializer, and "
    "compares\n"
    "every result with that of a std::deque.\n";

constexpr const char* kFooter =
    "\nExit status: 0 all results are the same; 1 they are not, or something failed; 2 a wrong\n"
    "command line; 130 interrupted (143 by SIGTERM).";

class Help : public CLI::Formatter {
 public:
  Help() { column_width(26); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "\nUsage: queue_service [OPTION]...\n";
  }
};

}  // namespace

std::variant<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  CLI::App app(kDescription, "queue_service");
  app.footer(kFooter);
  app.formatter(std::make_shared<Help>());
  app.add_option("-n,--operations", options.operations,
                 "How many, by all customers together; default: 1000000")
      ->type_name("N")
      ->option_text("N")
      ->check(CLI::Range(std::uint64_t{1}, kMaxOperations));
  app.add_option("-c,--customers", options.customers,
                 "Processes that use the queue at the same time; default: 8")
      ->type_name("N")
      ->option_text("N")
      ->check(CLI::Range(std::uint64_t{1}, kMaxCustomers));
  app.add_option("-s,--seed", options.seed, "Chooses who puts and takes when; default: 1")
      ->type_name("N")
      ->option_text("N")
      ->check(CLI::Range(std::uint64_t{0}, kMaxSeed));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help() << std::flush;
    return std::cout ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    std::cerr << "queue_service: " << error.what() << "\nTry 'queue_service --help'.\n";
    return kUsageError;
  }
  return options;
}

}  // namespace queue_service
