#include <ergon/act/pool/shortage.h>

#include <fmt/core.h>

#include <ergon/core/messages/rotation.h>

namespace ergon::act {

void PoolShortage::Began(std::uint64_t overloaded) {
  began_at_ = host_.Now();
  last_looked_ = host_.GetRotation().RefusedCount();
  if (overloaded != overloaded_) {
    using Milliseconds = std::chrono::duration<double, std::milli>;
    host_.Log().Warning(
        "messages would wait longer than {:.1f} ms at all {} workers: senders get errors until "
        "there is room",
        Milliseconds(options_.admission_limit).count(), members_.staying());
  } else {
    host_.Log().Warning("the mailboxes of all {} workers are full ({} messages each): {}",
                        members_.staying(), options_.WorkerBound(),
                        options_.WorkersMakeRoom()
                            ? "messages are dropped"
                            : "senders get errors, or wait, until there is room");
  }
  timer_ = host_.SendSelfAfter(Timer{}, kCalm);
}

void PoolShortage::Look(std::uint64_t overloaded) {
  const std::uint64_t refused = host_.GetRotation().RefusedCount();
  const bool is_over = refused == last_looked_ && host_.TryEndShortage();
  if (!is_over) {
    last_looked_ = refused;
    timer_ = host_.SendSelfAfter(Timer{}, kCalm);
    return;
  }
  using Seconds = std::chrono::duration<double>;
  const Seconds lasted = std::chrono::nanoseconds(host_.Now() - began_at_) - kCalm;
  host_.Log().Info("there is room again: {} messages were {} within {:.1f} s", refused - told_,
                   options_.WorkersMakeRoom() ? "dropped or refused" : "refused", lasted.count());
  told_ = refused;
  overloaded_ = overloaded;
  // A sender that was refused just before had found this shortage, and has told nobody.
  if (host_.GetRotation().RefusedCount() != refused) host_.NoteShortage();
}

}  // namespace ergon::act
