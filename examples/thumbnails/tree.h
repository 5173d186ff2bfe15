// The supervision tree:
//
//   Root (rest for one)
//     scalers       a pool
//     connections   a supervisor of its own, a child for each connection
//     listener
//
// They start from top to bottom and end from bottom to top: nobody is accepted any more, then the
// connections bring their requests to an end, then the pool ends.
#pragma once

#include <memory>
#include <utility>

#include <ergon/act/supervisor.h>

#include "options.h"
#include "traffic.h"

namespace thumbnails {

class Root : public ergon::act::Supervisor {
 public:
  Root(Options options, std::shared_ptr<Traffic> traffic)
      : options_(std::move(options)), traffic_(std::move(traffic)) {}

 private:
  ergon::gen::Result<ergon::act::SupervisorSpec> Init(const ergon::gen::Args& args) override;

  const Options options_;
  const std::shared_ptr<Traffic> traffic_;
};

}  // namespace thumbnails
