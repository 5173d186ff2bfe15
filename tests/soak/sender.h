// A process that drives traffic until the stage tells it to stop, and then ends.
#pragma once

#include <cstdint>
#include <vector>

#include <ergon/act/actor.h>

#include <soak/driver.h>

namespace ergon::soak {

// Sends itself a Tick, or one that comes later. What every driving process goes on with.
void SendTick(Book& book, gen::Process& self, bool at_once);

class Sender : public act::Actor {
 public:
  Sender(Stage* stage, Book* book, const std::vector<Destination>* destinations,
         std::uint64_t seed);

 private:
  gen::Status Init(const gen::Args& args) override;
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override;

  Stage& stage_;
  Book& book_;
  Driver driver_;
};

}  // namespace ergon::soak
