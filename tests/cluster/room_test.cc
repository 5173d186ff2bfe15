// The way to another node is full, again and again: who calls, forwards or sends in periods meanwhile.
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/node/cereal.h>
#include <ergon/node/cluster/connection/room_waiters.h>

#include <cluster/cluster.h>
#include <cluster/fake_epmd.h>

namespace ergon::dist::room_test {

// Which has no form as a term.
struct Beat {
  int number = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number);
  }
};

class Counts final : public act::Actor {
 public:
  explicit Counts(std::shared_ptr<std::vector<int>> lines, std::shared_ptr<std::atomic<int>> count)
      : lines_(std::move(lines)), count_(std::move(count)) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (const auto* line = message.As<Line>()) lines_->push_back(line->number);
    ++*count_;
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    const Sum& sum = *request.As<Sum>();
    return gen::Reply(std::accumulate(sum.numbers.begin(), sum.numbers.end(), std::int64_t{0}));
  }
  const std::shared_ptr<std::vector<int>> lines_;
  const std::shared_ptr<std::atomic<int>> count_;
};

class Forwards final : public act::Actor {
 public:
  Forwards(gen::ProcessID to, std::atomic<int>* failed) : to_(to), failed_(failed) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (!Forward(to_, message)) ++*failed_;
    return gen::Continue();
  }
  const gen::ProcessID to_;
  std::atomic<int>* failed_;
};

// Makes requests, without waiting, until the way is full; then once more for each answer, until it has made `most`.
class Requests final : public act::Actor {
 public:
  struct Tally {
    std::atomic<int> sent{0};
    std::atomic<int> refused{0};
    std::atomic<int> answered{0};
    std::atomic<int> others{0};  // other errors, of a request or in the place of its answer
  };
  Requests(gen::ProcessID to, int most, std::shared_ptr<Tally> tally)
      : to_(to), most_(most), tally_(std::move(tally)) {}

 private:
  gen::Status Init(const gen::Args&) override {
    while (Ask()) {
    }
    return gen::Continue();
  }
  gen::Status HandleResponse(gen::Ref, gen::Response& response) override {
    const auto sum = response.Take<std::int64_t>();
    ++(sum && *sum == 2000 ? tally_->answered : tally_->others);
    while (tally_->answered + tally_->others == tally_->sent && Ask()) {
    }
    return gen::Continue();
  }
  bool Ask() {
    if (tally_->sent == most_) return false;
    const auto ref = Request(to_, Sum{std::vector<int>(2000, 1)});
    ++(ref ? tally_->sent : ref.error() == gen::ErrBusy ? tally_->refused : tally_->others);
    return ref.has_value();
  }
  const gen::ProcessID to_;
  const int most_;
  const std::shared_ptr<Tally> tally_;
};

// One request, or line, is more than may wait.
ErlangOptions Narrow() {
  ErlangOptions options = ClusterOptions();
  options.send_queue_bytes = 1024;
  return options;
}

struct Counted {
  std::shared_ptr<std::vector<int>> lines = std::make_shared<std::vector<int>>();
  std::shared_ptr<std::atomic<int>> count = std::make_shared<std::atomic<int>>(0);
  [[nodiscard]] gen::ProcessFactory Factory() const { return gen::Factory<Counts>(lines, count); }
};

