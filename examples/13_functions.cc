// Processes made of functions: selective receive, requests, tasks, many items at once.
#include <cstdio>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <ergon/gen/parallel.h>
#include <ergon/node/node.h>

using namespace ergon;
using namespace std::chrono_literals;

struct Order {
  std::string dish;
};
struct Ready {  // a request: how many dishes are ready?
  using Reply = int;
};
struct Close {};

// One function is one process. What it does not ask for now waits, in order.
void Kitchen(gen::Process& self) {
  int ready = 0;
  for (;;) {
    auto next = self.Receive<Order, gen::Asked<Ready>, Close>();
    if (!next) return;  // the process is being ended
    if (auto* order = std::get_if<Order>(&*next)) {
      std::printf("cooking %s\n", order->dish.c_str());
      ++ready;
    } else if (auto* asked = std::get_if<gen::Asked<Ready>>(&*next)) {
      (void)self.Reply(*asked, ready);
    } else {
      return;
    }
  }
}

void Wait(gen::Process& self) {
  // The bell is rung first, and heard last.
  const auto name = self.Receive<std::string>().value();
  const auto bell = self.Receive<int>().value();
  std::printf("%s heard the bell ring %d times\n", name.c_str(), bell);

  // A task has a process of its own; this one goes on meanwhile.
  auto sum = self.Async([] { return 12.50 + 8.25; });
  std::printf("the sum: %.2f\n", sum->Await(1s).value());

  // Three at a time, in the order of the items.
  auto lengths = gen::Parallel(self, std::vector<std::string>{"soup", "fish", "ice cream"},
                               [](std::string& dish) { return dish.size(); }, {.at_once = 3});
  for (const auto& length : *lengths) std::printf("%zu letters\n", *length);

  // What a process ends with its parent hears, if it likes.
  self.SetTrapExit(true);
  (void)self.Spawn([](gen::Process&) { return gen::Reason::Error("no more fish"); },
                   {.link_parent = true});
  auto exit = self.Receive<gen::MessageExitPID>(1s);
  std::printf("the cook left: %s\n", exit->reason.ToString().c_str());
}

int main() {
  auto node = node::Start("functions@localhost").value();
  const gen::PID kitchen = node.Spawn(Kitchen).value();
  for (const char* dish : {"soup", "fish"}) (void)node.Send(kitchen, Order{dish});
  std::printf("ready: %d\n", node.Call(kitchen, Ready{}).value());

  const gen::PID waiter = node.Spawn(Wait).value();
  (void)node.Send(waiter, 3);
  (void)node.Send(waiter, std::string("Ada"));
  node.WaitProcess(waiter).value();
  (void)node.Send(kitchen, Close{});
}

// prints: cooking soup
//         cooking fish
//         ready: 2
//         Ada heard the bell ring 3 times
//         the sum: 20.75
//         4 letters
//         4 letters
//         9 letters
//         the cook left: no more fish
