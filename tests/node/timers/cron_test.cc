#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <asio/io_context.hpp>

#include <ergon/node/io/clock_watch.h>

#include <kit/gate.h>
#include <kit/manual_time.h>
#include <kit/threads.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

using std::chrono::sys_seconds;

sys_seconds At(unsigned day, int hour, int minute = 0, int second = 0) {
  return std::chrono::sys_days(std::chrono::year(2024) / std::chrono::February /
                               std::chrono::day(day)) +
         std::chrono::hours(hour) + std::chrono::minutes(minute) + std::chrono::seconds(second);
}

// A node whose wall clock the test moves: 27 February 2024, 12:00:00.
struct CronNode {
  CronNode() : t(Options()) {}
  gen::NodeOptions Options() {
    gen::NodeOptions options = time.Into();
    options.wall_clock = [this] {
      return std::chrono::time_point_cast<std::chrono::system_clock::duration>(
          At(27, 12) + std::chrono::nanoseconds(time.Now()) + set.load());
    };
    return options;
  }
  // Lets time pass, second by second.
  void Pass(std::chrono::seconds seconds) const {
    for (std::int64_t i = 0; i < seconds.count(); ++i) time.Pass(1s);
  }
  void AddSend(gen::Atom name, std::string spec, gen::Target to, bool enabled = true) {
    CHECK(t.node.AddCronJob({.name = name,
                             .spec = std::move(spec),
                             .action = gen::CronAction::Send(to),
                             .enabled = enabled}));
  }

  const kit::ManualTime time;
  std::atomic<std::chrono::seconds> set{std::chrono::seconds(0)};  // by hand
  TestNode t;
};

using Run = std::pair<std::string, sys_seconds>;

Handlers Collect(Notes<Run>& notes) {
  return {.message = [&notes](Subject&, gen::PID, gen::Message& message) {
    const auto run = message.Take<gen::MessageCron>();
    notes.Add({run.job.ToString(), run.time});
    return gen::Continue();
  }};
}

TEST_CASE("cron: jobs send messages when their time has come") {
  Notes<Run> notes;
  CronNode c;
  const gen::PID pid = c.t.Spawn(Collect(notes));
  c.AddSend("every", "* * * * *", pid);
  c.AddSend("third", "*/3 * * * *", pid);
  CHECK(c.t.node.Info().timers == 1);
  c.Pass(59s);
  CHECK(c.t.node.CronJobInfo("every")->runs == 0);
  CHECK(c.t.node.CronJobInfo("every")->next_run == At(27, 12, 1));
  c.Pass(1s);
  CHECK(kit::Eventually([&] { return notes.size() == 1; }));
  c.Pass(120s);
  CHECK(kit::Eventually([&] { return notes.size() == 4; }));
  CHECK(notes.All() == std::vector<Run>{{"every", At(27, 12, 1)},
                                        {"every", At(27, 12, 2)},
                                        {"every", At(27, 12, 3)},
                                        {"third", At(27, 12, 3)}});
  const auto info = c.t.node.CronJobInfo("third").value();
  CHECK(info.runs == 1);
  CHECK(info.last_run == At(27, 12, 3));
  CHECK(info.next_run == At(27, 12, 6));
  CHECK(info.spec == "*/3 * * * *");
  CHECK(info.zone == "UTC");
}

