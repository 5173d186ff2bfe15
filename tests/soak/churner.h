// A process whose children, links, monitors, names, aliases and events come and go.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <ergon/act/actor.h>

#include <soak/labourer.h>
#include <soak/stage.h>

namespace ergon::soak {

class Churner : public act::Actor {
 public:
  // `number` tells its names from those of others.
  Churner(Stage* stage, Book* book, Helpers helpers, int number, std::uint64_t seed);

 private:
  gen::Status Init(const gen::Args& args) override;
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override;

  // A short-lived child. It is forgotten when it turns out to have ended.
  struct Fly {
    gen::PID pid;
    gen::Atom name = {};
    gen::Alias alias = {};
  };

  std::uint64_t Below(std::uint64_t limit) { return random_() % limit; }
  [[nodiscard]] bool IsAlive(const Fly& fly) const;
  [[nodiscard]] gen::Target AnyAddress(const Fly& fly);

  void ActOnce();
  void SpawnFly();
  void Write(Fly& fly);
  void AskFly(Fly& fly);
  void Relate(const Fly& fly);
  void Unrelate(const Fly& fly);
  void Rename(Fly& fly);
  void Publish();
  void EndFly(const Fly& fly);

  void LinkEnded(gen::PID pid);
  void MonitorFired(gen::Ref ref);

  Stage& stage_;
  Book& book_;
  const Helpers helpers_;
  const int number_;
  std::mt19937_64 random_;
  gen::Atom event_;
  gen::Ref event_token_;
  bool stopping_ = false;
  std::vector<Fly> flies_;
  std::vector<gen::PID> links_;     // that will end, with one signal each
  std::vector<gen::Ref> monitors_;  // that will fire, once each
};

}  // namespace ergon::soak
