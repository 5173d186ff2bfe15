// What may be changed while the node runs.
#include <atomic>
#include <csignal>
#include <string>
#include <thread>

#include <unistd.h>

#include <ergon/act/pool.h>
#include <ergon/gen/node_change.h>
#include <ergon/gen/process_change.h>

#include <kit/gate.h>
#include <kit/options_file.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

TEST_CASE("changes: the node's log level, and those of processes that have none") {
  TestNode t({.log_level = gen::LogLevel::kWarning});
  const gen::PID follows = t.Spawn();
  const gen::PID own = t.Spawn({}, {.log_level = gen::LogLevel::kError});
  const auto say = [&](const std::string& what) {
    for (const gen::PID pid : {follows, own}) {
      CHECK(t.Run(pid, [&](Subject& self) { self.Log().Info("{}", what); }));
    }
  };
  say("before");
  CHECK(t.node.SetLogLevel(gen::LogLevel::kInfo));
  say("after");
  CHECK(t.log.Count("before") == 0);
  CHECK(t.log.Count("after") == 1);
  CHECK(t.log.Count("test@localhost: log_level: info, was warning") == 1);
  CHECK(t.node.ProcessInfo(follows)->log_level == gen::LogLevel::kInfo);
  CHECK(t.node.ProcessInfo(own)->log_level == gen::LogLevel::kError);
  CHECK(t.node.SetLogLevel(gen::LogLevel::kInfo));
  CHECK(t.log.Count("log_level: ") == 1);  // nothing has changed
  const auto wrong = t.node.SetLogLevel(static_cast<gen::LogLevel>(9));
  CHECK(wrong.error() == gen::ErrIncorrect);
  CHECK(wrong.error().detail() == "log_level: 9, must be a LogLevel");
  CHECK(t.node.SetLogLevel(gen::LogLevel::kOff));
  CHECK(t.log.Count("log_level: off, was info") == 1);
  CHECK(t.node.SetMailboxSize(7));
  CHECK_FALSE(t.log.Contains("mailbox_size"));
  CHECK(t.node.SetLogLevel(gen::LogLevel::kError));
  CHECK(t.log.Count("log_level: error, was off") == 1);
}

TEST_CASE("changes: the log level of a process") {
  TestNode t;
  const gen::PID pid = t.node.SpawnRegister("talker", Make({})).value();
  const auto say = [&](const std::string& what) {
    CHECK(t.Run(pid, [&](Subject& self) { self.Log().Debug("{}", what); }));
  };
  say("one");
  CHECK(t.node.SetProcessLogLevel("talker", gen::LogLevel::kDebug));
  say("two");
  CHECK(t.node.SetProcessLogLevel(pid, std::nullopt));
  say("three");
  CHECK(t.log.Count("one") == 0);
  CHECK(t.log.Count(": two") == 1);
  CHECK(t.log.Count("three") == 0);
  const std::string head = pid.ToString() + " 'talker' ergon::node::Subject: log_level: ";
  CHECK(t.log.Count(head + "debug, was the node's") == 1);
  CHECK(t.log.Count(head + "the node's, was debug") == 1);
  CHECK(t.node.SetProcessLogLevel("nobody_talks", gen::LogLevel::kDebug).error() ==
        gen::ErrProcessUnknown);
  CHECK(t.node.SetProcessLogLevel(pid, static_cast<gen::LogLevel>(9)).error() == gen::ErrIncorrect);
  CHECK(t.node.Kill(pid));
  CHECK(t.Ended(pid));
  CHECK(t.node.SetProcessLogLevel(pid, gen::LogLevel::kDebug).error() == gen::ErrProcessTerminated);
}

