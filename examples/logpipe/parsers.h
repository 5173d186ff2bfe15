// The pool in the middle: lines become records.
#pragma once

#include <memory>
#include <utility>

#include <ergon/act/pool.h>

#include "options.h"
#include "traffic.h"

namespace logpipe {

class Parsers : public ergon::act::Pool {
 public:
  Parsers(Options options, std::shared_ptr<Traffic> traffic)
      : options_(std::move(options)), traffic_(std::move(traffic)) {}

 private:
  ergon::gen::Result<ergon::act::PoolOptions> Init(const ergon::gen::Args& args) override;

  const Options options_;
  const std::shared_ptr<Traffic> traffic_;
};

}  // namespace logpipe
