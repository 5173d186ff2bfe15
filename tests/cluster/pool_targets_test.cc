// A pool of another node, by each of the ways to address it.
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include <ergon/act/pool.h>

#include <cluster/cluster.h>

namespace ergon::dist {
namespace {

struct Note {
  gen::PID worker;
  gen::PID from;
  int number = 0;
};

class Notes {
 public:
  void Add(const Note& note) {
    std::lock_guard lock(mutex_);
    notes_.push_back(note);
  }
  [[nodiscard]] std::vector<Note> All() const {
    std::lock_guard lock(mutex_);
    return notes_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Note> notes_;
};

class NotingWorker : public act::Actor {
 public:
  explicit NotingWorker(std::shared_ptr<Notes> notes) : notes_(std::move(notes)) {}

 private:
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const auto* line = message.As<Line>();
    if (line == nullptr) return Actor::HandleMessage(from, message);
    notes_->Add({Self(), from, line->number});
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    const auto* sum = request.As<Sum>();
    if (sum == nullptr) return Actor::HandleCall(from, ref, request);
    notes_->Add({Self(), from, sum->numbers.front()});
    return gen::Reply(std::accumulate(sum->numbers.begin(), sum->numbers.end(), std::int64_t{0}));
  }
  const std::shared_ptr<Notes> notes_;
};

struct AskAlias {};

class AliasedPool : public act::Pool {
 public:
  explicit AliasedPool(std::shared_ptr<Notes> notes) : notes_(std::move(notes)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 2, .worker_factory = gen::Factory<NotingWorker>(notes_)};
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (!request.Is<AskAlias>()) return Pool::HandleCall(from, ref, request);
    return gen::Reply(CreateAlias());
  }
  const std::shared_ptr<Notes> notes_;
};

}  // namespace

TEST_CASE("a pool of another node takes what is sent to its PID, its name and its alias alike") {
  Cluster cluster("pool_targets");
  const auto notes = std::make_shared<Notes>();
  const gen::PID pool = cluster.b.SpawnRegister("pool", gen::Factory<AliasedPool>(notes)).value();
  const auto alias =
      cluster.b.CallWithPriority<gen::Alias>(pool, AskAlias{}, gen::MessagePriority::kHigh).value();
  const gen::ProcessID name{"pool", cluster.b.Name()};
  const auto has = [&](std::size_t count) {
    return kit::Eventually([&] { return notes->All().size() == count; });
  };
  int number = 0;
  gen::PID process;
  for (const gen::Target& target : {gen::Target(pool), gen::Target(name), gen::Target(alias)}) {
    CAPTURE(target.ToString());
    REQUIRE(cluster.a.Send(target, Line{++number, {}}));
    REQUIRE(has(static_cast<std::size_t>(number)));
    ++number;
    CHECK(cluster.a.Call(target, Sum{{number, 1}}, {.timeout = kit::kDeadline}).value() ==
          number + 1);
    InProcess(cluster.a, [&](gen::Process& self) {
      process = self.Self();
      CHECK(self.Send(target, Line{++number, {}}));
      REQUIRE(has(static_cast<std::size_t>(number)));
      ++number;
      CHECK(self.Call(target, Sum{{number, 1}}, {.timeout = kit::kDeadline}).value() == number + 1);
    });
    const auto all = notes->All();
    REQUIRE(all.size() == static_cast<std::size_t>(number));
    for (std::size_t i = all.size() - 4; i < all.size(); ++i) {
      CHECK(all[i].number == static_cast<int>(i) + 1);
      CHECK(all[i].worker == all[i % 2].worker);  // the rotation goes on
    }
    CHECK(all[all.size() - 2].from == process);
    CHECK(all[all.size() - 1].from == process);
  }
  const auto all = notes->All();
  CHECK(all[0].worker != all[1].worker);
}

}  // namespace ergon::dist
