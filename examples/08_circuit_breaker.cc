// A circuit breaker in front of a pool whose workers fail for a while: a state machine with a
// time-out, requests that wait for a decision, and answers that come from others.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/act/state_machine.h>
#include <ergon/node/node.h>

using namespace ergon;
using namespace std::chrono_literals;

std::atomic<int> outage{4};  // so many queries will fail

struct Query {
  int key = 0;
};
struct Job {  // a query on its way to a worker, which answers its caller itself
  Query query;
  act::Caller caller;
  int round;  // of the breaker, for what the worker tells it
};
struct Worked {
  int round;
};
struct Failed {
  int round;
};

class Connection : public act::Actor {
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    auto job = message.Take<Job>();
    const act::Caller caller = job.caller;
    if (job.query.key < 0) throw std::logic_error("a bug");  // nobody is told anything
    // The breaker and the caller may be gone: that is no concern of a worker's.
    if (outage.fetch_sub(1) > 0) {
      (void)Send(from, Failed{job.round});
      (void)SendResponseError(caller.from, caller.ref, gen::Error("no connection"));
    } else {
      (void)Send(from, Worked{job.round});
      (void)SendResponse(caller.from, caller.ref, 2 * job.query.key);
    }
    return gen::Continue();
  }
};

class Connections : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 2, .worker_factory = gen::Factory<Connection>()};
  }
};

enum class Circuit { kClosed, kOpen, kHalfOpen };

class Breaker : public act::StateMachine<Circuit> {
 public:
  Breaker() {
    In(Circuit::kClosed, "closed", &Breaker::Closed, &Breaker::Enter);
    In(Circuit::kOpen, "open", &Breaker::Open, &Breaker::EnterOpen);
    In(Circuit::kHalfOpen, "half open", &Breaker::HalfOpen, &Breaker::Enter);
  }

 private:
  act::Transition Init(const gen::Args&) override {
    auto pool = Spawn(gen::Factory<Connections>(), {.link_child = true});
    if (!pool) return gen::Stop(pool.error());
    pool_ = *pool;
    return GoTo(Circuit::kClosed);
  }

  act::Transition Closed(act::StateEvent& event) {
    if (IsLate(event)) return Keep();
    if (auto* query = event.As<Query>()) {
      auto sent = Forward(*query, event.Caller());
      return sent ? Keep() : Keep().ReplyError(sent.error());
    }
    if (event.Is<Failed>()) return ++failures_ < 3 ? Keep() : GoTo(Circuit::kOpen);
    if (event.Is<Worked>()) return failures_ = 0, Keep();
    return Unhandled(event);
  }

  act::Transition Open(act::StateEvent& event) {
    if (event.Is<Query>()) return Keep().ReplyError(gen::Error("circuit open"));
    if (event.IsStateTimeout()) return GoTo(Circuit::kHalfOpen);
    return IsLate(event) ? Keep() : Unhandled(event);
  }

  act::Transition HalfOpen(act::StateEvent& event) {
    if (IsLate(event)) return Keep();
    if (event.Is<Query>() && probe_) return Postpone();  // handled when the probe has told
    if (auto* query = event.As<Query>()) {
      auto sent = Forward(*query, event.Caller());
      if (!sent) return GoTo(Circuit::kOpen).ReplyError(sent.error());
      probe_ = event.Caller();
      return Keep().StateTimeout(1s);  // its worker may end without a word
    }
    if (event.IsStateTimeout()) {
      return GoTo(Circuit::kOpen).ReplyErrorTo(*probe_, gen::Error("no answer"));
    }
    if (event.Is<Failed>()) return GoTo(Circuit::kOpen);
    if (event.Is<Worked>()) return GoTo(Circuit::kClosed);
    return Unhandled(event);
  }

  act::Entry Enter(const Circuit&) {
    ++round_;
    failures_ = 0;
    probe_.reset();
    return {};
  }
  act::Entry EnterOpen(const Circuit& before) {
    (void)Enter(before);
    return act::Entry().StateTimeout(1s);
  }

  gen::Result<void> Forward(Query query, act::Caller caller) {
    return Send(pool_, Job{query, caller, round_});
  }
  // What became of a query of an earlier state says nothing of this one.
  bool IsLate(act::StateEvent& event) const {
    if (const auto* worked = event.As<Worked>()) return worked->round != round_;
    const auto* failed = event.As<Failed>();
    return failed != nullptr && failed->round != round_;
  }

  gen::PID pool_;
  int round_ = 0;                     // how often the state has changed
  int failures_ = 0;                  // one after the other
  std::optional<act::Caller> probe_;  // whose query it is
};

int main() {
  auto node = node::Start("demo@localhost").value();
  gen::PID breaker = node.Spawn(gen::Factory<Breaker>()).value();
  auto ask = [&](int key) {
    auto answer = node.Call<int>(breaker, Query{key});
    return answer ? std::to_string(*answer) : std::string(answer.error().detail());
  };
  auto ask_until_tried = [&](int key) {
    std::string answer;
    while ((answer = ask(key)) == "circuit open") std::this_thread::sleep_for(5ms);
    return answer;
  };

  for (int key = 1; key <= 4; ++key) std::printf("query %d: %s\n", key, ask(key).c_str());
  std::printf("a probe: %s\n", ask_until_tried(5).c_str());
  std::printf("a probe: %s\n", ask_until_tried(-1).c_str());
  std::printf("a probe: %s\n", ask_until_tried(6).c_str());
  std::printf("query 7: %s\n", ask(7).c_str());
  std::printf("the circuit is %s\n", node.Inspect(breaker).value().at("state").c_str());
  node.Stop();
}
// prints: query 1: no connection
//         query 2: no connection
//         query 3: no connection
//         query 4: circuit open
//         a probe: no connection
//         a probe: no answer
//         a probe: 12
//         query 7: 14
//         the circuit is closed
