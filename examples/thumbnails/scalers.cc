#include "scalers.h"

#include <utility>

#include <ergon/act/actor.h>
#include <ergon/gen/match_request.h>

#include "messages.h"

namespace thumbnails {

using namespace ergon;

namespace {

class Scaler : public act::Actor {
 public:
  explicit Scaler(int longest) : longest_(longest) {}

 private:
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    return gen::MatchRequest(
        request,
        [&](Scale& scale) {
          Log().Debug("an image of {} x {} pixels", scale.image.width, scale.image.height);
          return ScaleDown(std::move(scale.image), longest_);
        },
        [&](gen::Message& other) { return Actor::HandleCall(from, ref, other); });
  }

  const int longest_;
};

}  // namespace

gen::Result<act::PoolOptions> Scalers::Init(const gen::Args&) {
  return act::PoolOptions{.pool_size = options_.pool,
                          .worker_factory = gen::Factory<Scaler>(options_.size),
                          .worker_mailbox_size = options_.queue};
}

}  // namespace thumbnails