TEST_CASE("changes: a mailbox that shrinks drops nothing, and one that grows takes more at once") {
  TestNode t;
  kit::Gate gate(t.node);
  std::atomic<int> handled{0};
  const gen::PID pid = t.Spawn({.message =
                                    [&](Subject& self, gen::PID, gen::Message&) {
                                      (void)self.Call<bool>(gate.pid(), kit::EnterGate{},
                                                            {.timeout = gen::kInfinite});
                                      ++handled;
                                      return gen::Continue();
                                    }},
                               {.mailbox_size = 3});
  CHECK(t.node.Send(pid, 0));
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  for (int i = 0; i < 3; ++i) CHECK(t.node.Send(pid, i));
  CHECK(t.node.Send(pid, 3).error() == gen::ErrProcessMailboxFull);
  CHECK(t.node.SetProcessMailboxSize(pid, 1));
  CHECK(t.node.Send(pid, 3).error() == gen::ErrProcessMailboxFull);
  CHECK(t.node.ProcessInfo(pid)->messages_queued == 3);
  CHECK(t.node.ProcessInfo(pid)->mailbox == "bounded 1, reject");
  // Who waits for room is served although the process handles nothing meanwhile.
  std::thread waits([&] { CHECK(t.node.SendOrWait(pid, 4, gen::kInfinite)); });
  CHECK(t.node.SendOrWait(pid, 3, 0s).error() == gen::ErrProcessMailboxFull);
  CHECK(t.node.SetProcessMailboxSize(pid, 5));
  waits.join();
  CHECK(t.node.Send(pid, 5));
  CHECK(t.node.Send(pid, 6).error() == gen::ErrProcessMailboxFull);
  CHECK(t.node.SetProcessMailboxSize(pid, 0));
  for (int i = 0; i < 100; ++i) CHECK(t.node.Send(pid, i));
  CHECK(t.node.ProcessInfo(pid)->mailbox == "unbounded");
  gate.Open();
  CHECK(kit::Eventually([&] { return handled == 106; }));
  const std::string head = pid.ToString() + " ergon::node::Subject: mailbox_size: ";
  CHECK(t.log.Count(head + "1, was 3") == 1);
  CHECK(t.log.Count(head + "5, was 1") == 1);
  CHECK(t.log.Count(head + "0, was 5") == 1);
}

class PoolOfTwo : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    // The pool counts a worker among its own when that has begun; it is one before.
    const auto try_in_init = [](Subject& self, const gen::Args&) {
      CHECK(self.Node().SetProcessMailboxSize(self.Self(), 6).error() == gen::ErrNotAllowed);
      return gen::Continue();
    };
    return act::PoolOptions{.pool_size = 2, .worker_factory = Make({.init = try_in_init})};
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    return gen::Reply(Workers().front());
  }
};

TEST_CASE("changes: mailboxes that cannot be changed, and values that are none") {
  TestNode t;
  const gen::PID plain = t.Spawn();
  for (const int size : {-1, 4'000'001}) {
    const auto wrong = t.node.SetProcessMailboxSize(plain, size);
    CHECK(wrong.error() == gen::ErrIncorrect);
    CHECK(wrong.error().detail() ==
          "mailbox_size: " + std::to_string(size) + " is outside 0..4000000");
    CHECK(t.node.SetMailboxSize(size).error() == gen::ErrIncorrect);
  }
  const gen::PID pool = t.node.Spawn(gen::Factory<PoolOfTwo>()).value();
  CHECK(t.node.SetProcessMailboxSize(pool, 6).error() == gen::ErrUnsupported);
  const auto worker =
      t.node.CallWithPriority<gen::PID>(pool, 1, gen::MessagePriority::kHigh).value();
  CHECK(t.node.SetProcessMailboxSize(worker, 6).error() == gen::ErrNotAllowed);
  CHECK_FALSE(t.log.Contains("mailbox_size"));
}

