#include <soak/saboteur.h>

#include <chrono>
#include <thread>
#include <utility>

#include <soak/messages.h>

namespace ergon::soak {

Saboteur::Saboteur(Stage& stage, gen::Node& node, Book& book, std::vector<Victim> victims,
                   std::uint64_t seed)
    : stage_(stage), node_(node), book_(book), victims_(std::move(victims)), random_(seed) {}

void Saboteur::Run() {
  while (!stage_.stopping.load()) {
    // Not for something to happen: it must not break more than can be repaired.
    std::this_thread::sleep_for(std::chrono::microseconds(500 + Below(4'000)));
    ActOnce();
  }
}

void Saboteur::ActOnce() {
  const std::uint64_t dice = Below(100);
  if (dice < 8) {
    EndVictim();
  } else if (dice < 20) {
    stage_.factories_to_fail.store(static_cast<int>(1 + Below(3)));
  } else if (dice < 32) {
    stage_.inits_to_fail.store(static_cast<int>(1 + Below(3)));
  } else if (dice < 60) {
    KillWorker();
  } else {
    const Victim& victim = victims_[Below(victims_.size())];
    const IncarnationPtr holder = victim.post->Holder();
    if (victim.pool && holder != nullptr && !holder->ordered) ResizePool(holder->pid);
  }
}

void Saboteur::EndVictim() {
  const Victim& victim = victims_[Below(victims_.size())];
  const IncarnationPtr holder = victim.post->Holder();
  if (holder == nullptr) return;
  holder->ending.store(true);
  if (!victim.pool) {
    stage_.Note(Fault::kTargetKilled);
    (void)node_.Kill(holder->pid);
    return;
  }
  switch (Below(3)) {
    case 0:
      stage_.Note(Fault::kPoolKilled);
      (void)node_.Kill(holder->pid);
      break;
    case 1:
      stage_.Note(Fault::kPoolExited);
      (void)node_.SendExit(holder->pid, gen::Reason::Error("told to exit"));
      break;
    default:
      SendUrgent(holder->pid, EndPool{book_.Issue(Kind::kSend)});
  }
}

void Saboteur::KillWorker() {
  // Whoever has a pool as its parent.
  std::vector<gen::PID> pools;
  for (const Victim& victim : victims_) {
    if (!victim.pool) continue;
    if (const IncarnationPtr holder = victim.post->Holder()) pools.push_back(holder->pid);
  }
  if (pools.empty()) return;
  const gen::PID pool = pools[Below(pools.size())];
  const auto info = node_.ProcessInfo(pool);
  if (!info || info->links.empty()) return;
  const gen::PID worker = info->links[Below(info->links.size())];
  const auto worker_info = node_.ProcessInfo(worker);
  if (!worker_info || worker_info->parent != pool) return;
  stage_.Note(Fault::kWorkerKilled);
  (void)node_.Kill(worker);
}

void Saboteur::ResizePool(gen::PID pool) {
  const auto by = static_cast<int>(1 + Below(3));
  const bool grow = Below(2) == 0;
  SendUrgent(pool, Resize{book_.Issue(Kind::kSend), grow ? by : -by, Below(2) == 0});
}

template <class T>
void Saboteur::SendUrgent(gen::PID to, T message) {
  if (node_.SendWithPriority(to, std::move(message), gen::MessagePriority::kHigh)) {
    book_.Accepted(Kind::kSend, nullptr);
  } else {
    book_.Refused(Kind::kSend);
  }
}

}  // namespace ergon::soak
