#include <ergon/node/cluster/exports/remote_places.h>

#include <algorithm>
#include <utility>

namespace ergon::dist {

bool RemotePlaces::TakePlace() {
  std::lock_guard lock(mutex_);
  const std::size_t most = most_.Now();
  if (places_ + behaviors_.size() >= most) ForgetEnded();
  if (places_ + behaviors_.size() < most) {
    ++places_;
    was_full_ = false;
    return true;
  }
  if (std::exchange(was_full_, true)) return false;
  if (const auto more = full_lines_.Take()) {
    gen::Log(log_).Warning(
        "network: {} processes of other nodes run here, no more are started "
        "(max_remote_processes){}",
        most, *more);
  }
  return false;
}

void RemotePlaces::ForgetEnded() {
  constexpr std::size_t kLooks = 1024;
  for (std::size_t left = std::min(kLooks, behaviors_.size()); left != 0; --left) {
    if (next_look_ >= behaviors_.size()) next_look_ = 0;
    if (addresses_.Find(behaviors_[next_look_]) != nullptr) {
      ++next_look_;
    } else {
      behaviors_[next_look_] = behaviors_.back();
      behaviors_.pop_back();
    }
  }
}

void RemotePlaces::Return(std::uint64_t number) {
  std::lock_guard lock(mutex_);
  --places_;
  calls_.erase(number);
}

void RemotePlaces::NoteBehavior(gen::PID pid, bool had_place) {
  std::lock_guard lock(mutex_);
  behaviors_.push_back(pid);
  if (had_place) --places_;
}

void RemotePlaces::NoteCall(std::uint64_t number, gen::PID pid) {
  std::lock_guard lock(mutex_);
  calls_[number] = pid;
}

gen::PID RemotePlaces::FindCall(std::uint64_t number) {
  std::lock_guard lock(mutex_);
  const auto found = calls_.find(number);
  return found == calls_.end() ? gen::PID() : found->second;
}

}  // namespace ergon::dist