TEST_CASE("changes: a process takes a change by a request, before what waits") {
  TestNode t;
  const gen::PID pid = t.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) {
    return gen::ReplyError(gen::Error("the behaviour saw it"));
  }});
  const gen::CallOptions high{.priority = gen::MessagePriority::kHigh};
  const auto change = [&](const gen::Target& to, const gen::ProcessChange& wanted) {
    return t.node.Call(to, gen::ProcessChange(wanted), high);
  };
  CHECK(change(pid, {.log_level = gen::LogLevel::kDebug, .mailbox_size = 3}).value());
  CHECK(t.node.ProcessInfo(pid)->mailbox_size == 3);
  CHECK(t.node.ProcessInfo(pid)->log_level == gen::LogLevel::kDebug);
  CHECK(t.log.Count(": mailbox_size: 3, was 0") == 1);
  // All or nothing.
  const auto wrong = change(pid, {.log_level = gen::LogLevel::kError, .mailbox_size = -1});
  CHECK(wrong.error() == gen::ErrIncorrect);
  CHECK(wrong.error().detail() == "mailbox_size: -1 is outside 0..4000000");
  CHECK(change(pid, {.log_level = static_cast<gen::LogLevel>(9), .mailbox_size = 4}).error() ==
        gen::ErrIncorrect);
  CHECK(change(pid, {.log_level = gen::LogLevel::kError, .log_level_of_node = true}).error() ==
        gen::ErrIncorrect);
  CHECK(t.node.ProcessInfo(pid)->mailbox_size == 3);
  CHECK(t.node.ProcessInfo(pid)->log_level == gen::LogLevel::kDebug);
  CHECK(change(pid, {.log_level_of_node = true}).value());
  CHECK(t.log.Count(": log_level: the node's, was debug") == 1);
  // Of normal priority it is a request as others.
  CHECK(t.node.Call(pid, gen::ProcessChange()).error().ToString().find("saw it") !=
        std::string::npos);
  // One made of a function, which waits for something else.
  const gen::PID function =
      t.node.Spawn([](gen::Process& self) { (void)self.Receive<std::string>(); }).value();
  CHECK(change(function, {.mailbox_size = 5}).value());
  CHECK(t.node.ProcessInfo(function)->mailbox_size == 5);
  CHECK(t.node.Send(function, std::string("done")));
  CHECK(t.Ended(function));
}

TEST_CASE("changes: the mailbox size of processes that are spawned from now on") {
  TestNode t;
  const gen::PID before = t.Spawn();
  CHECK(t.node.SetMailboxSize(2));
  const gen::PID after = t.Spawn();
  const gen::PID chosen = t.Spawn({}, {.mailbox = gen::Mailbox::Unbounded()});
  CHECK(t.node.ProcessInfo(before)->mailbox_size == 0);
  CHECK(t.node.ProcessInfo(after)->mailbox_size == 2);
  CHECK(t.node.ProcessInfo(chosen)->mailbox_size == 0);
  CHECK(t.log.Count("mailbox_size: 2, was 0") == 1);
}

TEST_CASE("changes: the options file, all or nothing") {
  const kit::OptionsFile file("log_level = \"warning\"\nmailbox_size = 9\n");
  TestNode t({.workers = 2, .options_file = file.path()});
  const auto size = [&] { return t.node.ProcessInfo(t.Spawn())->mailbox_size; };
  CHECK(size() == 0);  // it is not read by itself
  CHECK(t.node.ReloadOptions());
  CHECK(size() == 9);
  CHECK(t.log.Count("log_level: warning, was info") == 1);
  CHECK(t.log.Count("mailbox_size: 9, was 0") == 1);
  file.Write("mailbox_size = 5\nlog_level = \"loud\"\n");
  const auto wrong = t.node.ReloadOptions();
  CHECK(wrong.error() == gen::ErrIncorrect);
  CHECK(std::string(wrong.error().detail())
            .starts_with(file.path() + ":2: log_level: \"loud\", must be "));
  CHECK(size() == 9);
  file.Write("mailbox_size = 5\nworkers = 3\n");
  CHECK(t.node.ReloadOptions().error().detail() ==
        file.path() + ": workers: 3, but it is 2, and cannot be changed while the node runs");
  CHECK(size() == 9);
  file.Write("workers = 2\nlog_level = \"error\"\n");  // what is left out stays
  CHECK(t.node.ReloadOptions());
  CHECK(size() == 9);
  CHECK(t.log.Count("log_level: error, was warning") == 1);
  t.node.SetEnv("color", "red");
  t.node.SetEnv("size", 3);
  file.Write("[environment]\ncolor = \"blue\"\n");
  CHECK(t.node.ReloadOptions());
  CHECK(t.node.Env<std::string>("color") == "blue");
  CHECK(t.node.Env<int>("size") == 3);
  file.Write("workers = 3\n[environment]\ncolor = \"green\"\n");
  CHECK_FALSE(t.node.ReloadOptions());
  CHECK(t.node.Env<std::string>("color") == "blue");
  TestNode none;
  CHECK(none.node.ReloadOptions().error() == gen::ErrNotAllowed);
}

