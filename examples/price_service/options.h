// The command line.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include <ergon/gen/node_options.h>

#include "prices.h"

namespace price_service {

struct Options {
  std::string name = "prices@127.0.0.1";  // of the node
  PricesOptions prices;
  // 0: one that is free. Afterwards the one that is open.
  std::shared_ptr<std::atomic<std::uint16_t>> http_port =
      std::make_shared<std::atomic<std::uint16_t>>(0);
  bool stop_with_input = false;
  ergon::gen::NodeOptions node;
};

// The options, or the exit status when there is nothing to do: the help has been printed (0), or what is wrong with the
// command line (2).
[[nodiscard]] std::variant<Options, int> ParseOptions(int argc, char** argv);

}  // namespace price_service
