#include <soak/churner.h>

#include <algorithm>

#include <fmt/format.h>

#include <soak/caller.h>
#include <soak/sender.h>

namespace ergon::soak {
namespace {

constexpr std::size_t kFlies = 16;
constexpr std::size_t kRelations = 64;  // that may be open at once

template <class T>
bool TakeOut(std::vector<T>& values, const T& value) {
  const auto found = std::find(values.begin(), values.end(), value);
  if (found == values.end()) return false;
  values.erase(found);
  return true;
}

}  // namespace

Churner::Churner(Stage* stage, Book* book, Helpers helpers, int number, std::uint64_t seed)
    : stage_(*stage),
      book_(*book),
      helpers_(helpers),
      number_(number),
      random_(seed),
      event_(fmt::format("soak.event.{}", number)) {}

gen::Status Churner::Init(const gen::Args&) {
  SetTrapExit(true);
  SendTick(book_, Host(), true);
  return gen::Continue();
}

gen::Status Churner::HandleMessage(gen::PID from, gen::Message& message) {
  if (const auto* exit = message.As<gen::MessageExitPID>()) {
    LinkEnded(exit->pid);
  } else if (const auto* down = message.As<gen::MessageDownPID>()) {
    MonitorFired(down->ref);
  } else if (const auto* name_down = message.As<gen::MessageDownProcessID>()) {
    MonitorFired(name_down->ref);
  } else if (const auto* alias_down = message.As<gen::MessageDownAlias>()) {
    MonitorFired(alias_down->ref);
  } else if (auto* tick = message.As<Tick>()) {
    tick->ticket.Start();
    if (!stage_.stopping.load()) {
      if (book_.HasRoom()) ActOnce();
      SendTick(book_, Host(), true);
      return gen::Continue();
    }
    stopping_ = true;
    for (const Fly& fly : flies_) (void)Node().Kill(fly.pid);
  } else {
    return Actor::HandleMessage(from, message);
  }
  // It ends when it has been told of the end of everything that it was to be told of.
  if (stopping_ && links_.empty() && monitors_.empty()) return gen::Stop(gen::Reason::Normal());
  return gen::Continue();
}

bool Churner::IsAlive(const Fly& fly) const { return Node().ProcessInfo(fly.pid).has_value(); }

gen::Target Churner::AnyAddress(const Fly& fly) {
  const std::uint64_t dice = Below(3);
  if (dice == 1 && !fly.name.empty()) return fly.name;
  if (dice == 2 && fly.alias) return fly.alias;
  return fly.pid;
}

void Churner::ActOnce() {
  std::erase_if(flies_, [this](const Fly& fly) { return !IsAlive(fly); });
  if (flies_.size() < kFlies / 4 || (flies_.size() < kFlies && Below(8) == 0)) SpawnFly();
  if (flies_.empty()) return;
  for (int i = 0; i < 4; ++i) {
    Fly& fly = flies_[Below(flies_.size())];
    const std::uint64_t dice = Below(100);
    if (dice < 30) {
      Write(fly);
    } else if (dice < 45) {
      AskFly(fly);
    } else if (dice < 60) {
      Relate(fly);
    } else if (dice < 75) {
      Unrelate(fly);
    } else if (dice < 80) {
      Rename(fly);
    } else if (dice < 94) {
      Publish();
    } else {
      EndFly(fly);
    }
  }
}

void Churner::SpawnFly() {
  gen::ProcessOptions options;
  options.link_parent = Below(2) == 0;
  options.detached = Below(32) == 0 && helpers_.may_detach;
  const auto factory = gen::Factory<Labourer>(
      &stage_, helpers_, LabourerOptions{.may_fail_to_start = false, .may_defer = true});
  gen::Atom name;
  if (Below(2) == 0) name = fmt::format("soak.fly.{}.{}", number_, Below(kFlies));
  auto pid = name.empty() ? Spawn(factory, options) : SpawnRegister(name, factory, options);
  if (!pid) {
    if (pid.error() == gen::ErrTaken) stage_.Note(Fault::kNameTaken);
    return;
  }
  if (options.link_parent) {
    links_.push_back(*pid);
    stage_.relations_made.fetch_add(1);
  }
  flies_.push_back({*pid, name});
}

void Churner::Write(Fly& fly) {
  Errand errand;
  const std::uint64_t dice = Below(100);
  if (dice < 10) errand = {Deed::kSubscribe, {}, event_};
  if (dice == 10) errand = {Deed::kThrow};
  if (dice == 11) errand = {Deed::kStop};
  if (dice == 12) errand = {Deed::kStopNormally};
  if (dice == 13) errand = {Deed::kSleep, std::chrono::microseconds(Below(1'000))};
  if (dice > 90) errand = {Deed::kDropAlias};
  (void)SendParcel(Host(), book_, AnyAddress(fly), nullptr, errand);
}

void Churner::AskFly(Fly& fly) {
  const Errand errand{Below(2) == 0 ? Deed::kMakeAlias : Deed::kDefer};
  const auto timeout = std::chrono::microseconds(1 + Below(2'000));
  auto answer = Ask(stage_, Host(), book_, AnyAddress(fly), nullptr, errand, timeout);
  if (answer && answer->alias) fly.alias = answer->alias;
}

void Churner::Relate(const Fly& fly) {
  if (links_.size() + monitors_.size() >= kRelations) return;
  if (Below(3) == 0) {
    // Twice is one link.
    if (std::find(links_.begin(), links_.end(), fly.pid) != links_.end()) return;
    if (!Link(fly.pid)) return;
    links_.push_back(fly.pid);
  } else {
    auto ref = Monitor(AnyAddress(fly));
    if (!ref) return;
    monitors_.push_back(*ref);
  }
  stage_.relations_made.fetch_add(1);
}

void Churner::Unrelate(const Fly& fly) {
  if (Below(2) == 0) {
    // After it no signal comes, even if one was on its way: it counts as undone.
    if (TakeOut(links_, fly.pid)) {
      (void)Unlink(fly.pid);
      stage_.relations_undone.fetch_add(1);
    }
  } else if (!monitors_.empty()) {
    const gen::Ref ref = monitors_[Below(monitors_.size())];
    if (Demonitor(ref)) {
      TakeOut(monitors_, ref);
      stage_.relations_undone.fetch_add(1);
    }
  }
}

void Churner::Rename(Fly& fly) {
  if (!fly.name.empty()) {
    // It may have gone to another one, which gives it up then.
    (void)Node().UnregisterName(fly.name);
    fly.name = {};
    return;
  }
  const gen::Atom name(fmt::format("soak.fly.{}.{}", number_, Below(kFlies)));
  auto registered = Node().RegisterName(name, fly.pid);
  if (registered) {
    fly.name = name;
  } else if (registered.error() == gen::ErrTaken) {
    stage_.Note(Fault::kNameTaken);
  }
}

void Churner::Publish() {
  if (!event_token_) {
    if (auto token = RegisterEvent(event_)) event_token_ = *token;
  } else if (Below(10) == 0) {
    (void)UnregisterEvent(event_);
    event_token_ = {};
  } else if (auto sent = SendEvent(event_, event_token_, News{})) {
    stage_.news_sent.fetch_add(*sent);
  }
}

void Churner::EndFly(const Fly& fly) {
  if (Below(2) == 0) {
    (void)Node().Kill(fly.pid);
  } else {
    // From its parent: it ends whatever the reason.
    (void)SendExit(fly.pid, gen::Reason::Shutdown());
  }
}

void Churner::LinkEnded(gen::PID pid) {
  if (TakeOut(links_, pid)) {
    stage_.notices.fetch_add(1);
  } else {
    stage_.stray_notices.fetch_add(1);
  }
}

void Churner::MonitorFired(gen::Ref ref) {
  if (TakeOut(monitors_, ref)) {
    stage_.notices.fetch_add(1);
  } else {
    stage_.stray_notices.fetch_add(1);
  }
}

}  // namespace ergon::soak