class Loud : public Subject {
 public:
  using Subject::Subject;
  [[nodiscard]] std::string BehaviorName() const override { return "words::Loud"; }
};

TEST_CASE("changes: what is the command line's, the options file does not change") {
  const kit::OptionsFile file("workers = 3\nlog_level = \"error\"\nmailbox_size = 9\n");
  TestNode t({.workers = 2,
              .log_level = gen::LogLevel::kWarning,
              .options_file = file.path(),
              .overridden_options = {"workers", "log_level"}});
  CHECK(t.node.ReloadOptions());
  CHECK(t.log.Count("mailbox_size: 9, was 0") == 1);
  CHECK_FALSE(t.log.Contains("log_level"));
  CHECK(t.node.ProcessInfo(t.Spawn())->log_level == gen::LogLevel::kWarning);
  file.Write("log_level = \"loud\"\n");  // a fault all the same
  CHECK(t.node.ReloadOptions().error() == gen::ErrIncorrect);
  file.Write("[pools.two]\npool_size = 3\n[log_levels]\n\"words::Loud\" = \"debug\"\n");
  TestNode pools({.options_file = file.path(),
                  .overridden_options = {"pools.two.pool_size", "log_levels.words::Loud"},
                  .pools = {{"two", {.pool_size = 5}}},
                  .log_levels = {{"words::Loud", gen::LogLevel::kError}}});
  CHECK(pools.node.ReloadOptions());
  CHECK_FALSE(pools.log.Contains("pool_size: 3"));
  CHECK_FALSE(pools.log.Contains("debug"));
  // Nor does the file set back what somebody has changed since.
  const gen::PID loud =
      pools.node.Spawn(gen::Factory<Loud>(Handlers{}), {.log_level = gen::LogLevel::kTrace})
          .value();
  CHECK(pools.node.SetProcessLogLevel(loud, gen::LogLevel::kPanic));
  const gen::PID two = pools.node.SpawnRegister("two", gen::Factory<PoolOfTwo>()).value();
  CHECK(pools.node.Call<bool>(two, act::PoolChange{.pool_size = 4},
                              {.priority = gen::MessagePriority::kHigh}));
  CHECK(pools.node.ReloadOptions());
  CHECK(pools.node.Inspect(two)->at("pool_size") == "4");
  CHECK(pools.node.ProcessInfo(loud)->log_level == gen::LogLevel::kPanic);
  file.Write("");
  TestNode wrong({.options_file = file.path(), .overridden_options = {"worker"}});
  CHECK(wrong.node.ReloadOptions().error().detail() ==
        "overridden_options: worker: unknown, the nearest is workers");
}

