#include <soak/load.h>

#include <chrono>
#include <utility>

#include <soak/churner.h>
#include <soak/sender.h>
#include <soak/soak_pool.h>
#include <soak/waiting.h>

namespace ergon::soak {
namespace {

constexpr int kSenders = 4;
constexpr int kThreads = 2;
constexpr int kChurners = 2;

std::vector<Book*> OpenBooks(Ledger& ledger, int count) {
  std::vector<Book*> books;
  for (int i = 0; i < count; ++i) books.push_back(&ledger.Open());
  return books;
}

}  // namespace

Load::Load(Stage& stage, gen::Node& node, std::uint64_t seed, bool detached)
    : stage_(stage),
      node_(node),
      seed_(seed),
      sender_books_(OpenBooks(stage.ledger, kSenders)),
      thread_books_(OpenBooks(stage.ledger, kThreads)),
      churner_books_(OpenBooks(stage.ledger, kChurners)),
      saboteur_book_(stage.ledger.Open()) {
  helpers_.book = &stage.ledger.Open();
  helpers_.may_detach = detached;
  Place& clerk = AddPlace("clerk", {});
  helpers_.clerk = &clerk.post;
  clerk.ward.factory = gen::Factory<Labourer>(&stage_, helpers_, LabourerOptions{});

  AddPool("roomy", {.pool_size = 4});
  AddPool("tight", {.pool_size = 3, .worker_mailbox_size = 4});
  AddPool("detached", {.pool_size = 2, .worker_mailbox_size = 16, .worker_detached = detached});
  AddPool("single", {.pool_size = 1, .worker_mailbox_size = 8});
  AddTarget("plain", {}, true);
  AddTarget("bounded", {.mailbox_size = 8, .fallback = {.name = "soak.catcher", .tag = "full"}},
            true);
  AddTarget("detached", {.mailbox_size = 32, .detached = detached}, true);
  AddTarget("catcher", {.mailbox_size = 64}, false);
}

Load::~Load() { JoinThreads(); }

Load::Place& Load::AddPlace(const std::string& title, Ward ward) {
  return places_.emplace_back(title, std::move(ward), &stage_.ledger.Open());
}

void Load::AddPool(const std::string& title, act::PoolOptions options) {
  options.worker_factory =
      gen::Factory<Labourer>(&stage_, helpers_, LabourerOptions{.may_defer = false});
  options.restart_backoff_min = std::chrono::milliseconds(1);
  options.restart_backoff_max = std::chrono::milliseconds(20);
  options.shutdown_timeout = std::chrono::milliseconds(100);
  const bool ordered = options.pool_size == 1;
  Place& place = AddPlace(
      "pool " + title,
      {.factory = gen::Factory<SoakPool>(&stage_, options), .pool = true, .ordered = ordered});
  destinations_.push_back({&place.post, {}});
}

void Load::AddTarget(const std::string& title, const gen::ProcessOptions& options, bool ordered) {
  const gen::Atom name("soak." + title);
  Place& place =
      AddPlace(title, {.factory = gen::Factory<Labourer>(&stage_, helpers_, LabourerOptions{}),
                       .options = options,
                       .name = name,
                       .ordered = ordered});
  destinations_.push_back({&place.post, name});
}

void Load::Start() {
  stage_.stopping.store(false);
  for (Place& place : places_) {
    keepers_.push_back(
        node_.Spawn(gen::Factory<Keeper>(&stage_, &place.ward, &place.post, place.book, NextSeed()))
            .value());
  }
  for (Book* book : sender_books_) {
    drivers_.push_back(
        node_.Spawn(gen::Factory<Sender>(&stage_, book, &destinations_, NextSeed())).value());
  }
  int number = 0;
  for (Book* book : churner_books_) {
    drivers_.push_back(
        node_.Spawn(gen::Factory<Churner>(&stage_, book, helpers_, ++number, NextSeed())).value());
  }
  StartThreads();
}

void Load::StartThreads() {
  for (Book* book : thread_books_) {
    threads_.emplace_back([this, book, seed = NextSeed()] {
      Driver driver(stage_, *book, destinations_, seed);
      while (!stage_.stopping.load()) {
        if (!driver.ActOutside(node_)) std::this_thread::yield();
      }
    });
  }
  std::vector<Victim> victims;
  for (const Place& place : places_) victims.push_back({&place.post, place.ward.pool});
  threads_.emplace_back([this, victims, seed = NextSeed()] {
    Saboteur(stage_, node_, saboteur_book_, victims, seed).Run();
  });
}

void Load::JoinThreads() {
  stage_.stopping.store(true);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  stage_.factories_to_fail.store(0);
  stage_.inits_to_fail.store(0);
}

void Load::Stop(Verdict& verdict) {
  JoinThreads();
  for (const gen::PID driver : drivers_) {
    verdict.Check(node_.WaitProcess(driver, kPatience).has_value(),
                  "a driving process does not end: it waits for notices or an answer");
  }
  drivers_.clear();
  CheckAtRest(verdict);
  for (const gen::PID keeper : keepers_) (void)node_.StopProcess(keeper, kPatience);
  keepers_.clear();
  CheckEmpty(node_, verdict);
  // Who waits for a call learns its outcome when nothing of the call is left.
  (void)WaitUntil([this] { return stage_.async_calls.load() == stage_.async_outcomes.load(); });
  CheckConservation(stage_, node_.MessageBalance(), verdict);
}

void Load::CheckAtRest(Verdict& verdict) {
  const bool rests = WaitUntil([this] { return stage_.ledger.Outstanding() == 0; });
  verdict.Check(rests, "{} messages neither handled nor dropped", stage_.ledger.Outstanding());
  for (Place& place : places_) {
    IncarnationPtr holder;
    const bool filled = WaitUntil([&] {
      holder = place.post.Holder();
      return holder != nullptr && !holder->ending.load();
    });
    verdict.Check(filled, "{} is not started again", place.title);
    if (filled && place.ward.pool) CheckPool(node_, place.title, *holder, verdict, losses_);
  }
  // What has begun to end may be between its end and those who are told.
  (void)WaitUntil([&] {
    Verdict now;
    CheckRelations(node_, now);
    return now.holds();
  });
  CheckRelations(node_, verdict);
}

}  // namespace ergon::soak
