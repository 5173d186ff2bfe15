#include <soak/driver.h>

#include <algorithm>
#include <utility>

namespace ergon::soak {
namespace {
constexpr int kActions = 16;          // for each Act
constexpr std::uint64_t kBurst = 24;  // messages to one receiver in a row, at most
constexpr std::size_t kTimers = 32;   // whose handles are kept
}  // namespace

Driver::Driver(Stage& stage, Book& book, const std::vector<Destination>& destinations,
               std::uint64_t seed)
    : stage_(stage), book_(book), destinations_(destinations), random_(seed) {}

bool Driver::Act(gen::Messenger& messenger) {
  for (int i = 0; i < kActions && book_.HasRoom(); ++i) {
    const std::uint64_t dice = Below(100);
    if (dice < 80) {
      SendSome(messenger);
    } else if (dice < 90) {
      CallOnce(messenger);
    } else if (dice < 96) {
      Delay(messenger);
    } else {
      CancelOne();
    }
  }
  return book_.HasRoom();
}

bool Driver::ActOutside(gen::Node& node) {
  for (std::uint64_t i = Below(8); i > 0 && book_.HasRoom(); --i) {
    const Destination& to = destinations_[Below(destinations_.size())];
    if (const IncarnationPtr holder = to.post->Holder()) {
      AskLater(stage_, node, book_, holder->pid, holder, RequestErrand(), CallTimeout());
    }
  }
  return Act(node);
}

std::chrono::microseconds Driver::UpTo(int microseconds) {
  return std::chrono::microseconds(Below(static_cast<std::uint64_t>(microseconds)));
}

Errand Driver::MessageErrand() {
  if (stage_.crash_every != 0 && Below(stage_.crash_every) == 0) return {Deed::kThrow};
  const std::uint64_t dice = Below(20'000);
  if (dice < 4) return {Deed::kThrow};
  if (dice < 6) return {Deed::kThrowOddly};
  if (dice < 8) return {Deed::kStop};
  if (dice < 10) return {Deed::kStopNormally};
  if (dice < 12) return {Deed::kKillItself};
  if (dice < 18) return {Deed::kBlock, UpTo(2'000)};
  if (dice < 60) return {Deed::kSleep, UpTo(1'000)};
  if (dice < 120) return {Deed::kAsk};
  return {};
}

Errand Driver::RequestErrand() {
  const std::uint64_t dice = Below(2'000);
  if (dice < 2) return {Deed::kThrow};
  if (dice < 4) return {Deed::kAnswerAndStop};
  if (dice < 6) return {Deed::kStop};
  if (dice < 7) return {Deed::kKillItself};
  if (dice < 10) return {Deed::kBlock, UpTo(2'000)};
  if (dice < 60) return {Deed::kSleep, UpTo(3'000)};  // often answers too late
  if (dice < 200) return {Deed::kFailAnswer};
  if (dice < 400) return {Deed::kDefer};
  if (dice < 500) return {Deed::kAsk};
  return {};
}

std::chrono::microseconds Driver::CallTimeout() {
  switch (Below(4)) {
    case 0:
      return std::chrono::microseconds(1) + UpTo(1'000);
    case 1:
      return std::chrono::milliseconds(5);
    default:
      return std::chrono::milliseconds(200);
  }
}

void Driver::SendSome(gen::Messenger& messenger) {
  const Destination& to = destinations_[Below(destinations_.size())];
  const bool by_name = !to.name.empty() && Below(4) == 0;
  const IncarnationPtr holder = by_name ? nullptr : to.post->Holder();
  if (!by_name && holder == nullptr) return;
  const gen::Target target = by_name ? gen::Target(to.name) : gen::Target(holder->pid);
  for (std::uint64_t left = 1 + Below(kBurst); left > 0 && book_.HasRoom(); --left) {
    if (!SendParcel(messenger, book_, target, holder, MessageErrand())) return;
  }
}

void Driver::CallOnce(gen::Messenger& messenger) {
  const Destination& to = destinations_[Below(destinations_.size())];
  if (const IncarnationPtr holder = to.post->Holder()) {
    (void)Ask(stage_, messenger, book_, holder->pid, holder, RequestErrand(), CallTimeout());
  }
}

void Driver::Delay(gen::Messenger& messenger) {
  const Destination& to = destinations_[Below(destinations_.size())];
  const IncarnationPtr holder = to.post->Holder();
  if (holder == nullptr) return;
  auto handle = messenger.SendAfter(
      holder->pid, Parcel{book_.Issue(Kind::kDelayed, holder), MessageErrand()}, UpTo(20'000));
  if (!handle) {
    book_.Refused(Kind::kDelayed);
    return;
  }
  book_.Accepted(Kind::kDelayed, holder.get());
  timers_.push_back({std::move(*handle), holder});
  if (timers_.size() > kTimers) timers_.pop_front();
}

void Driver::CancelOne() {
  if (timers_.empty()) return;
  const Timer timer = std::move(timers_.front());
  timers_.pop_front();
  if (timer.handle.Cancel()) book_.Cancelled(timer.incarnation.get());
}

}  // namespace ergon::soak