TEST_CASE("changes: log levels of behaviours, from the options file") {
  const std::string loud = "words::Loud";
  const std::string key = "log_levels." + loud;
  const kit::OptionsFile file("");
  TestNode t({.options_file = file.path(), .log_levels = {{loud, gen::LogLevel::kError}}});
  const auto level = [&](gen::PID pid) { return t.node.ProcessInfo(pid)->log_level; };
  const gen::ProcessFactory make = gen::Factory<Loud>(Handlers{});
  const gen::PID given = t.node.Spawn(make, {.log_level = gen::LogLevel::kTrace}).value();
  const gen::PID other = t.Spawn();
  CHECK(t.node.ProcessInfo(given)->behavior == loud);
  CHECK(level(given) == gen::LogLevel::kError);
  CHECK(level(other) == gen::LogLevel::kInfo);
  file.Write("mailbox_size = 9\n[log_levels]\n\"" + loud + "\" = \"loud\"\n");
  const auto wrong = t.node.ReloadOptions();
  CHECK(wrong.error() == gen::ErrIncorrect);
  CHECK(wrong.error().detail() ==
        file.path() + ":3: " + key +
            ": \"loud\", must be trace, debug, info, warning, error, panic or off, or node");
  CHECK_FALSE(t.log.Contains("mailbox_size"));
  CHECK(level(given) == gen::LogLevel::kError);
  // What somebody else has set does not stay.
  const gen::PID set = t.node.Spawn(make).value();
  CHECK(t.node.SetProcessLogLevel(set, gen::LogLevel::kPanic));
  file.Write("[log_levels]\n\"" + loud + "\" = \"debug\"\n");
  CHECK(t.node.ReloadOptions());
  CHECK(level(given) == gen::LogLevel::kDebug);
  CHECK(level(set) == gen::LogLevel::kDebug);
  CHECK(level(t.node.Spawn(make).value()) == gen::LogLevel::kDebug);
  CHECK(level(other) == gen::LogLevel::kInfo);
  CHECK(t.log.Count(key + ": debug, was error, error in 1 process, panic in 1 process") == 1);
  CHECK(t.node.ReloadOptions());
  CHECK(t.log.Count(key) == 1);  // nothing has changed
  file.Write("");
  CHECK(t.node.ReloadOptions());  // what is left out stays
  CHECK(level(given) == gen::LogLevel::kDebug);
  file.Write("[log_levels]\n\"" + loud + "\" = \"node\"\nSilent = \"off\"\n");
  CHECK(t.node.ReloadOptions());
  CHECK(level(given) == gen::LogLevel::kInfo);
  CHECK(t.log.Count(key + ": the node's, was debug, debug in 3 processes") == 1);
  CHECK(t.log.Count("log_levels.Silent: off, was not given") == 1);
  CHECK(t.log.Count("log_levels.Silent: no process has this behaviour now; the level applies to "
                    "those spawned later") == 1);
}

TEST_CASE("changes: the node's options and levels of behaviours at once, all or nothing") {
  const std::string loud = "words::Loud";
  TestNode t({.log_level = gen::LogLevel::kPanic});
  const gen::ProcessFactory make = gen::Factory<Loud>(Handlers{});
  const gen::PID pid = t.node.Spawn(make).value();
  const auto level = [&](gen::PID of) { return t.node.ProcessInfo(of)->log_level; };
  CHECK(t.node.Change({.log_levels = {{loud, gen::LogLevel::kError}}}));
  CHECK(level(pid) == gen::LogLevel::kError);
  CHECK(level(t.node.Spawn(make).value()) == gen::LogLevel::kError);
  CHECK(level(t.Spawn()) == gen::LogLevel::kPanic);
  CHECK(t.log.Count("log_levels.words::Loud: error, was not given, the node's in 1 process") == 1);
  const auto wrong = [&](const gen::NodeChange& change) {
    const auto changed = t.node.Change(change);
    CHECK(changed.error() == gen::ErrIncorrect);
    return std::string(changed.error().detail());
  };
  const auto none = static_cast<gen::LogLevel>(9);
  CHECK(wrong({.log_level = none, .mailbox_size = 3}) == "log_level: 9, must be a LogLevel");
  CHECK(wrong({.log_level = gen::LogLevel::kInfo, .mailbox_size = -1}) ==
        "mailbox_size: -1 is outside 0..4000000");
  CHECK(wrong({.mailbox_size = 3, .log_levels = {{loud, none}}}) ==
        "log_levels.words::Loud: 9, must be a LogLevel");
  CHECK(wrong({.mailbox_size = 3, .log_levels = {{loud, {}}, {"", {}}}}) ==
        "log_levels: the name of a behaviour is empty");
  CHECK(level(pid) == gen::LogLevel::kError);
  CHECK(level(t.Spawn()) == gen::LogLevel::kPanic);
  CHECK(t.node.ProcessInfo(t.Spawn())->mailbox_size == 0);
  CHECK(t.log.Count(", was ") == 1);
  CHECK(
      t.node.Change({.log_level = gen::LogLevel::kWarning,
                     .mailbox_size = 3,
                     .log_levels = {{loud, std::nullopt}, {"words::Late", gen::LogLevel::kOff}}}));
  CHECK(level(pid) == gen::LogLevel::kWarning);
  CHECK(t.node.ProcessInfo(t.Spawn())->mailbox_size == 3);
  CHECK(t.log.Count("log_level: warning, was panic") == 1);
  CHECK(t.log.Count("mailbox_size: 3, was 0") == 1);
  CHECK(t.log.Count("log_levels.words::Loud: the node's, was error, error in 2 processes") == 1);
  CHECK(t.log.Count("log_levels.words::Late: off, was not given") == 1);
  CHECK(t.node.Change({}));
}

