// An observer's options after they were checked.
#pragma once

#include <string>

#include <ergon/gen/result.h>
#include <ergon/node/observer/options.h>

namespace ergon::node {

struct ObserverSettings {
  ObserverOptions options;
  bool is_loopback = true;
  std::string token;  // from the option, the file or the environment; empty: none is needed
};

// Checks options. Returns kIncorrect, with a text that names the option and its value. Reads the token's file, so it
// may block. Any thread.
[[nodiscard]] gen::Result<ObserverSettings> CheckObserverOptions(ObserverOptions options);

}  // namespace ergon::node
