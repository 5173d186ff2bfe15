#include <soak/keeper.h>

#include <chrono>
#include <memory>

namespace ergon::soak {

Keeper::Keeper(Stage* stage, const Ward* keeps, Post* post, Book* book, std::uint64_t seed)
    : stage_(*stage), ward_(*keeps), post_(*post), book_(*book), random_(seed) {}

gen::Status Keeper::Init(const gen::Args&) {
  SetTrapExit(true);
  StartWard();
  return gen::Continue();
}

gen::Status Keeper::HandleMessage(gen::PID from, gen::Message& message) {
  if (auto* retry = message.As<Tick>()) {
    retry->ticket.Start();
    if (!pid_) StartWard();
  } else if (const auto* exit = message.As<gen::MessageExitPID>()) {
    WardEnded(exit->pid);
  } else if (const auto* down = message.As<gen::MessageDownPID>()) {
    WardEnded(down->pid);
  } else {
    return Actor::HandleMessage(from, message);
  }
  return gen::Continue();
}

void Keeper::Terminate(const gen::Reason&) {
  post_.Fill(nullptr);
  // One that is only monitored would stay.
  if (pid_) (void)SendExit(pid_, gen::Reason::Shutdown());
}

void Keeper::StartWard() {
  gen::ProcessOptions options = ward_.options;
  // Two ways to learn of its end.
  options.link_child = random_() % 2 == 0;
  auto pid = ward_.name.empty() ? Spawn(ward_.factory, options)
                                : SpawnRegister(ward_.name, ward_.factory, options);
  if (!pid) {
    stage_.failed_restarts.fetch_add(1);
    auto retry = SendAfter(Self(), Tick{book_.Issue(Kind::kDelayed)}, std::chrono::milliseconds(1));
    if (retry) {
      book_.Accepted(Kind::kDelayed, nullptr);
    } else {
      book_.Refused(Kind::kDelayed);
    }
    return;
  }
  pid_ = *pid;
  if (!options.link_child) (void)Monitor(pid_);
  post_.Fill(std::make_shared<Incarnation>(pid_, ward_.ordered));
}

void Keeper::WardEnded(gen::PID pid) {
  if (pid != pid_) {
    stage_.stray_notices.fetch_add(1);
    return;
  }
  pid_ = gen::PID();
  post_.Fill(nullptr);
  stage_.restarts.fetch_add(1);
  StartWard();
}

}  // namespace ergon::soak