TEST_CASE("changes: any process takes those of its node by a request, before what waits") {
  TestNode t;
  const gen::PID pid = t.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) {
    return gen::ReplyError(gen::Error("the behaviour saw it"));
  }});
  const gen::PID pool = t.node.Spawn(gen::Factory<PoolOfTwo>()).value();
  const gen::PID function =
      t.node.Spawn([](gen::Process& self) { (void)self.Receive<std::string>(); }).value();
  int size = 0;
  for (const gen::PID to : {pid, pool, function}) {
    const auto change = [&](const gen::NodeChange& wanted) {
      return t.node.Call(to, gen::NodeChange(wanted), {.priority = gen::MessagePriority::kHigh});
    };
    ++size;
    CHECK(change({.mailbox_size = size, .log_levels = {{"ergon::node::Subject", {}}}}).value());
    CHECK(t.node.ProcessInfo(t.Spawn())->mailbox_size == size);
    const auto wrong = change({.mailbox_size = 9, .log_levels = {{"", {}}}});
    CHECK(wrong.error() == gen::ErrIncorrect);
    CHECK(wrong.error().detail() == "log_levels: the name of a behaviour is empty");
    CHECK(t.node.ProcessInfo(t.Spawn())->mailbox_size == size);
  }
  CHECK(t.log.Count("log_levels.ergon::node::Subject: the node's, was not given") == 1);
  // Of normal priority it is a request as others.
  CHECK(t.node.Call(pid, gen::NodeChange()).error().ToString().find("saw it") != std::string::npos);
  CHECK(t.node.Send(function, std::string("done")));
  CHECK(t.Ended(function));
}

TEST_CASE("changes: log levels of behaviours that are none") {
  const auto problem = [](const std::string& name, gen::LogLevel level) {
    return std::string(Start("test@localhost", {.log_levels = {{name, level}}}).error().detail());
  };
  CHECK(Start("test@localhost", {.log_level = static_cast<gen::LogLevel>(9)}).error().detail() ==
        "log_level: 9, must be a LogLevel");
  CHECK(problem("", gen::LogLevel::kInfo) == "log_levels: the name of a behaviour is empty");
  CHECK(problem("Loud", static_cast<gen::LogLevel>(9)) == "log_levels.Loud: 9, must be a LogLevel");
}

TEST_CASE("changes: SIGHUP") {
  const kit::OptionsFile file("mailbox_size = 4\n");
  TestNode t({.options_file = file.path()});
  CHECK(::kill(::getpid(), SIGHUP) == 0);
  CHECK(kit::Eventually([&] { return t.log.Contains("mailbox_size: 4, was 0"); }));
  CHECK(kit::Eventually([&] { return t.log.Count("SIGHUP: " + file.path() + " was read") == 1; }));
  file.Write("mailbox_size = many\n");
  CHECK(::kill(::getpid(), SIGHUP) == 0);
  CHECK(kit::Eventually(
      [&] { return t.log.Count("SIGHUP: no option was changed: " + file.path() + ":1: ") == 1; }));
  CHECK(t.node.ProcessInfo(t.Spawn())->mailbox_size == 4);
}

}  // namespace
}  // namespace ergon::node
