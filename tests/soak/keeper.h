// Keeps one post filled: starts its holder again whenever that has ended.
#pragma once

#include <cstdint>
#include <random>

#include <ergon/act/actor.h>

#include <soak/messages.h>
#include <soak/stage.h>

namespace ergon::soak {

// What a keeper keeps.
struct Ward {
  gen::ProcessFactory factory;
  gen::ProcessOptions options = {};
  gen::Atom name = {};  // registered anew by each incarnation
  bool pool = false;
  bool ordered = false;  // see Incarnation
};

class Keeper : public act::Actor {
 public:
  // `keeps` and `book` outlive the process.
  Keeper(Stage* stage, const Ward* keeps, Post* post, Book* book, std::uint64_t seed);

 private:
  gen::Status Init(const gen::Args& args) override;
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override;
  void Terminate(const gen::Reason& reason) override;

  void StartWard();
  void WardEnded(gen::PID pid);

  Stage& stage_;
  const Ward& ward_;
  Post& post_;
  Book& book_;
  std::mt19937_64 random_;
  gen::PID pid_;
};

}  // namespace ergon::soak
