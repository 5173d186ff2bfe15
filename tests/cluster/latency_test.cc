// NodeOptions::measure_latency, beside other nodes.
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include <ergon/gen/process_behavior.h>
#include <ergon/node/metrics/latency.h>
#include <ergon/node/observer/numbers/latency_text.h>
#include <ergon/node/observer/numbers/metrics_writer.h>
#include <ergon/node/runtime/runtime.h>

#include <cluster/cluster.h>

namespace ergon::dist::latency_test {
namespace {

node::Latency& LatencyOf(node::Node& node) {
  node::Latency* const latency = node::RuntimeOf(node, "test").latency();
  REQUIRE(latency != nullptr);
  return *latency;
}

class Adder : public act::Actor {
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& message) override {
    return gen::Reply(static_cast<std::int64_t>(message.As<Sum>()->numbers.size()));
  }
};

struct Measured {
  explicit Measured(const std::string& names)
      : a(TryStart(names + "a@127.0.0.1", log_a, ClusterOptions(), {.measure_latency = true})
              .value()),
        b(TryStart(names + "b@127.0.0.1", log_b, ClusterOptions(), {.measure_latency = true})
              .value()) {}
  ~Measured() {
    a.Stop();
    b.Stop();
    kit::CheckBalance(a);
    kit::CheckBalance(b);
  }

  kit::LogCapture log_a;
  kit::LogCapture log_b;
  node::Node a;
  node::Node b;
};

}  // namespace

TEST_CASE("latency: calls to other nodes are told as such") {
  Measured t("latency_calls_");
  REQUIRE(t.b.SpawnRegister("adder", gen::Factory<Adder>()));
  InProcess(t.a, [&](gen::Process& self) {
    const gen::ProcessID adder{gen::Atom("adder"), t.b.Name()};
    for (int i = 0; i < 2; ++i)
      CHECK(self.Call(adder, Sum{{1, 2, 3}}, {.timeout = kit::kDeadline}).value() == 3);
  });
  CHECK(LatencyOf(t.a).calls_elsewhere().View().count == 2);
  CHECK(LatencyOf(t.a).Of(gen::BehaviorNameOf(Adder())).calls.View().count == 0);
  node::MetricsWriter out(node::MetricsFormat::kPlain);
  node::WriteLatency(out, LatencyOf(t.a));
  const std::string text = std::move(out).Take();
  CHECK(text.find("\nergon_call_seconds_count{behavior=\"(other node)\"} 2\n") !=
        std::string::npos);
}

TEST_CASE(
    "latency: what another node has sent is counted, once each, where it has room for a time") {
  class Counts : public act::Actor {
   public:
    explicit Counts(std::atomic<int>* handled) : handled_(handled) {}

   private:
    gen::Status HandleMessage(gen::PID, gen::Message&) override {
      ++*handled_;
      return gen::Continue();
    }
    gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
      ++*handled_;
      return gen::Reply(std::int64_t{1});
    }
    std::atomic<int>* const handled_;
  };
  std::atomic<int> handled{0};
  Measured t("latency_messages_");
  REQUIRE(t.b.SpawnRegister("counts", gen::Factory<Counts>(&handled)));
  InProcess(t.a, [&](gen::Process& self) {
    const gen::ProcessID counts{gen::Atom("counts"), t.b.Name()};
    CHECK(self.Send(counts, Line{1, "a term"}));
    for (int i = 0; i < 10; ++i) CHECK(self.Send(counts, std::string("together")));
    CHECK(self.SendTraced(counts, Line{2, "traced"}, 7));             // has no room for a time
    CHECK(self.Call(counts, Sum{{1}}, {.timeout = kit::kDeadline}));  // nor has this
  });
  REQUIRE(kit::Eventually([&] { return handled == 13; }));
  const auto behavior = gen::BehaviorNameOf(Counts(nullptr));
  CHECK(LatencyOf(t.b).Of(behavior).waiting.View().count == 11);
  CHECK(LatencyOf(t.b).Of(behavior).waiting.View().sum > 0);
}

}  // namespace ergon::dist::latency_test
