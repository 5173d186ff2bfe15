#include <ergon/act/pool/replacement.h>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>

namespace ergon::act {

PoolReplacement::PoolReplacement(const PoolOptions& options) : restarts_(options) {}

PoolReplacement::Decision PoolReplacement::WorkerEnded(gen::PID worker, std::uint64_t handled,
                                                       std::int64_t now) {
  PoolMember* member = members_.FindWorker(worker);
  if (member == nullptr) return {};
  const bool was_ready = member->state == MemberState::kReady;
  const std::int64_t lived = was_ready ? now - member->ready_at : 0;
  if (!member->leaving) members_.Ended(*member);
  if (member->leaving || !replaces_ || (stopping_ && members_.ready() > 0)) {
    members_.Erase(*member);
    return {};
  }
  return Replace(*member, PoolRestarts::WasHealthy(handled, std::chrono::nanoseconds(lived)), now);
}

PoolReplacement::Decision PoolReplacement::SpawnFailed(std::uint64_t number, std::int64_t now) {
  PoolMember* member = members_.FindNumber(number);
  if (member == nullptr || member->state != MemberState::kVacant) return {};
  return Replace(*member, false, now);
}

PoolReplacement::Decision PoolReplacement::Replace(PoolMember& member, bool was_healthy,
                                                   std::int64_t now) {
  if (restarts_.Exceeded(now)) return {Action::kGiveUp, member.number, {}};
  const std::chrono::nanoseconds delay = restarts_.Delay(was_healthy, member.failures);
  return {delay.count() == 0 ? Action::kReplace : Action::kReplaceAfter, member.number, delay};
}

bool PoolReplacement::IsVacant(std::uint64_t number) {
  const PoolMember* member = members_.FindNumber(number);
  return member != nullptr && member->state == MemberState::kVacant;
}

bool PoolReplacement::Spawned(std::uint64_t number, gen::PID worker) {
  if (!IsVacant(number)) return false;
  members_.Spawned(*members_.FindNumber(number), worker);
  return true;
}

PoolReplacement::Entrance PoolReplacement::WorkerStarted(gen::PID worker, std::int64_t now) {
  PoolMember* member = members_.FindWorker(worker);
  if (member == nullptr || member->leaving || member->state != MemberState::kStarting) return {};
  const std::uint64_t replaced = member->entry;
  members_.Started(*member, now);
  return {replaced, member->entry};
}

gen::Result<void> PoolReplacement::CheckGrowth(int count) const {
  if (count < 1) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("AddWorkers: {} workers, at least 1 is needed", count));
  }
  const std::size_t room = kMaxPoolSize - members_.staying();
  if (static_cast<std::size_t>(count) > room) {
    return gen::Error(
        gen::ErrorCode::kIncorrect,
        fmt::format("AddWorkers: {}, the pool has {} and may have {}",
                    core::Counted(static_cast<std::uint64_t>(count), "worker", "workers"),
                    members_.staying(), kMaxPoolSize));
  }
  return {};
}

gen::Result<PoolReplacement::Departure> PoolReplacement::Shrink(
    int count, const std::vector<std::uint64_t>& in_order, bool drain) {
  const std::size_t size = members_.staying();
  const char* const function = drain ? "RemoveWorkers" : "RemoveWorkersNow";
  if (count < 1) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("{}: {} workers, at least 1 is needed", function, count));
  }
  if (static_cast<std::size_t>(count) > size) {
    return gen::Error(
        gen::ErrorCode::kIncorrect,
        fmt::format("{}: {}, the pool has {}", function,
                    core::Counted(static_cast<std::uint64_t>(count), "worker", "workers"), size));
  }
  if (static_cast<std::size_t>(count) == size) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      size == 1 ? fmt::format("{}: cannot take out the only worker", function)
                                : fmt::format("{}: cannot take out all {} workers, one has to stay",
                                              function, size));
  }
  Departure departure;
  int left = count;
  for (const std::uint64_t entry : in_order) {
    PoolMember* member = left > 0 ? members_.FindEntry(entry) : nullptr;
    if (member == nullptr) {
      departure.remaining.push_back(entry);
      continue;
    }
    --left;
    if (!member->worker) {
      members_.Erase(*member);
      continue;
    }
    departure.workers.push_back(member->worker);
    member->drains = member->taken_out = drain;
    members_.Leave(*member);
  }
  return departure;
}

// -- the end

PoolReplacement::StopSteps PoolReplacement::BeginStop() {
  stopping_ = true;
  StopSteps steps;
  if (members_.ready() > 0) EraseVacant();
  for (auto& [number, member] : members_.all()) {
    if (member.state == MemberState::kVacant) {
      steps.vacant.push_back(number);
    } else if (member.state == MemberState::kStarting && !member.leaving && members_.ready() > 0) {
      member.drains = member.dismissed = true;
      members_.Leave(member);
      steps.leaving.push_back(member.worker);
    }
  }
  return steps;
}

PoolReplacement::Decision PoolReplacement::AddWorker(std::int64_t now) {
  if (!replaces_) return {};
  return Replace(members_.AddVacant(), true, now);
}

std::vector<gen::PID> PoolReplacement::Dismiss() {
  EraseVacant();
  std::vector<gen::PID> workers;
  for (auto& [number, member] : members_.all()) {
    if (member.leaving) continue;
    member.drains = member.dismissed = true;
    members_.Leave(member);
    workers.push_back(member.worker);
  }
  return workers;
}

void PoolReplacement::StopReplacing() {
  stopping_ = true;
  replaces_ = false;
  EraseVacant();
}

void PoolReplacement::EraseVacant() {
  std::vector<std::uint64_t> vacant;
  for (const auto& [number, member] : members_.all()) {
    if (member.state == MemberState::kVacant) vacant.push_back(number);
  }
  for (const std::uint64_t number : vacant) members_.Erase(*members_.FindNumber(number));
}

}  // namespace ergon::act
