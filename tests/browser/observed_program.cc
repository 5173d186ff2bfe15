// A node for page_test.py to look at through a browser: pools, many processes, somebody who waits, events, groups. It
// tells its observer's port on its first line, and ends when its standard input does.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/gen/match_request.h>
#include <ergon/node/node.h>
#include <ergon/node/observer.h>

namespace observed {

using namespace ergon;
using namespace std::chrono_literals;

class Idle : public act::Actor {};

struct Order {
  using Reply = int;
  int number = 0;
};

class Clerk : public act::Actor {
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    return gen::MatchRequest(
        request, [](const Order& order) { return order.number; },
        [&](gen::Message& other) { return Actor::HandleCall(from, ref, other); });
  }
};

class Counter : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 4, .worker_factory = gen::Factory<Clerk>()};
  }
};

// Of a size that it chooses itself.
class Elastic : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{
        .autoscale = act::PoolAutoscale{.min = 2, .max = 8, .target_wait = 20ms},
        .worker_factory = gen::Factory<Clerk>()};
  }
};

struct Begin {
  gen::PID whom;
};

// Waits in a call for somebody who does not answer.
class Customer : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (const Begin* begin = message.As<Begin>())
      (void)Call(begin->whom, Order{1}, {.timeout = 1h});
    return gen::Continue();
  }
};

// Publishes, is in a group, and is busy as long as the node runs.
class Slow : public act::Actor {
  gen::Status Init(const gen::Args&) override {
    (void)RegisterEvent("prices", {.buffer = 10}).value();
    JoinGroup("shops").value();
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    (void)Sleep(1h);
    return gen::ReplyError(gen::Error("it was too long"));
  }
};

// Tells more of itself than the page shows.
class Teller : public act::Actor {
  gen::Inspection HandleInspect(gen::PID, const std::vector<std::string>&) override {
    gen::Inspection all;
    for (int i = 0; i < 250; ++i) all["item " + std::to_string(i + 1'000).substr(1)] = "x";
    return all;
  }
};

int Run(const std::string& token, int idle) {
  auto node = node::Start("observed@localhost", {.log_level = gen::LogLevel::kError}).value();
  const gen::PID pool = node.Spawn(gen::Factory<Counter>()).value();
  (void)node.RegisterName("counter", pool);
  (void)node.RegisterName("elastic", node.Spawn(gen::Factory<Elastic>()).value());
  for (int i = 0; i < 100; ++i) (void)node.Call(pool, Order{i});
  (void)node.Spawn(gen::Factory<Teller>()).value();
  const gen::PID slow = node.Spawn(gen::Factory<Slow>()).value();
  const gen::PID customer = node.Spawn(gen::Factory<Customer>()).value();
  (void)node.Send(customer, Begin{slow});
  const gen::PID named = node.Spawn(gen::Factory<Idle>()).value();
  (void)node.RegisterName("<script>document.title='taken'</script>", named);
  for (int i = 1; i < idle; ++i) (void)node.Spawn(gen::Factory<Idle>()).value();
  const auto observer =
      node.Spawn(node::ObserverFactory({.port = 0, .token = token, .actions = true})).value();
  std::printf("%d\n", node.Call(observer, node::GetObserverAddress{}).value().port);
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  std::exit(0);  // as a node that is ended: those who wait are not waited for
}

}  // namespace observed

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: observed_program TOKEN PROCESSES\n");
    return 2;
  }
  return observed::Run(argv[1], std::atoi(argv[2]));
}
