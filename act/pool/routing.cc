#include <ergon/act/pool/routing.h>

#include <fmt/core.h>

namespace ergon::act {

PoolRouting::PoolRouting(const PoolOptions& options) : restarts_(options) {}

PoolRouting::Decision PoolRouting::WorkerEnded(gen::PID worker, std::uint64_t handled,
                                               std::int64_t now) {
  PoolSeat* seat = seats_.FindWorker(worker);
  if (seat == nullptr) return {};
  const bool was_ready = seat->state == SeatState::kReady;
  const std::int64_t lived = was_ready ? now - seat->ready_at : 0;
  if (!seat->leaving) seats_.Ended(*seat);
  if (seat->leaving || !replaces_ || (stopping_ && seats_.ready() > 0)) {
    seats_.Erase(*seat);
    return {};
  }
  return Replace(*seat, PoolRestarts::WasHealthy(handled, std::chrono::nanoseconds(lived)), now);
}

PoolRouting::Decision PoolRouting::SpawnFailed(std::uint64_t number, std::int64_t now) {
  PoolSeat* seat = seats_.FindNumber(number);
  if (seat == nullptr || seat->state != SeatState::kVacant) return {};
  return Replace(*seat, false, now);
}

PoolRouting::Decision PoolRouting::Replace(PoolSeat& seat, bool was_healthy, std::int64_t now) {
  if (restarts_.Exceeded(now)) return {Action::kGiveUp, seat.number, {}};
  const std::chrono::nanoseconds delay = restarts_.Delay(was_healthy, seat.failures);
  return {delay.count() == 0 ? Action::kReplace : Action::kReplaceAfter, seat.number, delay};
}

bool PoolRouting::IsVacant(std::uint64_t number) {
  const PoolSeat* seat = seats_.FindNumber(number);
  return seat != nullptr && seat->state == SeatState::kVacant;
}

bool PoolRouting::Spawned(std::uint64_t number, gen::PID worker) {
  if (!IsVacant(number)) return false;
  seats_.Spawned(*seats_.FindNumber(number), worker);
  return true;
}

PoolRouting::Entrance PoolRouting::WorkerStarted(gen::PID worker, std::int64_t now) {
  PoolSeat* seat = seats_.FindWorker(worker);
  if (seat == nullptr || seat->leaving || seat->state != SeatState::kStarting) return {};
  const std::uint64_t replaced = seat->entry;
  seats_.Started(*seat, now);
  return {replaced, seat->entry};
}

gen::Result<void> PoolRouting::CheckGrowth(int count) const {
  if (count < 1) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("AddWorkers: {} workers, at least 1 is needed", count));
  }
  const std::size_t room = kMaxPoolSize - seats_.members();
  if (static_cast<std::size_t>(count) > room) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("AddWorkers: {} workers, the pool has {} and may have {}", count,
                                  seats_.members(), kMaxPoolSize));
  }
  return {};
}

gen::Result<PoolRouting::Departure> PoolRouting::Shrink(int count,
                                                        const std::vector<std::uint64_t>& in_order,
                                                        bool drain) {
  const std::size_t size = seats_.members();
  if (count < 1) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("RemoveWorkers: {} workers, at least 1 is needed", count));
  }
  if (static_cast<std::size_t>(count) > size) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("RemoveWorkers: {} workers, the pool has {}", count, size));
  }
  if (static_cast<std::size_t>(count) == size) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("RemoveWorkers: {} workers are all that the pool has, one has to "
                                  "stay to do the work",
                                  count));
  }
  Departure departure;
  int left = count;
  for (const std::uint64_t entry : in_order) {
    PoolSeat* seat = left > 0 ? seats_.FindEntry(entry) : nullptr;
    if (seat == nullptr) {
      departure.remaining.push_back(entry);
      continue;
    }
    --left;
    if (!seat->worker) {
      seats_.Erase(*seat);
      continue;
    }
    departure.workers.push_back(seat->worker);
    seat->drains = seat->taken_out = drain;
    seats_.Leave(*seat);
  }
  return departure;
}

// -- the end

PoolRouting::Remnant PoolRouting::BeginStop() {
  stopping_ = true;
  Remnant remnant;
  if (seats_.ready() > 0) EraseVacant();
  for (auto& [number, seat] : seats_.all()) {
    if (seat.state == SeatState::kVacant) {
      remnant.vacant.push_back(number);
    } else if (seat.state == SeatState::kStarting && !seat.leaving && seats_.ready() > 0) {
      seat.drains = seat.dismissed = true;
      seats_.Leave(seat);
      remnant.leaving.push_back(seat.worker);
    }
  }
  return remnant;
}

PoolRouting::Decision PoolRouting::AddWorker(std::int64_t now) {
  if (!replaces_) return {};
  return Replace(seats_.AddVacant(), true, now);
}

std::vector<gen::PID> PoolRouting::Dismiss() {
  EraseVacant();
  std::vector<gen::PID> workers;
  for (auto& [number, seat] : seats_.all()) {
    if (seat.leaving) continue;
    seat.drains = seat.dismissed = true;
    seats_.Leave(seat);
    workers.push_back(seat.worker);
  }
  return workers;
}

void PoolRouting::StopReplacing() {
  stopping_ = true;
  replaces_ = false;
  EraseVacant();
}

void PoolRouting::EraseVacant() {
  std::vector<std::uint64_t> vacant;
  for (const auto& [number, seat] : seats_.all()) {
    if (seat.state == SeatState::kVacant) vacant.push_back(number);
  }
  for (const std::uint64_t number : vacant) seats_.Erase(*seats_.FindNumber(number));
}

}  // namespace ergon::act
