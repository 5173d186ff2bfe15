// The supervision tree:
//
//   Root (one for one)
//     writer        writes what is left of the lines
//     parsers       a pool, by the lines' tags
//     a source      for each file, and for datagrams
//
// They start from top to bottom and end from bottom to top: nothing is read any more, then the parsers handle
// what they have, then the writer does. The tree ends when all sources have ended.
#pragma once

#include <memory>
#include <utility>

#include <ergon/act/supervisor.h>

#include "options.h"
#include "traffic.h"

namespace logpipe {

class Root : public ergon::act::Supervisor {
 public:
  Root(Options options, std::shared_ptr<Traffic> traffic)
      : options_(std::move(options)), traffic_(std::move(traffic)) {}

 private:
  ergon::gen::Result<ergon::act::SupervisorSpec> Init(const ergon::gen::Args& args) override;

  const Options options_;
  const std::shared_ptr<Traffic> traffic_;
};

}  // namespace logpipe