TEST_CASE("cron: jobs are added, disabled, enabled and removed") {
  Notes<Run> notes;
  CronNode c;
  const gen::PID pid = c.t.Spawn(Collect(notes));
  c.AddSend("b", "* * * * *", pid, false);
  CHECK(c.t.node.Info().timers == 0);
  CHECK(!c.t.node.CronJobInfo("b")->next_run);
  c.Pass(120s);
  CHECK(c.t.node.EnableCronJob("b"));
  CHECK(c.t.node.EnableCronJob("b"));
  c.Pass(60s);
  CHECK(kit::Eventually([&] { return notes.size() == 1; }));
  CHECK(c.t.node.DisableCronJob("b"));
  CHECK(c.t.node.Info().timers == 0);
  c.AddSend("a", "@hourly", pid);
  const auto jobs = c.t.node.CronJobs();
  CHECK(jobs.size() == 2);
  CHECK(jobs[0].name == "a");
  CHECK(jobs[1].name == "b");
  CHECK(!jobs[1].enabled);
  CHECK(c.t.node.RemoveCronJob("a"));
  CHECK(c.t.node.RemoveCronJob("b"));
  CHECK(c.t.node.CronJobs().empty());
  for (auto failed :
       {c.t.node.RemoveCronJob("b"), c.t.node.EnableCronJob("b"), c.t.node.DisableCronJob("b")}) {
    CHECK(failed.error() == gen::ErrProcessUnknown);
  }
  CHECK(c.t.node.CronJobInfo("b").error() == gen::ErrProcessUnknown);
  CHECK(notes.size() == 1);
}

// In an action: asks the node while it is copied and destroyed.
struct AsksForJobs {
  explicit AsksForJobs(gen::Node& asked) : node(&asked) {}
  AsksForJobs(const AsksForJobs& other) : node(other.node) { Ask(); }
  AsksForJobs& operator=(const AsksForJobs&) = delete;
  ~AsksForJobs() { Ask(); }
  void Ask() const { (void)node->CronJobs(); }
  gen::Node* node;
};

TEST_CASE("cron: what is in an action may ask the node while it is copied and destroyed") {
  CronNode c;
  const gen::CronJob job{
      .name = "job",
      .spec = "* * * * *",
      .action = gen::CronAction::Run(
          [asks = AsksForJobs(c.t.node)](gen::Process&, const gen::MessageCron&) { asks.Ask(); })};
  CHECK(c.t.node.AddCronJob(job));
  CHECK(c.t.node.AddCronJob(job).error() == gen::ErrTaken);
  CHECK(c.t.node.RemoveCronJob("job"));
  CHECK(c.t.node.CronJobs().empty());
}

TEST_CASE("cron: what is wrong with a job is told") {
  CronNode c;
  const auto action = gen::CronAction::Send("name");
  auto error = [&](const gen::CronJob& job) {
    auto added = c.t.node.AddCronJob(job);
    CHECK(added.error() == gen::ErrIncorrect);
    return std::string(added.error().detail());
  };
  CHECK(error({.spec = "@daily", .action = action}) == "name: must not be empty");
  CHECK(error({.name = "j", .spec = "61 * * * *", .action = action}) ==
        "minute: \"61\", must be in 0..59");
  CHECK(error({.name = "j", .spec = "@daily"}) == "action: is empty");
  CHECK(error({.name = "j", .spec = "@daily", .action = gen::CronAction::Spawn({})}) ==
        "action: is empty");
  CHECK(error({.name = "j", .spec = "@daily", .zone = gen::CronZone::Ahead(25h), .action = action})
            .starts_with("zone: UTC+25:00"));
  CHECK(c.t.node.AddCronJob({.name = "j", .spec = "@daily", .action = action}));
  CHECK(c.t.node.AddCronJob({.name = "j", .spec = "@daily", .action = action}).error() ==
        gen::ErrTaken);
  c.t.node.Stop();
  CHECK(c.t.node.AddCronJob({.name = "k", .spec = "@daily", .action = action}).error() ==
        gen::ErrNodeTerminated);
  CHECK(c.t.node.EnableCronJob("j").error() == gen::ErrNodeTerminated);
  CHECK(c.t.node.Info().timers == 0);
}

