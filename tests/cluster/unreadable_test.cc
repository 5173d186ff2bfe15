// Messages of other nodes that do not fit the registered type whose tag they have.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/gen/dead_letter.h>
#include <ergon/gen/log_limit.h>

#include <cluster/cluster.h>

namespace ergon::dist {
namespace {

// What the log may have of lines that came from `begin` until now.
std::size_t MostLines(gen::LogLimit::Time begin) {
  const auto periods = (std::chrono::steady_clock::now() - begin) / gen::LogLimit::kPeriod;
  return gen::LogLimit::kLines * static_cast<std::size_t>(periods + 2);
}

}  // namespace

TEST_CASE(
    "unreadable: a message that does not fit its type is counted, a dead letter, and seldom "
    "logged") {
  Cluster cluster("unreadable");
  const gen::PID pid = cluster.b
                           .Spawn([](gen::Process& self) {
                             (void)self.Receive<gen::Atom>();  // lets all others wait
                           })
                           .value();
  CHECK(cluster.b.RegisterName("unread_lines", pid));
  std::atomic<bool> listens{false};
  std::atomic<bool> told{false};
  const auto listener = cluster.b.Spawn([&](gen::Process& self) {
    CHECK(self.MonitorEvent({gen::kDeadLetters, {}}));
    listens = true;
    const auto value = self.Receive<gen::MessageEvent>(20s);
    REQUIRE(value);
    const auto* letter = value->As<gen::DeadLetter>();
    REQUIRE(letter != nullptr);
    CHECK(letter->what().to == pid);
    CHECK(letter->what().reason == gen::DropReason::kUnreadable);
    CHECK(letter->what().error.find("line") != std::string::npos);
    CHECK(letter->As<Term>() != nullptr);
    told = true;
    (void)self.Receive<gen::Atom>();
  });
  REQUIRE(listener);
  REQUIRE(kit::Eventually([&] { return listens.load(); }));
  constexpr std::uint64_t kMessages = 100;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    CHECK(cluster.a.Send(pid, Term::Tuple({Term::Atom("line"), Term::Of(1), Term::Of(2)})));
  }
  CHECK(
      kit::Eventually([&] { return cluster.b.MessageBalance().dropped_unreadable == kMessages; }));
  CHECK(cluster.b.Info().dropped_unreadable == kMessages);
  bool remembered = false;
  for (const auto& drop : cluster.b.LastDrops()) {
    remembered |= drop.reason == gen::DropReason::kUnreadable && drop.to == pid;
  }
  CHECK(remembered);
  CHECK(kit::Eventually([&] { return told.load(); }));
  // Its sender is told where somebody waits: a request, or an important message.
  const Term unfit = Term::Tuple({Term::Atom("line"), Term::Of(1), Term::Of(2)});
  CHECK(cluster.a.Call<int>(pid, unfit).error() == gen::ErrIncorrect);
  CHECK(cluster.a.SendImportant(pid, unfit).error() == gen::ErrIncorrect);
  CHECK(cluster.b.MessageBalance().dropped_unreadable == kMessages);
  CHECK(cluster.log_b.Contains(" to " + pid.ToString() + " 'unread_lines' "));
  CHECK(cluster.log_b.Contains("network: a request of unreadablea@127.0.0.1 to " + pid.ToString() +
                               " 'unread_lines' "));
  const std::size_t lines = cluster.log_b.Count("does not fit its type");
  CHECK(lines >= gen::LogLimit::kLines);
  CHECK(lines <= MostLines(begin));
  CHECK(cluster.a.Send(pid, gen::Atom("end")));
  CHECK(cluster.b.WaitProcess(pid));
  CHECK(cluster.b.Send(*listener, gen::Atom("end")));
  CHECK(cluster.b.WaitProcess(*listener));
}

TEST_CASE("unreadable: the lines about a pool's worker name its pool") {
  class UnreadWorker : public act::Actor {};
  class UnreadPool : public act::Pool {
    gen::Result<act::PoolOptions> Init(const gen::Args&) override {
      return act::PoolOptions{.pool_size = 1, .worker_factory = gen::Factory<UnreadWorker>()};
    }
  };
  Cluster cluster("unread_worker");
  const gen::PID pool = cluster.b.SpawnRegister("unread_pool", gen::Factory<UnreadPool>()).value();
  gen::PID worker;
  for (const gen::PID pid : cluster.b.ProcessList()) {
    if (cluster.b.ProcessInfo(pid).value().parent == pool) worker = pid;
  }
  REQUIRE(worker);
  const Term unfit = Term::Tuple({Term::Atom("line"), Term::Of(1), Term::Of(2)});
  CHECK(cluster.a.Send(worker, unfit));
  CHECK(cluster.a.Call<int>(worker, unfit).error() == gen::ErrIncorrect);
  for (const char* const what : {"message", "request"}) {
    CAPTURE(what);
    const std::string begin = std::string("network: a ") + what +
                              " of unread_workera@127.0.0.1 to " + worker.ToString() + " ";
    const std::string end = "UnreadWorker of pool 'unread_pool' does not fit its type: ";
    CHECK(kit::Eventually([&] {
      const auto lines = cluster.log_b.Lines();
      return std::ranges::any_of(lines, [&](const auto& line) {
        return line.text.find(begin) != std::string::npos &&
               line.text.find(end) != std::string::npos;
      });
    }));
  }
}

TEST_CASE("log limit: who sends to a node that is away does not fill the log") {
  kit::LogCapture log;
  node::Node node = TryStart("to_nobody@127.0.0.1", log).value();
  constexpr std::uint64_t kMessages = 100;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 1; i <= kMessages; ++i) {
    CHECK(node.Send(gen::ProcessID{"any", "nobody@127.0.0.1"}, 1));
    REQUIRE(kit::Eventually([&] { return node.MessageBalance().dropped_no_connection == i; }));
  }
  const std::size_t lines = log.Count("no connection with nobody@127.0.0.1");
  CHECK(lines >= gen::LogLimit::kLines);
  CHECK(lines <= MostLines(begin));
}

}  // namespace ergon::dist
