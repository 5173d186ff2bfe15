// A program for a debugger to look at (tests/gdb_helper.sh): processes that stay in what they do.
//
// usage: ergon_debugger_program [DUMP]
// Writes what Dump says of its two nodes to the file DUMP, calls AllIsThere and ends. Without DUMP: calls
// AllIsThere when a node has stopped, and when it has ended.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include <unistd.h>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/gen/blocking.h>
#include <ergon/gen/process_info.h>
#include <ergon/node/node.h>

namespace debugger_program {

using namespace ergon;                 // NOLINT(google-build-using-namespace)
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

struct Question {
  using Reply = int;
};
struct Note {
  int rank = 0;
};

// Functions to be found in stacks; the rest of a body keeps a call from becoming a jump.
std::atomic<int> sitting{0};
[[gnu::noinline]] void SitInHandler() {
  ++sitting;
  for (;;) pause();
}
extern "C" [[gnu::noinline]] void AllIsThere() { asm volatile("" ::: "memory"); }

class Answerer : public act::Actor {
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    SitInHandler();
    return gen::NoReply();
  }
};

class Asker : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    Ask();
    return gen::Continue();
  }
  [[gnu::noinline]] void Ask() {
    (void)Call("answerer", Question(), {.timeout = gen::kInfinite});
    asm volatile("" ::: "memory");
  }
};

class AsksInInit : public act::Actor {
  gen::Status Init(const gen::Args&) override {
    (void)Call("answerer", Question(), {.timeout = gen::kInfinite});
    return gen::Continue();
  }
};

class Parent : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    (void)SpawnRegister("child", gen::Factory<AsksInInit>(), {.init_timeout = gen::kInfinite});
    return gen::Continue();
  }
};

class Blocker : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    const gen::Blocking stretch;
    SitInHandler();
    return gen::Continue();
  }
};

class Sleeper : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    (void)Sleep(1h);
    return gen::Continue();
  }
};

// Gives its thread to the holder, and has none when its short waits are over.
class Napper : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    Send("holder", Note()).value();
    for (;;) (void)Sleep(1ms);
  }
};

template <class T>
class Stasher : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    Stash(message);
    return gen::Continue();
  }
};

class Continuing : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    return ContinueWith([this] {
      (void)Sleep(1h);
      return gen::Continue();
    });
  }
};

class Pair : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{
        .pool_size = 2, .worker_factory = gen::Factory<Sleeper>(), .worker_mailbox_size = 5};
  }
};

class Holder : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    SitInHandler();
    return gen::Continue();
  }
};

template <class Condition>
void Until(Condition&& condition) {
  while (!condition()) std::this_thread::sleep_for(1ms);
}

int Run(const char* dump) {
  auto node = node::Start("gdb@localhost", {.workers = 2}).value();
  const auto until = [&](gen::PID pid, gen::ProcessState state) {
    Until([&] { return node.ProcessInfo(pid).value().state == state; });
  };
  const gen::PID answerer = node.SpawnRegister("answerer", gen::Factory<Answerer>()).value();
  const gen::PID asker = node.Spawn(gen::Factory<Asker>()).value();
  node.Send(asker, Note()).value();
  until(asker, gen::ProcessState::kWaiting);
  Until([] { return sitting == 1; });
  node.SendWithPriority(answerer, Note(), gen::MessagePriority::kHigh).value();

  const gen::PID sleeper =
      node.SpawnRegister("sleeper", gen::Factory<Sleeper>(), {.mailbox = gen::Mailbox::Bounded(5)})
          .value();
  node.Send(sleeper, Note()).value();
  until(sleeper, gen::ProcessState::kWaiting);
  for (int i = 0; i < 2; ++i) node.Send(sleeper, Note()).value();

  const auto rank = [](const Note& note) { return note.rank; };
  const gen::PID ordered =
      node.Spawn(gen::Factory<Sleeper>(), {.mailbox = gen::Mailbox::BoundedPriority<Note>(7, rank)})
          .value();
  node.Suspend(ordered).value();
  node.Send(ordered, Note()).value();

  const gen::PID blocker = node.SpawnRegister("blocker", gen::Factory<Blocker>()).value();
  node.Send(blocker, Note()).value();
  Until([] { return sitting == 2; });

  const gen::PID ended = node.Spawn(gen::Factory<Sleeper>()).value();
  node.StopProcess(ended).value();

  const gen::PID parent = node.Spawn(gen::Factory<Parent>()).value();
  node.Send(parent, Note()).value();
  Until([&] { return node.ProcessList().size() == 7; });
  for (const gen::PID pid : node.ProcessList()) {
    if (node.ProcessInfo(pid).value().parent == parent) until(pid, gen::ProcessState::kWaiting);
  }

  const gen::PID stasher =
      node.SpawnRegister("stasher", gen::Factory<Stasher<std::string>>()).value();
  const gen::PID continuing = node.Spawn(gen::Factory<Continuing>()).value();
  node.Send(continuing, Note()).value();
  until(continuing, gen::ProcessState::kWaiting);
  const gen::PID pool = node.SpawnRegister("pair", gen::Factory<Pair>()).value();
  for (int i = 0; i < 5; ++i) node.Send(pool, Note()).value();
  for (const gen::PID pid : node.ProcessList()) {
    if (node.ProcessInfo(pid).value().parent == pool) until(pid, gen::ProcessState::kWaiting);
  }
  const gen::PID holder = node.SpawnRegister("holder", gen::Factory<Holder>()).value();
  const gen::PID late = node.SpawnRegister("late", gen::Factory<Sleeper>()).value();
  const gen::PID napper = node.SpawnRegister("napper", gen::Factory<Napper>()).value();
  for (const gen::PID pid : {pool, holder, late, napper}) until(pid, gen::ProcessState::kIdle);

  // One worker sits in the answerer, so when this is idle the other one has left all of those that wait.
  node.Send(stasher, Note()).value();
  Until([&] { return node.ProcessInfo(stasher).value().messages_held == 1; });
  until(stasher, gen::ProcessState::kIdle);

  // Last: now there is no thread for anybody else.
  node.Send(napper, Note()).value();
  Until([] { return sitting == 3; });
  until(napper, gen::ProcessState::kReady);
  node.Send(late, Note()).value();

  auto other = node::Start("other@localhost", {.workers = 2}).value();
  const gen::PID idle = other.Spawn(gen::Factory<Sleeper>()).value();
  Until([&] { return other.ProcessInfo(idle).value().state == gen::ProcessState::kIdle; });

  std::ofstream file(dump);
  node.Dump(file);
  other.Dump(file);
  file.close();
  AllIsThere();
  std::_Exit(file ? 0 : 1);  // the answerer would not end
}

int End() {
  {
    auto node = node::Start("gdb@localhost", {.workers = 2}).value();
    node.Stop();
    node.Wait();
    AllIsThere();
  }
  AllIsThere();
  return 0;
}

}  // namespace debugger_program

int main(int count, char** arguments) {
  return count == 2 ? debugger_program::Run(arguments[1]) : debugger_program::End();
}
