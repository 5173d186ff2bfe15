#include "options.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>

#include <ergon/node/command_line.h>

#include "image.h"

namespace thumbnails {

using namespace std::chrono_literals;

namespace {

constexpr int kUsageError = 2;
constexpr int kMaxWorkers = 1'000;
constexpr int kMaxQueue = 100'000;
constexpr std::uint64_t kMaxBody = 1 << 30;
constexpr std::uint64_t kMaxConnections = 10'000;

constexpr const char* kDescription =
    "Makes thumbnails, over HTTP: POST a PPM file to /thumbnail and get a small one.\n";

constexpr const char* kFooter =
    "\nCtrl-C and SIGTERM stop it in order: requests that have begun are answered. Exit status: 0\n"
    "stopped; 1 something failed; 2 a wrong command line.";

class Help : public CLI::Formatter {
 public:
  Help() { column_width(30); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "\nUsage: thumbnails [OPTION]...\n";
  }
};

// An option with a number.
template <class Number>
void Add(CLI::App& app, const char* name, Number& number, Number least, Number most,
         const char* help) {
  app.add_option(name, number, help)
      ->type_name("N")
      ->option_text("N")
      ->check(CLI::Range(least, most));
}

}  // namespace

std::variant<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  options.pool = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
  options.node.log_level = ergon::gen::LogLevel::kWarning;
  options.node.shutdown_timeout = 30s;  // for the requests that have begun

  CLI::App app(kDescription, "thumbnails");
  app.footer(kFooter);
  app.formatter(std::make_shared<Help>());
  app.add_option("-a,--address", options.address, "Where to listen; default: 127.0.0.1")
      ->type_name("IP")
      ->option_text("IP");
  Add<std::uint16_t>(app, "-p,--port", options.port, 0, 65'535,
                     "Likewise; default: 0, one that is free");
  Add(app, "--pool", options.pool, 1, kMaxWorkers,
      "Workers of the pool; default: as many as cores");
  Add(app, "--queue", options.queue, 1, kMaxQueue, "Requests that may wait at each; default: 16");
  Add(app, "--size", options.size, 1, kMaxSide,
      "Pixels of a thumbnail's longest side; default: 128");
  Add<std::uint64_t>(app, "--max-body", options.max_body, 1, kMaxBody,
                     "Bytes of the largest request; default: 16777216");
  Add<std::uint64_t>(app, "--connections", options.connections, 1, kMaxConnections,
                     "How many there may be at the same time; default: 128");
  ergon::node::AddNodeOptions(app, options.node);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help() << std::flush;
    return std::cout ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    std::cerr << "thumbnails: " << error.what() << "\nTry 'thumbnails --help'.\n";
    return kUsageError;
  }
  return options;
}

}  // namespace thumbnails