TEST_CASE(
    "cron: of what is late the last one runs, if it may; each other one is counted as missed") {
  Notes<Run> notes;
  CronNode c;
  const gen::PID pid = c.t.Spawn(Collect(notes));
  const auto info = [&](gen::Atom name) { return c.t.node.CronJobInfo(name).value(); };
  CHECK(c.t.node.AddCronJob({.name = "patient",
                             .spec = "*/10 * * * *",
                             .action = gen::CronAction::Send(pid),
                             .may_be_late = 5min}));
  c.AddSend("plain", "*/10 * * * *", pid);
  c.set = 45min;
  CHECK(info("plain").missed == 0);
  c.t.node.CheckCronJobs();  // no time passes
  CHECK(kit::Eventually([&] { return notes.size() == 1; }));
  CHECK(notes.All()[0] == Run("patient", At(27, 12, 40)));
  CHECK(info("patient").missed == 3);
  CHECK(info("patient").runs == 1);
  CHECK(info("plain").missed == 4);
  CHECK(info("plain").runs == 0);
  CHECK(c.t.log.Contains("cron job 'plain' has missed 4 of its runs, the first 2100 s ago"));
  c.set = 56min;
  c.t.node.CheckCronJobs();  // late for more than five minutes
  CHECK(info("patient").missed == 4);
  // Each run of many years.
  const auto before = info("plain");
  c.set = std::chrono::days(100 * 365);
  c.t.node.CheckCronJobs();
  const auto runs = std::chrono::days(100 * 365) / 10min;
  CHECK(info("plain").runs == before.runs + 1);  // at 12:00 sharp
  CHECK(info("plain").missed + info("plain").runs == static_cast<std::uint64_t>(runs));
  CHECK(info("patient").missed + info("patient").runs == static_cast<std::uint64_t>(runs));
  CHECK(info("patient").next_run == At(27, 12, 10) + std::chrono::days(100 * 365));
  CHECK(c.t.log.Contains(fmt::format("cron job 'plain' has missed {} of its runs",
                                     info("plain").missed - before.missed)));
  CHECK(c.t.node
            .AddCronJob({.name = "j",
                         .spec = "@daily",
                         .action = gen::CronAction::Send(pid),
                         .may_be_late = 8 * 24h})
            .error()
            .detail() == "may_be_late: 691200 s is outside 0..604800");
}

TEST_CASE("cron: what would be late is missed; a clock that is set back repeats nothing") {
  Notes<Run> notes;
  CronNode c;
  const gen::PID pid = c.t.Spawn(Collect(notes));
  c.AddSend("j", "*/10 * * * *", pid);
  c.set = 25min;  // as after a suspension
  c.Pass(60s);
  CHECK(c.t.node.CronJobInfo("j")->missed == 2);  // which nobody made up for
  CHECK(c.t.node.CronJobInfo("j")->next_run == At(27, 12, 30));
  c.Pass(240s);
  CHECK(kit::Eventually([&] { return notes.size() == 1; }));
  CHECK(notes.All()[0].second == At(27, 12, 30));
  c.set = 20min;
  c.t.node.CheckCronJobs();
  CHECK(c.t.log.Contains("the clock was set back by 300 s: cron jobs wait"));
  c.Pass(600s);  // to 12:35
  CHECK(c.t.node.CronJobInfo("j")->runs == 1);
  c.Pass(300s);
  CHECK(kit::Eventually([&] { return notes.size() == 2; }));
  CHECK(notes.All()[1].second == At(27, 12, 40));
  // Set forward by less than a minute: a little late.
  c.set = 20min + 30s;
  c.Pass(580s);
  CHECK(c.t.node.CronJobInfo("j")->runs == 3);
  CHECK(c.t.node.CronJobInfo("j")->missed == 2);
}

TEST_CASE("cron: a clock that is set back before any job was due is told, too") {
  Notes<Run> notes;
  CronNode c;
  const gen::PID pid = c.t.Spawn(Collect(notes));
  c.set = 24h;
  c.AddSend("j", "*/10 * * * *", pid);
  c.set = 0h;
  c.t.node.CheckCronJobs();
  CHECK(c.t.log.Contains("the clock was set back by 86400 s: cron jobs wait"));
  CHECK(c.t.node.DisableCronJob("j"));
  CHECK(c.t.node.EnableCronJob("j"));
  CHECK(c.t.node.CronJobInfo("j")->next_run == At(27, 12, 10));
}