TEST_CASE("room: many callers on small stacks, each of whose requests fills the way") {
  kit::LogCapture log_a;
  kit::LogCapture log_b;
  gen::NodeOptions options;
  options.handler_stack_bytes = 32 * 1024;
  // One request is as much as may wait, and so large that many look for room while it is written.
  ErlangOptions network = ClusterOptions();
  network.send_queue_bytes = 64 * 1024;
  auto a = TryStart("room_calls_a@127.0.0.1", log_a, network, options).value();
  auto b = TryStart("room_calls_b@127.0.0.1", log_b, network).value();
  const Counted counted;
  b.SpawnRegister("sums", counted.Factory()).value();
  const gen::ProcessID sums{"sums", b.Name()};
  const int callers = kit::Scaled(400);
  std::atomic<int> answered{0};
  std::atomic<int> failed{0};
  for (int i = 0; i < callers; ++i) {
    a.Spawn([&](gen::Process& self) {
       const auto sum =
           self.Call(sums, Sum{std::vector<int>(40'000, 3)}, {.timeout = gen::kInfinite});
       ++(sum && *sum == 120'000 ? answered : failed);
     }).value();
  }
  CHECK(kit::Eventually([&] { return answered + failed == callers; }));
  CHECK(failed == 0);
  a.Stop();
  b.Stop();
}

TEST_CASE("room: who forwards to another node waits, as who sends") {
  Cluster cluster("room_forward", Narrow());
  const Counted counted;
  cluster.b.SpawnRegister("counts", counted.Factory()).value();
  std::atomic<int> failed{0};
  const gen::PID forwards =
      cluster.a.Spawn(gen::Factory<Forwards>(cluster.OnB("counts"), &failed)).value();
  constexpr int kLines = 200;
  const std::string text(2000, 'x');
  for (int i = 0; i < kLines; ++i) CHECK(cluster.a.Send(forwards, Line{i, text}));
  REQUIRE(kit::Eventually([&] { return *counted.count + failed == kLines; }));
  CHECK(failed == 0);
  std::vector<int> expected(kLines);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(*counted.lines == expected);
  cluster.a.Stop();  // it refers to `failed`
}

TEST_CASE("room: a periodic send goes on after a tick for which there was no way yet") {
  kit::LogCapture log_a;
  kit::LogCapture log_b;
  gen::NodeOptions options;
  options.types.Register<Cereal<Beat>>();
  auto a = TryStart("room_ticks_a@127.0.0.1", log_a, ClusterOptions(), options).value();
  auto b = TryStart("room_ticks_b@127.0.0.1", log_b, ClusterOptions(), options).value();
  const Counted counted;
  const gen::PID counts = b.Spawn(counted.Factory()).value();
  // The first tick makes the connection, and it is not known yet whether the other node packs the type.
  const gen::TimerHandle handle = a.SendEvery(counts, Beat{1}, 1ms).value();
  CHECK(kit::Eventually([&] { return *counted.count >= 3; }));
  CHECK(a.Info().dropped_terminated == 0);
  CHECK(handle.Cancel());
  a.Stop();
  b.Stop();
}

TEST_CASE("room: a thread waits for it, as a process does") {
  kit::LogCapture log_a;
  kit::LogCapture log_b;
  gen::NodeOptions options;
  options.types.Register<Cereal<Beat>>();
  auto a = TryStart("room_thread_a@127.0.0.1", log_a, Narrow(), options).value();
  auto b = TryStart("room_thread_b@127.0.0.1", log_b, Narrow(), options).value();
  const Counted counted;
  b.SpawnRegister("counts", counted.Factory()).value();
  const gen::ProcessID counts{"counts", b.Name()};
  // There is no connection yet, so nobody knows whether the other node packs the type.
  CHECK(a.SendOrWait(counts, Beat{1}, gen::kInfinite));
  constexpr int kLines = 200;
  const std::string text(2000, 'x');
  for (int i = 0; i < kLines; ++i) {
    CHECK(a.SendOrWait(counts, Line{i, text}, gen::kInfinite));
  }
  REQUIRE(kit::Eventually([&] { return *counted.count == kLines + 1; }));
  std::vector<int> expected(kLines);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(*counted.lines == expected);
  a.Stop();
  b.Stop();
}

TEST_CASE("room: who makes requests without waiting is told that there is none") {
  Cluster cluster("room_requests", Narrow());
  const Counted counted;
  cluster.b.SpawnRegister("sums", counted.Factory()).value();
  const auto tally = std::make_shared<Requests::Tally>();
  constexpr int kMost = kit::Scaled(2000, 4);
  cluster.a.Spawn(gen::Factory<Requests>(cluster.OnB("sums"), kMost, tally)).value();
  CHECK(kit::Eventually([&] { return tally->answered + tally->others >= kMost; }));
  CHECK(tally->refused > 0);
  CHECK(tally->answered == kMost);
  CHECK(tally->others == 0);
}

TEST_CASE("room: who has waited in vain does not stay in the list of those who wait") {
  FakeEpmd epmd([](std::string_view request) -> std::optional<std::string> {
    if (!FakeEpmd::IsRegistration(request)) return std::nullopt;  // so the connection never is up
    return FakeEpmd::Registered();
  });
  ErlangOptions network = ClusterOptions();
  network.epmd_port = epmd.port();
  network.handshake_timeout = 1h;  // it is tried all the time
  gen::NodeOptions options;
  options.types.Register<Cereal<Beat>>();
  kit::LogCapture log;
  auto node = TryStart("room_in_vain@127.0.0.1", log, network, options).value();
  const gen::ProcessID nobody{"nobody", "room_nowhere@127.0.0.1"};
  std::size_t most = 0;
  InProcess(node, [&](gen::Process& self) {
    for (int i = 0; i < 500; ++i) {
      CHECK(self.SendOrWait(nobody, Beat{i}, 10us).error() == gen::ErrTimeout);
      most = std::max(most, InspectConnections(node)[0].waiting_senders);
    }
  });
  CHECK(most > 0);
  CHECK(most <= RoomWaiters::kAskAt + 1);
  CHECK(node.SendOrWait(nobody, Beat{0}, 1ms).error() == gen::ErrTimeout);
  CHECK(node.SendOrWait(nobody, Beat{0}, 0ms).error() == gen::ErrBusy);
  node.Stop();
}

}  // namespace ergon::dist::room_test
