// Those who do the work: a pool with room for so many requests, and no more.
#pragma once

#include <ergon/act/pool.h>

#include "options.h"

namespace thumbnails {

class Scalers : public ergon::act::Pool {
 public:
  explicit Scalers(const Options& options) : options_(options) {}

 private:
  ergon::gen::Result<ergon::act::PoolOptions> Init(const ergon::gen::Args& args) override;

  const Options options_;
};

}  // namespace thumbnails