TEST_CASE("cron: what is told of the clock is written without the lock of the jobs") {
  const kit::ManualTime time;
  std::atomic<std::chrono::seconds> set{24h};
  std::atomic<int> asked{0};  // how often others have asked for the job
  kit::Threads others;
  Node* to_ask = nullptr;
  gen::NodeOptions options = time.Into();
  options.wall_clock = [&] {
    return std::chrono::time_point_cast<std::chrono::system_clock::duration>(At(27, 12) +
                                                                             set.load());
  };
  options.log_sink = [&](gen::LogLevel, const std::string& line) {
    if (line.find("was set back") == std::string::npos &&
        line.find("has missed") == std::string::npos) {
      return;
    }
    const int before = asked;
    others.Start([&] {
      CHECK(to_ask->CronJobInfo("j"));
      ++asked;
    });
    CHECK(kit::Eventually([&] { return asked > before; }));
  };
  Node node = Start("cron@localhost", options).value();
  to_ask = &node;
  const gen::PID pid =
      node.Spawn(
              Make({.message = [](Subject&, gen::PID, gen::Message&) { return gen::Continue(); }}))
          .value();
  CHECK(
      node.AddCronJob({.name = "j", .spec = "*/10 * * * *", .action = gen::CronAction::Send(pid)}));
  set = 0h;
  node.CheckCronJobs();
  CHECK(asked == 1);
  set = 48h;
  node.CheckCronJobs();
  CHECK(asked == 2);
  others.Join();
}

TEST_CASE("cron: a job that may not be late runs, although nothing is on time to the nanosecond") {
  Notes<Run> notes;
  CronNode c;
  const gen::PID pid = c.t.Spawn(Collect(notes));
  c.time.Pass(300ms);
  CHECK(c.t.node.AddCronJob({.name = "j",
                             .spec = "*/10 * * * *",
                             .action = gen::CronAction::Send(pid),
                             .may_be_late = 0s}));
  c.Pass(600s);
  CHECK(kit::Eventually([&] { return notes.size() == 1; }));
  CHECK(c.t.node.CronJobInfo("j")->missed == 0);
  c.set = 10min + 2s;  // past the next one
  c.t.node.CheckCronJobs();
  CHECK(c.t.node.CronJobInfo("j")->runs == 1);
  CHECK(c.t.node.CronJobInfo("j")->missed == 1);
}

TEST_CASE("cron: jobs send values, spawn processes and run functions") {
  Notes<int> values;
  Notes<std::string> ran;
  std::atomic<int> spawned{0};
  CronNode c;
  const gen::PID pid = c.t.Spawn(
      {.message =
           [&](Subject&, gen::PID from, gen::Message& message) {
             CHECK(from == c.t.node.Self());
             values.Add(message.Take<int>());
             return gen::Continue();
           },
       .call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::Reply(5); }});
  CHECK(c.t.node.RegisterName("receiver", pid));
  auto add = [&](gen::Atom name, gen::CronAction action) {
    CHECK(c.t.node.AddCronJob({.name = name, .spec = "* * * * *", .action = std::move(action)}));
  };
  add("send", gen::CronAction::Send("receiver", 7));
  add("spawn", gen::CronAction::Spawn(Make({.init =
                                                [&](Subject& self, const gen::Args& args) {
                                                  CHECK(self.Name() == gen::Atom("worker"));
                                                  spawned += args.Get<int>(0).value();
                                                  return gen::Continue();
                                                }}),
                                      {}, gen::MakeArgs(3), "worker"));
  add("run", gen::CronAction::Run([&](gen::Process& self, const gen::MessageCron& run) {
        ran.Add(run.job.ToString() + std::to_string(self.Call<int>("receiver", 1).value()));
      }));
  c.Pass(60s);
  CHECK(kit::Eventually([&] { return values.size() == 1 && spawned == 3 && ran.size() == 1; }));
  CHECK(ran.All()[0] == "run5");
  CHECK(c.t.EventuallyProcesses(2));  // the function's is gone
  // The time for its Init goes on with the next minute: it has to be over.
  CHECK(kit::Eventually([&] {
    const auto worker = c.t.node.Resolve("worker");
    const auto info = worker ? c.t.node.ProcessInfo(*worker) : gen::ErrProcessUnknown;
    return info && info->state == gen::ProcessState::kIdle;
  }));
  // The name is in use now.
  c.Pass(60s);
  CHECK(kit::Eventually([&] { return values.size() == 2 && ran.size() == 2; }));
  CHECK(kit::Eventually([&] { return c.t.node.CronJobInfo("spawn")->failed == 1; }));
  CHECK(c.t.node.CronJobInfo("spawn")->last_error.find("'worker'") != std::string::npos);
  CHECK(c.t.node.CronJobInfo("run")->failed == 0);
  CHECK(c.t.node.CronJobInfo("send")->failed == 0);
}

