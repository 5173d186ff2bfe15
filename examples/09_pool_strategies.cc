// Pool strategies: what concerns one account goes to one worker, in order; accounts go on in parallel.
#include <cstdio>
#include <map>
#include <string>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/gen/match_request.h>
#include <ergon/node/node.h>

using namespace ergon;

struct Deposit {
  std::string account;
  int amount = 0;
};
struct Withdraw {  // refused when there is not enough
  std::string account;
  int amount = 0;
};
struct Statement {  // a request
  std::string account;
};
struct Balance {
  int amount = 0;
  int refused = 0;
};

// Keeps the accounts that belong to it; no lock is needed, no other worker has them.
class Teller : public act::Actor {
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    return gen::Match(
        message,
        [&](const Deposit& deposit) {
          accounts_[deposit.account].amount += deposit.amount;
          return gen::Continue();
        },
        [&](const Withdraw& withdraw) {
          Balance& balance = accounts_[withdraw.account];
          if (balance.amount >= withdraw.amount) {
            balance.amount -= withdraw.amount;
          } else {
            ++balance.refused;
          }
          return gen::Continue();
        },
        [&](gen::Message& other) { return Actor::HandleMessage(from, other); });
  }

  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    return gen::MatchRequest(
        request,  //
        [&](const Statement& question) { return accounts_[question.account]; },
        [&](gen::Message& other) { return Actor::HandleCall(from, ref, other); });
  }

  std::map<std::string, Balance> accounts_;
};

class Bank : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{
        .pool_size = 4,
        .worker_factory = gen::Factory<Teller>(),
        .strategy = act::PoolStrategy::ByKey<Deposit, Withdraw, Statement>(
            [](const auto& order) { return order.account; }),
    };
  }
};

int main() {
  auto node = node::Start("demo@localhost").value();
  gen::PID bank = node.Spawn(gen::Factory<Bank>()).value();
  for (int round = 0; round < 1000; ++round) {
    for (const char* account : {"ann", "ben", "cleo"}) {
      // Each withdrawal needs the deposit before it; in another order some would be refused.
      node.Send(bank, Deposit{account, 10}).value();
      node.Send(bank, Withdraw{account, round % 2 == 0 ? 10 : 9}).value();
    }
  }
  for (const char* account : {"ann", "ben", "cleo"}) {
    // Behind all that was sent for this account.
    const Balance balance = node.Call<Balance>(bank, Statement{account}).value();
    std::printf("%s has %d, %d refused\n", account, balance.amount, balance.refused);
  }
  std::printf("strategy: %s\n", node.Inspect(bank).value().at("strategy").c_str());
  node.Stop();
}
// prints: ann has 500, 0 refused
//         ben has 500, 0 refused
//         cleo has 500, 0 refused
//         strategy: by key
