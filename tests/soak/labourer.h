// The process that does what messages say: worker of pools, target of its own, or short-lived.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include <ergon/act/actor.h>

#include <soak/messages.h>
#include <soak/stage.h>

namespace ergon::soak {

// What those who work need, and those who have work for them.
struct Helpers {
  Book* book = nullptr;         // that all handlers share
  const Post* clerk = nullptr;  // whom they may call while they work
  bool may_detach = true;       // short-lived ones may get a thread of their own
};

struct LabourerOptions {
  // Spawns may be made to fail; see Stage. Not those of short-lived ones.
  bool may_fail_to_start = true;
  // Requests may be answered later, when the next message comes. Not in pools: a worker that ends
  // with such a question has handled it as far as its pool is concerned.
  bool may_defer = true;
};

class Labourer : public act::Actor {
 public:
  // Throws if Stage::factories_to_fail says so: then there is no process.
  Labourer(Stage* stage, Helpers helpers, LabourerOptions options);

 protected:
  gen::Status Init(const gen::Args& args) override;
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override;
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override;
  gen::Status HandleEvent(const gen::MessageEvent& event) override;

 private:
  // Throws, or says how to go on.
  gen::Status Do(const Errand& errand, const Ticket& ticket);
  void AskClerk();
  void AnswerDeferred();

  struct Deferred {
    gen::PID from;
    gen::Ref ref;
    std::uint64_t sequence = 0;
  };

  Stage& stage_;
  const Helpers helpers_;
  const LabourerOptions options_;
  std::deque<Deferred> deferred_;
  std::vector<gen::Alias> aliases_;
};

}  // namespace ergon::soak