TEST_CASE("cron: a function may take longer than an Init") {
  CronNode c;
  Notes<gen::PID> begun;
  std::atomic<int> done{0};
  CHECK(c.t.node.AddCronJob(
      {.name = "long",
       .spec = "* * * * *",
       .action = gen::CronAction::Run([&](gen::Process& self, const gen::MessageCron&) {
         begun.Add(self.Self());
         if (self.Sleep(30s)) ++done;
       })}));
  c.Pass(60s);
  REQUIRE(kit::Eventually([&] { return begun.size() == 1; }));
  // Its time begins when it waits, on a clock that this test moves.
  REQUIRE(c.t.EventuallyWaiting(begun.All().front()));
  CHECK(c.t.EventuallyProcesses(1));
  c.Pass(29s);
  CHECK(done == 0);
  c.Pass(2s);
  CHECK(c.t.EventuallyProcesses(0));
  CHECK(done == 1);
  CHECK(c.t.node.CronJobInfo("long")->failed == 0);
}

TEST_CASE("cron: a job does not answer for what a former one of its name has started") {
  kit::ThreadGate gate;
  CronNode c;
  const auto add = [&](std::string spec, gen::CronAction action) {
    CHECK(c.t.node.AddCronJob(
        {.name = "again", .spec = std::move(spec), .action = std::move(action)}));
  };
  add("* * * * *", gen::CronAction::Run([&gate](gen::Process&, const gen::MessageCron&) {
        gate.Enter();
        throw std::runtime_error("no");
      }));
  c.Pass(60s);
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(c.t.node.RemoveCronJob("again"));
  add("@daily", gen::CronAction::Send("nobody"));
  gate.Open();
  CHECK(kit::Eventually([&] { return c.t.log.Contains("cron job 'again' has failed: "); }));
  CHECK(c.t.EventuallyProcesses(0));
  const auto info = c.t.node.CronJobInfo("again").value();
  CHECK(info.failed == 0);
  CHECK(info.last_error.empty());
}

TEST_CASE("cron: failures are counted and told") {
  CronNode c;
  auto add = [&](gen::Atom name, gen::CronAction action) {
    CHECK(c.t.node.AddCronJob({.name = name, .spec = "* * * * *", .action = std::move(action)}));
  };
  add("send", gen::CronAction::Send("nobody"));
  add("run", gen::CronAction::Run(
                 [](gen::Process&, const gen::MessageCron&) { throw std::runtime_error("no"); }));
  add("spawn", gen::CronAction::Spawn(Make({.init = [](Subject&, const gen::Args&) -> gen::Status {
        return gen::Stop(gen::Reason::Error("not today"));
      }})));
  c.Pass(60s);
  for (const gen::Atom name : {"send", "run", "spawn"}) {
    CHECK(kit::Eventually([&] { return c.t.node.CronJobInfo(name)->failed == 1; }));
    CHECK(c.t.node.CronJobInfo(name)->runs == 1);
  }
  CHECK(c.t.node.CronJobInfo("run")->last_error.find("panic: no") != std::string::npos);
  CHECK(c.t.node.CronJobInfo("spawn")->last_error.find("not today") != std::string::npos);
}

