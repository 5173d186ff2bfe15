// A pool of labourers that is resized and ended by messages.
#pragma once

#include <ergon/act/pool.h>

#include <soak/labourer.h>

namespace ergon::soak {

class SoakPool : public act::Pool {
 public:
  SoakPool(Stage* stage, act::PoolOptions options);

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args& args) override;
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override;

  Stage& stage_;
  const act::PoolOptions options_;
};

}  // namespace ergon::soak
