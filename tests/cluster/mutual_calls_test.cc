// Two nodes that both have much to say to each other.
#include <atomic>
#include <string>

#include <cluster/cluster.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kAnswer = 10'000;

// Answers each request with a long text.
class Talker : public act::Actor {
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (request.Is<Sum>()) return gen::Reply(std::string(kAnswer, 'x'));
    return Actor::HandleCall(from, ref, request);
  }
};

// Makes many requests at once, and counts the answers.
class Asker : public act::Actor {
 public:
  Asker(gen::ProcessID whom, int requests, std::atomic<int>* answers, std::atomic<int>* errors)
      : whom_(whom), requests_(requests), answers_(answers), errors_(errors) {}

 private:
  gen::Status Init(const gen::Args&) override {
    return Send(Self(), 1) ? gen::Continue() : gen::Stop(gen::Reason::Error("no message"));
  }
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    for (int i = 0; i < requests_; ++i) {
      for (;;) {
        const auto asked = Request(whom_, Sum{}, {.timeout = gen::kInfinite});
        if (asked) break;
        // Too much waits to be sent there.
        if (asked.error() == gen::ErrBusy && Sleep(1ms)) continue;
        ++*errors_;
        return gen::Continue();
      }
    }
    return gen::Continue();
  }
  gen::Status HandleResponse(gen::Ref, gen::Response& response) override {
    response.ok() ? ++*answers_ : ++*errors_;
    return gen::Continue();
  }
  const gen::ProcessID whom_;
  const int requests_;
  std::atomic<int>* const answers_;
  std::atomic<int>* const errors_;
};

}  // namespace

// See ReadHold: what each of them asks waits as long as it does not take what it was answered.
TEST_CASE("cluster: two nodes that ask much of each other at once both get their answers") {
  const int requests = kit::Scaled(1000, 4);
  ErlangOptions options = ClusterOptions();
  options.tick_time = std::chrono::hours(1);
  Cluster cluster("mutual", options);
  std::atomic<int> answers = 0;
  std::atomic<int> errors = 0;
  for (node::Node* node : {&cluster.a, &cluster.b}) {
    node->SpawnRegister("talker", gen::Factory<Talker>()).value();
  }
  constexpr int kAskers = 4;
  for (int i = 0; i < kAskers; ++i) {
    cluster.a
        .Spawn(gen::Factory<Asker>(gen::ProcessID{"talker", cluster.b.Name()}, requests, &answers,
                                   &errors))
        .value();
    cluster.b
        .Spawn(gen::Factory<Asker>(gen::ProcessID{"talker", cluster.a.Name()}, requests, &answers,
                                   &errors))
        .value();
  }
  CHECK(kit::Eventually([&] { return answers == 2 * kAskers * requests; }));
  CHECK(errors == 0);
}

}  // namespace ergon::dist