TEST_CASE("cron: the rules of a zone that throw while missed runs are counted fail their job") {
  const auto fails = std::make_shared<std::atomic<bool>>(false);
  const auto zone = gen::CronZone::Of("odd", [fails](sys_seconds) {
    if (*fails) throw std::runtime_error("no table");
    return std::chrono::seconds(0);
  });
  Notes<Run> notes;
  CronNode c;
  const gen::PID pid = c.t.Spawn(Collect(notes));
  CHECK(c.t.node.AddCronJob(
      {.name = "odd", .spec = "@daily", .zone = zone, .action = gen::CronAction::Send(pid)}));
  c.AddSend("plain", "@daily", pid);
  *fails = true;
  c.set = std::chrono::days(10);
  c.t.node.CheckCronJobs();
  const auto info = [&](gen::Atom name) { return c.t.node.CronJobInfo(name).value(); };
  CHECK(info("odd").missed == 1);  // the one that was known
  CHECK(info("odd").failed == 1);
  CHECK(info("plain").missed == 10);
  *fails = false;
  c.Pass(60s);
  CHECK(info("odd").next_run == info("plain").next_run);
  CHECK(info("odd").missed == 10);
}

TEST_CASE("cron: the rules of a zone that throw fail their job, and no other") {
  const auto fails = std::make_shared<std::atomic<bool>>(true);
  const auto zone = gen::CronZone::Of("odd", [fails](sys_seconds) {
    if (*fails) throw std::runtime_error("no table");
    return std::chrono::seconds(0);
  });
  const std::string words = "zone: the rules of odd threw: no table";
  Notes<Run> notes;
  CronNode c;
  const gen::PID pid = c.t.Spawn(Collect(notes));
  const gen::CronJob job{
      .name = "odd", .spec = "* * * * *", .zone = zone, .action = gen::CronAction::Send(pid)};
  const auto refused = c.t.node.AddCronJob(job);
  CHECK(refused.error() == gen::ErrIncorrect);
  CHECK(refused.error().detail() == words);
  *fails = false;
  CHECK(c.t.node.AddCronJob(job));
  c.AddSend("plain", "* * * * *", pid);
  const auto info = [&] { return c.t.node.CronJobInfo("odd").value(); };
  c.Pass(60s);
  CHECK(kit::Eventually([&] { return notes.size() == 2; }));
  *fails = true;
  c.Pass(180s);  // the first of these was due already
  CHECK(kit::Eventually([&] { return notes.size() == 6; }));
  CHECK(info().runs == 2);
  CHECK(info().failed == 1);  // told once
  CHECK(info().last_error.find(words) != std::string::npos);
  CHECK(!info().next_run);
  CHECK(c.t.log.Contains("cron job 'odd' has failed: "));
  CHECK(c.t.node.CronRuns(At(28, 10), 90s).size() == 2);  // of the other
  *fails = false;
  c.Pass(180s);
  CHECK(kit::Eventually([&] { return c.t.node.CronJobInfo("plain")->runs == 7; }));
  CHECK(info().runs >= 4);
  CHECK(info().runs + info().missed ==
        7);  // those that were due while the rules threw are not forgotten
  CHECK(info().next_run);
  CHECK(c.t.node.DisableCronJob("odd"));
  *fails = true;
  CHECK(c.t.node.EnableCronJob("odd").error().detail() == words);
  CHECK(!info().enabled);
}

