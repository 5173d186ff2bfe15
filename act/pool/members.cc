#include <ergon/act/pool/members.h>

namespace ergon::act {

PoolSeat& PoolSeats::AddReady(gen::PID worker, std::int64_t now) {
  const std::uint64_t number = next_number_++;
  PoolSeat& seat = seats_[number];
  seat.number = number;
  seat.worker = worker;
  seat.entry = worker.id;
  seat.ready_at = now;
  numbers_[worker.id] = number;
  Count(seat);
  return seat;
}

PoolSeat& PoolSeats::AddVacant() {
  const std::uint64_t number = next_number_++;
  PoolSeat& seat = seats_[number];
  seat.number = number;
  seat.state = SeatState::kVacant;
  Count(seat);
  return seat;
}

PoolSeat* PoolSeats::FindNumber(std::uint64_t number) {
  auto found = seats_.find(number);
  return found == seats_.end() ? nullptr : &found->second;
}

PoolSeat* PoolSeats::FindWorker(gen::PID worker) {
  if (!worker) return nullptr;
  auto found = numbers_.find(worker.id);
  if (found == numbers_.end()) return nullptr;
  PoolSeat* seat = FindNumber(found->second);
  return seat != nullptr && seat->worker == worker ? seat : nullptr;
}

PoolSeat* PoolSeats::FindEntry(std::uint64_t entry) {
  auto found = numbers_.find(entry);
  if (found == numbers_.end()) return nullptr;
  PoolSeat* seat = FindNumber(found->second);
  return seat != nullptr && seat->entry == entry ? seat : nullptr;
}

void PoolSeats::Spawned(PoolSeat& seat, gen::PID worker) {
  Uncount(seat);
  seat.state = SeatState::kStarting;
  seat.worker = worker;
  seat.drains = false;
  seat.handled_seen = 0;
  seat.expired_seen = 0;
  seat.handled_before = 0;
  numbers_[worker.id] = seat.number;
  Count(seat);
}

void PoolSeats::Started(PoolSeat& seat, std::int64_t now) {
  Uncount(seat);
  seat.state = SeatState::kReady;
  seat.ready_at = now;
  numbers_.erase(seat.entry);
  seat.entry = seat.worker.id;
  numbers_[seat.entry] = seat.number;
  Count(seat);
}

void PoolSeats::Ended(PoolSeat& seat) {
  Uncount(seat);
  if (seat.worker.id != seat.entry) numbers_.erase(seat.worker.id);
  seat.state = SeatState::kVacant;
  seat.worker = gen::PID();
  Count(seat);
}

void PoolSeats::Leave(PoolSeat& seat) {
  Uncount(seat);
  seat.leaving = true;
  Count(seat);
}

void PoolSeats::Erase(PoolSeat& seat) {
  Uncount(seat);
  numbers_.erase(seat.worker.id);
  numbers_.erase(seat.entry);
  seats_.erase(seat.number);
}

void PoolSeats::Count(const PoolSeat& seat) {
  if (!seat.leaving) ++counts_.members;
  if (!seat.leaving && seat.state == SeatState::kReady) ++counts_.ready;
  if (seat.worker) ++counts_.alive;
}

void PoolSeats::Uncount(const PoolSeat& seat) {
  if (!seat.leaving) --counts_.members;
  if (!seat.leaving && seat.state == SeatState::kReady) --counts_.ready;
  if (seat.worker) --counts_.alive;
}

}  // namespace ergon::act
