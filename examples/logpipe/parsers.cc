#include "parsers.h"

#include <functional>
#include <string_view>

#include <ergon/act/actor.h>

#include "record.h"
#include "writer.h"

namespace logpipe {

using namespace ergon;

namespace {

class Parser : public act::Actor {
 public:
  Parser(int minimum, std::shared_ptr<Traffic> traffic)
      : minimum_(minimum), traffic_(std::move(traffic)) {}

 private:
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const auto* line = message.As<Line>();
    if (line == nullptr) return Actor::HandleMessage(from, message);
    const auto record = Parse(line->text);
    if (!record) {
      ++traffic_->malformed;
    } else if (record->severity > minimum_) {
      ++traffic_->left_out;
    } else if (auto sent = SendOrWait(kWriter, record->ToJson(), gen::kInfinite); !sent) {
      ++traffic_->failed;
      Log().Error("a record is lost: {}", sent.error());
    }
    return gen::Continue();
  }

  const int minimum_;
  const std::shared_ptr<Traffic> traffic_;
};

}  // namespace

gen::Result<act::PoolOptions> Parsers::Init(const gen::Args&) {
  return act::PoolOptions{.pool_size = options_.parsers,
                          .worker_factory = gen::Factory<Parser>(options_.minimum, traffic_),
                          .worker_mailbox_size = options_.queue,
                          // Lines of one program stay in their order.
                          .strategy = act::PoolStrategy::ByKey<Line>([](const Line& line) {
                            return std::hash<std::string_view>()(TagOf(line.text));
                          }),
                          .shutdown_timeout = gen::kInfinite};
}

}  // namespace logpipe
