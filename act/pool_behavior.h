// The handlers that a user of Pool writes.
#pragma once

#include <ergon/act/message_loop.h>
#include <ergon/act/pool_options.h>
#include <ergon/gen/args.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/result.h>

namespace ergon::act {

// Only Init has to be written; Pool has defaults for the others, the same as Actor's.
class PoolBehavior : public Callbacks {
 public:
  // Called first, with the arguments of the spawn. An error or an exception makes the spawn fail.
  virtual gen::Result<PoolOptions> Init(const gen::Args& args) = 0;
  // Called last, exactly once, if the pool had started. Its workers have ended or are being killed.
  virtual void Terminate(const gen::Reason& reason) = 0;

 protected:
  PoolBehavior() = default;
  PoolBehavior(const PoolBehavior&) = default;
  PoolBehavior& operator=(const PoolBehavior&) = default;
  ~PoolBehavior() = default;
};

}  // namespace ergon::act
