#include <cluster/chaos/receivers.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/gen/notices.h>
#include <ergon/testkit/random.h>

#include <cluster/chaos/messages.h>

namespace ergon::chaos {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

constexpr int kTightMailbox = 20;

// In either form; null: it is something else.
const Ask* AskIn(gen::Message& request) {
  if (const auto* packed = request.As<PackedAsk>()) return packed;
  return request.As<Ask>();
}

class Sink : public act::Actor {
 public:
  explicit Sink(Stage* stage) : stage_(*stage) {}

 private:
  struct Reception {
    gen::Ref ref;
    int last = 0;
  };

  gen::Status Init(const gen::Args&) override {
    SetTrapExit(true);  // others link themselves with it
    if (!JoinGroup(kGroup)) return gen::Stop(gen::Reason::Error("no group"));
    return gen::Continue();
  }

  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (const auto* note = message.As<Note>()) {
      stage_.ledger.Note("got {} {}", note->session, note->number);
      if (const auto found = receptions_.find(note->session); found != receptions_.end()) {
        found->second.last = note->number;
      }
      return gen::Continue();
    }
    if (const auto* down = message.As<gen::MessageDownPID>()) {
      for (auto at = receptions_.begin(); at != receptions_.end(); ++at) {
        if (at->second.ref != down->ref) continue;
        stage_.ledger.Note("lost {}", at->first);
        receptions_.erase(at);
        break;
      }
      return gen::Continue();
    }
    if (message.Is<gen::MessageExitPID>()) return gen::Continue();
    return Actor::HandleMessage(from, message);
  }

  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (const auto* open = request.As<Open>()) {
      stage_.ledger.Note("opened {}", open->session);
      receptions_[open->session] = {Monitor(from).value()};
      return gen::Reply(Self());
    }
    if (const auto* close = request.As<Close>()) {
      const auto found = receptions_.find(close->session);
      if (found == receptions_.end()) return gen::Reply(std::int64_t{0});
      const std::int64_t last = found->second.last;
      (void)Demonitor(found->second.ref);
      receptions_.erase(found);
      stage_.ledger.Note("ended {}", close->session);
      return gen::Reply(last);
    }
    if (const auto* ask = AskIn(request)) {
      stage_.ledger.Note("asked {} {}", ask->caller, ask->number);
      return gen::Reply(std::int64_t{ask->number});
    }
    if (request.Is<gen::Atom>()) return gen::Reply(Self());
    return Actor::HandleCall(from, ref, request);
  }

  Stage& stage_;
  std::map<std::string, Reception> receptions_;  // by session
};

class Tight : public act::Actor {
 public:
  explicit Tight(Stage* stage) : stage_(*stage) {}

 private:
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const auto* note = message.As<Note>();
    if (note == nullptr) return Actor::HandleMessage(from, message);
    stage_.ledger.Note("got {} {}", note->session, note->number);
    Sleep(1ms);
    return gen::Continue();
  }
  Stage& stage_;
};

class AnsweringWorker : public act::Actor {
 public:
  explicit AnsweringWorker(Stage* stage) : stage_(*stage) {}

 private:
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    const auto* ask = AskIn(request);
    if (ask == nullptr) return Actor::HandleCall(from, ref, request);
    stage_.ledger.Note("asked {} {}", ask->caller, ask->number);
    if (ask->number % 16 == 0) Sleep(2ms);
    return gen::Reply(std::int64_t{ask->number});
  }
  Stage& stage_;
};

class AnsweringPool : public act::Pool {
 public:
  explicit AnsweringPool(Stage* stage) : stage_(stage) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 4,
                            .worker_factory = gen::Factory<AnsweringWorker>(stage_)};
  }
  Stage* const stage_;
};

struct Publish {};  // does not leave this node

// Publishes numbers, one after the other or many at once.
class Publisher : public act::Actor {
 public:
  explicit Publisher(Stage* stage) : stage_(*stage), random_(stage->seed) {}

 private:
  gen::Status Init(const gen::Args&) override {
    token_ = RegisterEvent(kBeats, {.buffer = 3}).value();
    return Next();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (!message.Is<Publish>()) return Actor::HandleMessage(from, message);
    if (stage_.stopping) return gen::Continue();
    const auto count = random_.Below(16) == 0 ? 100 : 1;
    for (int i = 0; i < count; ++i) {
      if (!SendEvent(kBeats, token_, Beat{++number_})) {
        return gen::Stop(gen::Reason::Error("its own event is gone"));
      }
    }
    return Next();
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (request.Is<gen::Atom>()) return gen::Reply(std::int64_t{number_});
    return Actor::HandleCall(from, ref, request);
  }
  gen::Status Next() {
    (void)SendAfter(Self(), Publish{}, std::chrono::milliseconds(1 + random_.Below(4)));
    return gen::Continue();
  }

  Stage& stage_;
  testkit::Random random_;
  gen::Ref token_;
  int number_ = 0;
};

}  // namespace

void StartReceivers(gen::Node& node, Stage& stage) {
  node.SpawnRegister(kTight, gen::Factory<Tight>(&stage), {.mailbox_size = kTightMailbox}).value();
  node.SpawnRegister(kPool, gen::Factory<AnsweringPool>(&stage)).value();
  node.SpawnRegister(kPublisher, gen::Factory<Publisher>(&stage)).value();
  node.SpawnRegister(kSink, gen::Factory<Sink>(&stage)).value();
}

void StopReceivers(gen::Node& node) {
  for (const char* name : {kSink, kPublisher, kTight, kPool})
    (void)node.StopProcess(name, kit::kDeadline);
}

}  // namespace ergon::chaos
