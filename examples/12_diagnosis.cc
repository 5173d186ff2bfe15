// What a node tells when processes wait for each other, do not answer in time, or lose a message.
#include <cstdio>
#include <string>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/node/node.h>

using namespace ergon;
using namespace std::chrono_literals;

// Withdraw the amount from the first of the accounts, which asks the next one, and so on.
struct Withdraw {
  int amount = 0;
  std::vector<gen::PID> then = {};
};
struct Audit {};

class Account : public act::Actor {
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    if (request.Is<Audit>()) {
      (void)Sleep(1h);
      return gen::Reply(0);
    }
    auto withdraw = request.Take<Withdraw>();
    if (withdraw.then.empty()) return gen::Reply(withdraw.amount);
    const gen::PID next = withdraw.then.front();
    withdraw.then.erase(withdraw.then.begin());
    return gen::Reply(Call<int>(next, withdraw, {.timeout = gen::kInfinite}));
  }
};

// "a while" for "120 ms" and "1.5 s".
std::string WithoutTimes(std::string text) {
  std::size_t at = 0;
  while ((at = text.find_first_of("0123456789", at)) != std::string::npos) {
    std::size_t end = text.find_first_not_of("0123456789.", at);
    if (end == std::string::npos) break;
    const bool milliseconds = text.compare(end, 3, " ms") == 0;
    if (milliseconds || text.compare(end, 2, " s") == 0) {
      text.replace(at, end + (milliseconds ? 3 : 2) - at, "a while");
      end = at;
    }
    at = end;
  }
  return text;
}

int main() {
  auto node = node::Start("demo@localhost").value();
  const gen::PID red = node.Spawn(gen::Factory<Account>()).value();
  const gen::PID blue = node.Spawn(gen::Factory<Account>()).value();
  // Words for what is different each time the program runs.
  const auto print = [&](std::string text) {
    for (const auto& [pid, name] : {std::pair(red, "red"), std::pair(blue, "blue")}) {
      for (std::size_t at; (at = text.find(pid.ToString())) != std::string::npos;) {
        text.replace(at, pid.ToString().size(), name);
      }
    }
    std::puts(WithoutTimes(std::move(text)).c_str());
  };

  // Red asks blue, which asks red: without an end, whatever the time-outs are. Blue is told at once.
  print(node.Call<int>(red, Withdraw{10, {blue, red}}).error().ToString());

  // The account is busy, and tells with what.
  auto audit = node.CallAsync<int>(blue, Audit{}, {.timeout = gen::kInfinite});
  auto transfer = node.CallAsync<int>(red, Withdraw{20, {blue}}, {.timeout = 1s});
  print(transfer.get().error().ToString());
  print(node.Call<int>(blue, Withdraw{30}, {.timeout = 50ms}).error().ToString());

  // Who waits for whom just now.
  for (const gen::WaitEdge& edge : node.WaitForGraph()) {
    print(edge.from.ToString() + " waits for " + edge.to.ToString() + " (" + edge.message + ")");
  }

  // What was lost, newest first: blue is killed with two requests in its mailbox.
  node.Kill(blue).value();
  (void)audit.get();
  node.Stop();
  for (const gen::DroppedMessage& drop : node.LastDrops()) {
    print(drop.type + " to " + drop.to.ToString() + " (" + drop.behavior + "): " + drop.error);
  }
}
// prints: deadlock: blue waits for red (Withdraw), red waits for blue (Withdraw)
//         timed out: no answer to Withdraw within a while, though the request was being handled: red (Account) has been handling it for a while and has waited for blue (Account) to answer Withdraw for a while
//         timed out: no answer to Withdraw within a while, and the request will not be handled: blue (Account) has been handling Audit for a while and sleeps or waits; the request is at about position 2 of its mailbox
//         red waits for blue (Withdraw)
//         Withdraw to blue (Account): process terminated: killed
//         Withdraw to blue (Account): process terminated: killed
//         Withdraw to red (Account): deadlock
