// Breaks things at random from outside, until the stage tells it to stop.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include <ergon/gen/node.h>

#include <soak/stage.h>

namespace ergon::soak {

struct Victim {
  const Post* post = nullptr;
  bool pool = false;
};

class Saboteur {
 public:
  Saboteur(Stage& stage, gen::Node& node, Book& book, std::vector<Victim> victims,
           std::uint64_t seed);

  // Returns when the stage is stopping.
  void Run();

 private:
  std::uint64_t Below(std::uint64_t limit) { return random_() % limit; }
  void ActOnce();
  void EndVictim();
  void KillWorker();
  void ResizePool(gen::PID pool);
  template <class T>
  void SendUrgent(gen::PID to, T message);

  Stage& stage_;
  gen::Node& node_;
  Book& book_;
  const std::vector<Victim> victims_;
  std::mt19937_64 random_;
};

}  // namespace ergon::soak
