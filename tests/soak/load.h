// Everything that runs at once: pools and targets with their keepers, and those who drive them.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ergon/act/pool_options.h>
#include <ergon/gen/node.h>

#include <soak/driver.h>
#include <soak/keeper.h>
#include <soak/labourer.h>
#include <soak/laws.h>
#include <soak/saboteur.h>
#include <soak/stage.h>
#include <soak/verdict.h>

namespace ergon::soak {

// May be started again after Stop: rounds of one test. Outlives nothing: stage and node outlive it.
class Load {
 public:
  // `detached`: some processes have threads of their own.
  Load(Stage& stage, gen::Node& node, std::uint64_t seed, bool detached);
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load();

  void Start();
  // Stops the traffic, waits until everything is at rest, checks all laws, and ends all processes.
  void Stop(Verdict& verdict);

  // Of the pools that were alive at the end of the rounds.
  [[nodiscard]] const PoolLosses& losses() const { return losses_; }

 private:
  // A post and how it is kept.
  struct Place {
    Place(std::string name, Ward keeps, Book* keepers_book)
        : title(std::move(name)), ward(std::move(keeps)), book(keepers_book) {}

    const std::string title;
    Ward ward;
    Post post;
    Book* const book;
  };

  void AddPool(const std::string& title, act::PoolOptions options);
  void AddTarget(const std::string& title, const gen::ProcessOptions& options, bool ordered);
  [[nodiscard]] Place& AddPlace(const std::string& title, Ward ward);
  [[nodiscard]] std::uint64_t NextSeed() { return ++seed_ * 0x9e3779b97f4a7c15u; }
  void StartThreads();
  void JoinThreads();
  void CheckAtRest(Verdict& verdict);

  Stage& stage_;
  gen::Node& node_;
  std::uint64_t seed_;
  std::deque<Place> places_;  // that never move
  std::vector<Destination> destinations_;
  Helpers helpers_;
  std::vector<Book*> sender_books_;
  std::vector<Book*> thread_books_;
  std::vector<Book*> churner_books_;
  Book& saboteur_book_;
  std::vector<gen::PID> drivers_;
  std::vector<gen::PID> keepers_;
  std::vector<std::thread> threads_;
  PoolLosses losses_;
};

}  // namespace ergon::soak
