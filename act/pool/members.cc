#include <ergon/act/pool/members.h>

namespace ergon::act {

PoolMember& PoolMembers::AddReady(gen::PID worker, std::int64_t now) {
  const std::uint64_t number = next_number_++;
  PoolMember& member = members_[number];
  member.number = number;
  member.worker = worker;
  member.entry = worker.id;
  member.ready_at = now;
  numbers_[worker.id] = number;
  Count(member);
  return member;
}

PoolMember& PoolMembers::AddVacant() {
  const std::uint64_t number = next_number_++;
  PoolMember& member = members_[number];
  member.number = number;
  member.state = MemberState::kVacant;
  Count(member);
  return member;
}

PoolMember* PoolMembers::FindNumber(std::uint64_t number) {
  auto found = members_.find(number);
  return found == members_.end() ? nullptr : &found->second;
}

PoolMember* PoolMembers::FindWorker(gen::PID worker) {
  if (!worker) return nullptr;
  auto found = numbers_.find(worker.id);
  if (found == numbers_.end()) return nullptr;
  PoolMember* member = FindNumber(found->second);
  return member != nullptr && member->worker == worker ? member : nullptr;
}

bool PoolMembers::IsOnlyStaying(gen::PID worker) {
  const PoolMember* member = counts_.staying == 1 ? FindWorker(worker) : nullptr;
  return member != nullptr && !member->leaving;
}

PoolMember* PoolMembers::FindEntry(std::uint64_t entry) {
  auto found = numbers_.find(entry);
  if (found == numbers_.end()) return nullptr;
  PoolMember* member = FindNumber(found->second);
  return member != nullptr && member->entry == entry ? member : nullptr;
}

void PoolMembers::Spawned(PoolMember& member, gen::PID worker) {
  Uncount(member);
  member.state = MemberState::kStarting;
  member.worker = worker;
  member.drains = false;
  member.handled_seen = 0;
  member.expired_seen = 0;
  member.handled_before = 0;
  numbers_[worker.id] = member.number;
  Count(member);
}

void PoolMembers::Started(PoolMember& member, std::int64_t now) {
  Uncount(member);
  member.state = MemberState::kReady;
  member.ready_at = now;
  numbers_.erase(member.entry);
  member.entry = member.worker.id;
  numbers_[member.entry] = member.number;
  Count(member);
}

void PoolMembers::Ended(PoolMember& member) {
  Uncount(member);
  if (member.worker.id != member.entry) numbers_.erase(member.worker.id);
  member.state = MemberState::kVacant;
  member.worker = gen::PID();
  Count(member);
}

void PoolMembers::Leave(PoolMember& member) {
  Uncount(member);
  member.leaving = true;
  Count(member);
}

void PoolMembers::Erase(PoolMember& member) {
  Uncount(member);
  numbers_.erase(member.worker.id);
  numbers_.erase(member.entry);
  members_.erase(member.number);
}

void PoolMembers::Count(const PoolMember& member) {
  if (!member.leaving) ++counts_.staying;
  if (!member.leaving && member.state == MemberState::kReady) ++counts_.ready;
  if (member.worker) ++counts_.alive;
}

void PoolMembers::Uncount(const PoolMember& member) {
  if (!member.leaving) --counts_.staying;
  if (!member.leaving && member.state == MemberState::kReady) --counts_.ready;
  if (member.worker) --counts_.alive;
}

}  // namespace ergon::act
