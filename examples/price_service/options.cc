#include "options.h"

#include <chrono>
#include <cstdint>
#include <iostream>

#include <CLI/CLI.hpp>

#include <ergon/node/command_line.h>

namespace price_service {

std::variant<Options, int> ParseOptions(int argc, char** argv) {
  constexpr int kUsageError = 2;
  Options options;
  std::uint16_t port = 0;
  std::int64_t work_ms = 0;
  CLI::App app("Makes offers to a shop that is written in Elixir.\n", "price_service");
  app.footer(
      "\nThe cookie is that of the environment's RELEASE_COOKIE, or of ~/.erlang.cookie. Ctrl-C "
      "and SIGTERM stop the\n"
      "service in order. Exit status: 0 stopped; 1 something failed; 2 a wrong command line.");
  app.add_option("--name", options.name, "The node's; default: prices@127.0.0.1")
      ->type_name("NAME@HOST");
  app.add_option("--http-port", port,
                 "Of 127.0.0.1, for the administration; default: 0, one that is free")
      ->type_name("N");
  app.add_option("--pool", options.prices.workers, "Workers; default: 4")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000));
  app.add_option("--queue", options.prices.queue, "Orders that may wait at each; default: 100")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--work", work_ms, "Milliseconds that an offer takes; default: 0")
      ->type_name("N")
      ->check(CLI::Range(0, 60'000));
  app.add_flag("--stop-with-input", options.stop_with_input,
               "End when standard input does: for a port of Erlang");
  ergon::node::AddNodeOptions(app, options.node);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help() << std::flush;
    return std::cout ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    std::cerr << "price_service: " << error.what() << "\nTry 'price_service --help'.\n";
    return kUsageError;
  }
  *options.http_port = port;
  options.prices.work = std::chrono::milliseconds(work_ms);
  return options;
}

}  // namespace price_service