// Copies throw when it is told to.
struct Costly {
  explicit Costly(std::shared_ptr<std::atomic<bool>> fails_in) : fails(std::move(fails_in)) {}
  Costly(Costly&&) noexcept = default;
  Costly& operator=(Costly&&) noexcept = default;
  Costly(const Costly& other) : fails(other.fails) {
    if (*fails) throw std::runtime_error("too much");
  }
  Costly& operator=(const Costly&) = delete;
  std::shared_ptr<std::atomic<bool>> fails;
};

TEST_CASE("cron: an action of which a copy throws fails its job, and no other") {
  const auto fails = std::make_shared<std::atomic<bool>>(false);
  Notes<Run> notes;
  CronNode c;
  const gen::PID pid = c.t.Spawn(Collect(notes));
  const auto add = [&](gen::Atom name, gen::CronAction action) {
    CHECK(c.t.node.AddCronJob({.name = name, .spec = "* * * * *", .action = std::move(action)}));
  };
  add("copy", gen::CronAction::Send(pid, Costly(fails)));
  add("function",
      gen::CronAction::Run([costly = Costly(fails)](gen::Process&, const gen::MessageCron&) {}));
  add("plain", gen::CronAction::Send(pid));
  *fails = true;
  c.Pass(120s);
  CHECK(kit::Eventually([&] { return notes.size() == 2; }));
  for (const gen::Atom name : {"copy", "function"}) {
    CHECK(kit::Eventually([&] { return c.t.node.CronJobInfo(name)->failed == 2; }));
    CHECK(c.t.node.CronJobInfo(name)->last_error.find("too much") != std::string::npos);
  }
}

