// Look-ups of hosts, of which some take as long as they want.
#include <ergon/node/cluster/connection/host_lookups.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <kit/eventually.h>

namespace ergon::dist {
namespace {

const Addresses kOneAddress{asio::ip::make_address("127.0.0.1")};

// Look-ups that say nothing until they are released; of the host "quick" one that comes at once.
class SilentLookups {
 public:
  explicit SilentLookups(std::size_t most_hosts = HostLookups::kMostHosts)
      : all(std::make_shared<HostLookups>(
            [calls = calls_, released = released_](const std::string& host) {
              ++*calls;
              if (host == "wrong") throw std::system_error(ENOENT, std::generic_category());
              if (host != "quick") released.wait();
              return kOneAddress;
            },
            most_hosts)) {}
  ~SilentLookups() { Release(); }
  SilentLookups(const SilentLookups&) = delete;
  SilentLookups& operator=(const SilentLookups&) = delete;

  void Release() {
    if (!std::exchange(is_released_, true)) release_.set_value();
    CHECK(kit::Eventually([&] { return all->Hosts() == 0; }));
  }
  [[nodiscard]] int Calls() const { return *calls_; }

 private:
  std::promise<void> release_;
  const std::shared_future<void> released_{release_.get_future()};
  const std::shared_ptr<std::atomic<int>> calls_ = std::make_shared<std::atomic<int>>(0);
  bool is_released_ = false;

 public:
  const std::shared_ptr<HostLookups> all;
};

// What waits for them.
struct LookupSide {
  asio::io_context context{1};
  Tasks tasks{context};

  // What becomes of a look-up, once it has: "found", or an error.
  std::shared_ptr<std::string> Find(const SilentLookups& silent, const std::string& host) {
    auto outcome = std::make_shared<std::string>();
    tasks.Start([this, all = silent.all, host, outcome] {
      HostLookup lookup(context, tasks, all);
      try {
        *outcome = lookup.Find(host) == kOneAddress ? "found" : "something else";
      } catch (const std::system_error& error) {
        *outcome = error.what();
      }
    });
    return outcome;
  }
  bool RunUntil(const std::function<bool()>& condition) {
    return kit::Eventually([&] {
      context.restart();
      context.poll();
      return condition();
    });
  }
};

}  // namespace

TEST_CASE("host lookups: one that is silent delays no other one") {
  SilentLookups silent;
  LookupSide waiting;
  const auto slow = waiting.Find(silent, "slow");
  REQUIRE(waiting.RunUntil([&] { return silent.Calls() == 1; }));
  const auto quick = waiting.Find(silent, "quick");
  const auto wrong = waiting.Find(silent, "wrong");
  CHECK(waiting.RunUntil([&] { return !quick->empty() && !wrong->empty(); }));
  CHECK(*quick == "found");
  CHECK(*wrong == std::generic_category().message(ENOENT));
  CHECK(slow->empty());
  silent.Release();
  CHECK(waiting.RunUntil([&] { return !slow->empty(); }));
  CHECK(*slow == "found");
}

TEST_CASE("host lookups: an address is looked up by nobody") {
  SilentLookups silent;
  LookupSide waiting;
  const auto outcome = waiting.Find(silent, "127.0.0.1");
  CHECK(waiting.RunUntil([&] { return !outcome->empty(); }));
  CHECK(*outcome == "found");
  CHECK(silent.Calls() == 0);
}

TEST_CASE("host lookups: who waits for the same host waits for the same answer") {
  SilentLookups silent;
  LookupSide waiting;
  const auto one = waiting.Find(silent, "slow");
  const auto other = waiting.Find(silent, "slow");
  REQUIRE(waiting.RunUntil([&] { return silent.Calls() == 1; }));
  silent.Release();
  CHECK(waiting.RunUntil([&] { return !one->empty() && !other->empty(); }));
  CHECK(*one == "found");
  CHECK(*other == "found");
  CHECK(silent.Calls() == 1);
}

TEST_CASE("host lookups: there are so many threads and no more") {
  SilentLookups silent(2);
  LookupSide waiting;
  const auto one = waiting.Find(silent, "slow1");
  const auto other = waiting.Find(silent, "slow2");
  const auto too_many = waiting.Find(silent, "slow3");
  const auto known = waiting.Find(silent, "slow1");
  CHECK(waiting.RunUntil([&] { return !too_many->empty() && silent.Calls() == 2; }));
  CHECK_MESSAGE(
      too_many->find("the name service has not answered for 2 other hosts") != std::string::npos,
      *too_many);
  silent.Release();
  CHECK(waiting.RunUntil([&] { return !one->empty() && !other->empty() && !known->empty(); }));
  CHECK(*known == "found");
  const auto again = waiting.Find(silent, "slow3");
  CHECK(waiting.RunUntil([&] { return !again->empty(); }));
  CHECK(*again == "found");
}

TEST_CASE("host lookups: nobody waits for one at the end") {
  SilentLookups silent;
  std::shared_ptr<std::string> outcome;
  {
    LookupSide waiting;
    outcome = waiting.Find(silent, "slow");
    REQUIRE(waiting.RunUntil([&] { return silent.Calls() == 1; }));
    waiting.tasks.Cancel();
    waiting.context.restart();
    waiting.context.run();  // comes to its end although the look-up does not
    CHECK_FALSE(outcome->empty());
    CHECK(*outcome != "found");
  }
  CHECK(silent.all->Hosts() == 1);
  silent.Release();
}

TEST_CASE("host lookups: addresses of one family are tried first") {
  const auto address = [](const char* text) { return asio::ip::make_address(text); };
  const Addresses found{address("2001:db8::1"), address("192.0.2.1"), address("2001:db8::2"),
                        address("192.0.2.2")};
  CHECK(OfFamilyFirst(found, address("127.0.0.1")) ==
        Addresses{found[1], found[3], found[0], found[2]});
  CHECK(OfFamilyFirst(found, address("::")) == Addresses{found[0], found[2], found[1], found[3]});
  CHECK(OfFamilyFirst({}, address("::")).empty());
}

TEST_CASE("host lookups: the system knows this host") {
  asio::io_context context(1);
  Tasks tasks(context);
  Addresses found;
  std::string problem;
  tasks.Start([&] {
    HostLookup lookup(context, tasks, HostLookups::OfTheSystem());
    try {
      found = lookup.Find("localhost");
      (void)lookup.Find(std::string(300, 'x'));
    } catch (const std::system_error& error) {
      problem = error.what();
    }
  });
  context.run();
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].is_loopback());
  CHECK_FALSE(problem.empty());
}

}  // namespace ergon::dist
