#include <ergon/act/pool/shortage.h>

#include <string>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/core/messages/rotation.h>

namespace ergon::act {
namespace {

std::string BoundText(int bound) {
  if (bound == 0) return {};  // only the workers' own kind of mailbox knows
  return fmt::format(" ({} each)", core::Counted(bound, "message", "messages"));
}

// What has no room, and what comes of it.
std::string ShortageText(const PoolOptions& options, std::size_t workers) {
  const std::string bound = BoundText(options.WorkerBound());
  const char* const outcome = options.WorkersMakeRoom()
                                  ? "messages are dropped"
                                  : "senders get errors, or wait, until there is room";
  switch (options.strategy.kind()) {
    case PoolStrategy::Kind::kBroadcast:
      return fmt::format(
          "the mailbox of one of {} at least is full{}: a full worker misses messages that go to "
          "all; if all are full, {}",
          core::Counted(workers, "worker", "workers"), bound, outcome);
    case PoolStrategy::Kind::kByKey:
    case PoolStrategy::Kind::kSharedQueue:
      return fmt::format("as many messages wait at the pool as may wait for {}{}: {}",
                         core::Counted(workers, "worker", "workers"), bound, outcome);
    default:
      break;
  }
  return workers == 1 ? fmt::format("the mailbox of the only worker is full{}: {}", bound, outcome)
                      : fmt::format("the mailboxes of all {} workers are full{}: {}", workers,
                                    bound, outcome);
}

}  // namespace

std::uint64_t PoolShortage::Missed() const {
  return host_.GetRotation().RefusedCount() + host_.OverflowedCount();
}

void PoolShortage::Began(std::uint64_t overloaded) {
  began_at_ = host_.Now();
  last_looked_ = Missed();
  if (overloaded != overloaded_) {
    const std::size_t workers = members_.staying();
    host_.Log().Warning(
        "messages would wait longer than {} at {}: senders get errors until there is room",
        core::RoundTime(options_.admission_limit),
        workers == 1 ? "the only worker" : fmt::format("all {} workers", workers));
  } else {
    host_.Log().Warning("{}", ShortageText(options_, members_.staying()));
  }
  timer_ = host_.SendSelfAfter(Timer{}, kCalm);
}

void PoolShortage::Look(std::uint64_t overloaded) {
  const std::uint64_t refused = Missed();
  const bool is_over = refused == last_looked_ && host_.TryEndShortage();
  if (!is_over) {
    last_looked_ = refused;
    timer_ = host_.SendSelfAfter(Timer{}, kCalm);
    return;
  }
  using Seconds = std::chrono::duration<double>;
  const Seconds lasted = std::chrono::nanoseconds(host_.Now() - began_at_) - kCalm;
  host_.Log().Info("there is room again: {} {} within {:.1f} s",
                   core::Counted(refused - told_, "message was", "messages were"),
                   options_.WorkersMakeRoom() ? "dropped or refused" : "refused", lasted.count());
  told_ = refused;
  overloaded_ = overloaded;
  // A sender that was refused just before had found this shortage, and has told nobody.
  if (Missed() != refused) host_.NoteShortage();
}

}  // namespace ergon::act