TEST_CASE("cron: the runs to come") {
  CronNode c;
  auto add = [&](gen::Atom name, std::string spec, gen::CronZone zone = {}) {
    CHECK(c.t.node.AddCronJob({.name = name,
                               .spec = std::move(spec),
                               .zone = std::move(zone),
                               .action = gen::CronAction::Send("name")}));
  };
  add("noon", "0 12 * * *");
  add("east", "0 12 * * *", gen::CronZone::Ahead(2h));
  add("often", "*/30 * * * *");
  add("off", "* * * * *");
  CHECK(c.t.node.DisableCronJob("off"));
  std::vector<Run> runs;
  for (const auto& run : c.t.node.CronRuns(At(29, 10), 2h + 1s)) {
    runs.emplace_back(run.job.ToString(), run.time);
  }
  CHECK(runs == std::vector<Run>{{"east", At(29, 10)},
                                 {"often", At(29, 10)},
                                 {"often", At(29, 10, 30)},
                                 {"often", At(29, 11)},
                                 {"often", At(29, 11, 30)},
                                 {"noon", At(29, 12)},
                                 {"often", At(29, 12)}});
  CHECK(c.t.node.CronRuns(At(29, 10), 0s).empty());
  if (kit::kSanitized) {
    // To look for the noons of 27 years, three times, would take the address sanitizer half a minute.
    for (const gen::Atom name : {"noon", "east"}) CHECK(c.t.node.RemoveCronJob(name));
    add("too", "15,45 * * * *");
  }
  CHECK(c.t.node.CronRuns(At(29, 10), 24h * 365).size() == 10'000);
  // As long as there is a calendar.
  constexpr auto kEver = std::chrono::seconds::max();
  CHECK(c.t.node.CronRuns(At(29, 10), kEver).size() == 10'000);
  CHECK(c.t.node.CronRuns(sys_seconds::min(), kEver).size() == 10'000);
  CHECK(c.t.node.CronRuns(sys_seconds::max(), kEver).empty());
  CHECK(c.t.node.CronRuns(At(29, 10), std::chrono::seconds::min()).empty());
}

// The descriptors by which nodes of this program notice that the machine's clock was set: timers of the clock of the
// day (0) that are cancelled then (0x02).
std::vector<int> ClockAlarms() {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (text.find("clockid: 0\n") != text.npos && text.find("settime flags: 03\n") != text.npos) {
      found.push_back(std::stoi(entry.path().filename().string()));
    }
  }
  return found;
}

TEST_CASE("cron: the machine's own clock") {
  TestNode t;
  CHECK(t.node.AddCronJob({.name = "j",
                           .spec = "* * * * *",
                           .zone = gen::CronZone::Local(),
                           .action = gen::CronAction::Send("nobody")}));
  const auto next = t.node.CronJobInfo("j")->next_run.value();
  const auto now = std::chrono::system_clock::now();
  CHECK(next >= now - 1min);
  CHECK(next <= now + 1min);
  CHECK(ClockAlarms().size() == 1);
}

TEST_CASE("cron: a node that is stopped before it has begun to watch leaves no descriptor behind") {
  for (int i = 0; i < 20; ++i) {
    TestNode t;
    CHECK(t.node.AddCronJob(
        {.name = "j", .spec = "* * * * *", .action = gen::CronAction::Send("nobody")}));
  }
  CHECK(ClockAlarms().empty());
}

TEST_CASE("cron: a node looks at once for what is due when the machine's clock was set") {
  Notes<Run> notes;
  std::atomic<std::chrono::minutes> set{0min};
  TestNode t({.wall_clock = [&set] { return At(27, 12) + set.load(); }});
  const gen::PID pid = t.Spawn(Collect(notes));
  CHECK(t.node.AddCronJob(
      {.name = "j", .spec = "*/10 * * * *", .action = gen::CronAction::Send(pid)}));
  const std::vector<int> alarms = ClockAlarms();
  REQUIRE(alarms.size() == 1);
  for (std::size_t runs = 1; runs <= 2; ++runs) {
    set = runs * 10min;
    // The descriptor becomes readable, as when the clock is set. The job's own timer has a minute to go, which is more
    // than the test waits without a sanitizer.
    itimerspec soon = {};
    soon.it_value.tv_nsec = 1;
    CHECK(timerfd_settime(alarms.front(), 0, &soon, nullptr) == 0);
    CHECK(kit::Eventually([&] { return notes.size() == runs; }));
    CHECK(notes.All().back() == Run("j", At(27, 12) + set.load()));
  }
}

TEST_CASE("cron: who watches the clock is told each time that it was set") {
  asio::io_context context;
  std::array<int, 2> ends{};
  REQUIRE(pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC) == 0);
  Descriptor set(ends[1]);
  int told = 0;
  ClockWatch watch(context, Descriptor(ends[0]), [&] { ++told; });
  for (int i = 1; i <= 3; ++i) {
    CHECK(write(set.number(), "8 bytes", 8) == 8);
    CHECK(context.run_one() == 1);
    CHECK(told == i);
  }
  CHECK(context.poll() == 0);  // what was taken does not tell twice
}

TEST_CASE("cron: what is sent to a name or an alias counts as sent to it") {
  struct SplitsCron : act::Actor {
    explicit SplitsCron(std::atomic<int>* by_name_in) : by_name(by_name_in) {}
    gen::Status Init(const gen::Args&) override {
      SetSplitHandle(true);
      return gen::Continue();
    }
    gen::Status HandleMessageName(gen::Atom name, gen::PID, gen::Message&) override {
      CHECK(name == "cron_split");
      by_name->fetch_add(1);
      return gen::Continue();
    }
    std::atomic<int>* by_name;
  };
  std::atomic<int> by_name{0};
  CronNode c;
  // Made before the name is an atom.
  const auto action = gen::CronAction::Send(std::string("cron_split"), 7);
  c.t.node.SpawnRegister("cron_split", gen::Factory<SplitsCron>(&by_name)).value();
  c.AddSend("j", "*/10 * * * *", gen::ProcessID{"cron_split", {}});
  CHECK(c.t.node.AddCronJob({.name = "k", .spec = "*/10 * * * *", .action = action}));
  c.Pass(600s);
  CHECK(kit::Eventually([&] { return by_name == 2; }));
}

}  // namespace
}  // namespace ergon::node
