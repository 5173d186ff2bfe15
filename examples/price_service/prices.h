// The pool that makes offers.
#pragma once

#include <chrono>
#include <cstdint>

#include <ergon/act/pool.h>

namespace price_service {

struct PricesOptions {
  int workers = 4;
  int queue = 100;                    // orders that may wait at each
  std::chrono::milliseconds work{0};  // that an offer takes, as if a database were asked
};

class Prices : public ergon::act::Pool {
 public:
  explicit Prices(const PricesOptions& options) : options_(options) {}

 private:
  ergon::gen::Result<ergon::act::PoolOptions> Init(const ergon::gen::Args& args) override;
  // What has high priority: the pool's own, and handled while the workers are busy.
  ergon::gen::CallResult HandleCall(ergon::gen::PID from, ergon::gen::Ref ref,
                                    ergon::gen::Message& request) override;

  ergon::gen::Result<std::int64_t> ResizeTo(int workers);

  const PricesOptions options_;
};

}  // namespace price_service
