// The supervision tree:
//
//   Root (one for one)
//     service (rest for one)
//       catalog          the prices of articles, and their event
//       prices           the pool that makes offers; its workers subscribe to that event
//       administration   HTTP
//     systemd            tells systemd that all of them are there
//
// They start from top to bottom and end from bottom to top. In the service, what depends on one that fails is after it,
// and is started again with it. Systemd is told of the beginning and the end of the program, and of no such restart.
#pragma once

#include <utility>

#include <ergon/act/supervisor.h>

#include "options.h"

namespace price_service {

class Root : public ergon::act::Supervisor {
 public:
  explicit Root(Options options) : options_(std::move(options)) {}

 private:
  ergon::gen::Result<ergon::act::SupervisorSpec> Init(const ergon::gen::Args& args) override;

  const Options options_;
};

}  // namespace price_service
