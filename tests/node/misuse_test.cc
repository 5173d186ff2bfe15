// Functions of a process where they must not be called: on other threads, and with a lock held.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <asio/steady_timer.hpp>

#include <ergon/gen/blocking.h>
#include <ergon/gen/mutex.h>
#include <ergon/node/await.h>

#include <kit/child.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

// Of a call elsewhere than in the subject's handlers.
template <class T>
void CheckRefused(const gen::Result<T>& result, const std::string& function) {
  CAPTURE(function);
  REQUIRE_FALSE(result);
  CHECK(result.error() == gen::ErrNotAllowed);
  const std::string text = result.error().ToString();
  CAPTURE(text);
  CHECK(text.find(function + ": ") != std::string::npos);
  CHECK(text.find("Subject") != std::string::npos);
  CHECK(text.find("node's functions") != std::string::npos);
}

void CheckAllRefused(Subject& self, gen::PID other) {
  const gen::Event event{.name = "event", .node = {}};
  CheckRefused(self.Send(other, 1), "Send");
  CheckRefused(self.SendImportant(other, 1), "Send");
  CheckRefused(self.SendAfter(other, 1, 1ms), "SendAfter");
  CheckRefused(self.SendEvery(other, 1, 1ms), "SendEvery");
  CheckRefused(self.SendExit(other, gen::Reason::Shutdown()), "SendExit");
  CheckRefused(self.SendResponse(other, self.MakeRef(), 1), "SendResponse");
  CheckRefused(self.HandOver(other, other, self.MakeRef()), "HandOver");
  CheckRefused(self.Call<int>(other, 1), "Call");
  CheckRefused(self.Inspect(other), "Inspect");
  CheckRefused(self.Request(other, 1), "Request");
  CheckRefused(self.Spawn(Make({})), "Spawn");
  CheckRefused(self.SpawnRegister("name", Make({})), "SpawnRegister");
  CheckRefused(self.RegisterName("name"), "RegisterName");
  CheckRefused(self.UnregisterName(), "UnregisterName");
  CheckRefused(self.CreateAlias(), "CreateAlias");
  CheckRefused(self.DeleteAlias({}), "DeleteAlias");
  CheckRefused(self.Link(other), "Link");
  CheckRefused(self.Unlink(other), "Unlink");
  CheckRefused(self.Monitor(other), "Monitor");
  CheckRefused(self.Demonitor({}), "Demonitor");
  CheckRefused(self.RegisterEvent("event", {}), "RegisterEvent");
  CheckRefused(self.UnregisterEvent("event"), "UnregisterEvent");
  CheckRefused(self.SendEvent("event", {}, 1), "SendEvent");
  CheckRefused(self.MonitorEvent(event), "MonitorEvent");
  CheckRefused(self.DemonitorEvent(event), "DemonitorEvent");
  CheckRefused(self.LinkEvent(event), "LinkEvent");
  CheckRefused(self.UnlinkEvent(event), "UnlinkEvent");
}

TEST_CASE("misuse: on another thread a process's functions are refused with its name and theirs") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  const gen::PID other = t.Spawn();
  Subject* subject = nullptr;
  CHECK(t.Run(pid, [&](Subject& self) {
    subject = &self;
    std::thread([&] { CheckAllRefused(self, other); }).join();
    CHECK(self.Send(other, Do{[](Subject&) {}}));  // here they are not
  }));
  CheckAllRefused(*subject, other);
  // What is said to be for every thread is.
  CHECK(subject->Self() == pid);
  CHECK(subject->Name().empty());
  CHECK(subject->Leader() == pid);
  CHECK(subject->Parent() == t.node.Self());
  CHECK(subject->Node().Call<bool>(other, Do{[](Subject&) {}}));
  CHECK(t.IsAlive(pid));
}

TEST_CASE("misuse: a message is not forwarded by another thread") {
  TestNode t;
  const gen::PID other = t.Spawn();
  const gen::PID pid = t.Spawn(
      {.call = [&](Subject& self, gen::PID, gen::Ref, gen::Message& request) -> gen::CallResult {
        std::thread([&] { CheckRefused(self.Forward(other, request), "Forward"); }).join();
        return gen::Reply(request.As<Square>()->value);  // it is still here
      }});
  CHECK(t.node.Call<int>(pid, Square{4}, kPatient).value() == 4);
}

TEST_CASE("misuse: in a handler of another process they are refused, too") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  const gen::PID other = t.Spawn();
  Subject* subject = nullptr;
  CHECK(t.Run(pid, [&](Subject& self) { subject = &self; }));
  CHECK(t.Run(other, [&](Subject&) { CheckAllRefused(*subject, other); }));
}

// The child's part: it calls what has no error to return.
TEST_CASE("misuse: child that calls from another thread" * doctest::skip()) {
  kit::ChildBegins();
  TestNode t;
  Subject* subject = nullptr;
  const gen::PID pid = t.Spawn();
  CHECK(t.Run(pid, [&](Subject& self) { subject = &self; }));
  const std::string function = std::getenv("ERGON_TEST_FUNCTION");
  if (function == "Sleep") (void)subject->Sleep(1ms);
  if (function == "Yield") subject->Yield();
  if (function == "Env") (void)subject->Env("name");
  if (function == "SetEnv") subject->SetEnv("name", "value");
  if (function == "SetTrapExit") subject->SetTrapExit(true);
  if (function == "SetLogLevel") subject->SetLogLevel(gen::LogLevel::kDebug);
  if (function == "SetSendPriority") subject->SetSendPriority(gen::MessagePriority::kHigh);
  if (function == "UnstashAll") (void)subject->UnstashAll();
}

TEST_CASE("misuse: what has no error to return ends the program, with words") {
  for (const char* const function : {"Sleep", "Yield", "Env", "SetEnv", "SetTrapExit",
                                     "SetLogLevel", "SetSendPriority", "UnstashAll"}) {
    CAPTURE(function);
    setenv("ERGON_TEST_FUNCTION", function, 1);
    kit::Child child("misuse: child that calls from another thread");
    const std::string errors = child.Errors();
    CAPTURE(errors);
    CHECK(errors.find("ergon: " + std::string(function) + ": ") != std::string::npos);
    CHECK(errors.find("Subject") != std::string::npos);
    CHECK(errors.find("node's functions") != std::string::npos);
    CHECK(child.IsAborted());
  }
}

// ---- locks

TEST_CASE("misuse: a process that would be suspended with a gen::Mutex ends instead") {
  TestNode t;
  const gen::PID other = t.Spawn();
  gen::Mutex mutex;
  struct Misuse {
    const char* function;
    std::function<void(Subject&)> call;
  };
  const std::vector<Misuse> cases = {
      {"Call", [&](Subject& self) { (void)self.Call<bool>(other, Do{[](Subject&) {}}); }},
      {"Inspect", [&](Subject& self) { (void)self.Inspect(other); }},
      {"Sleep", [](Subject& self) { (void)self.Sleep(1us); }},
      {"Yield", [](Subject& self) { self.Yield(); }},
      {"Spawn", [](Subject& self) { (void)self.Spawn(Make({})); }},
      {"Await",
       [](Subject& self) {
         asio::steady_timer timer(IoContext(self.Node()), 1us);
         (void)timer.async_wait(Await());
       }},
  };
  const auto processes = t.node.Info().processes;
  for (const auto& [function, call] : cases) {
    CAPTURE(function);
    const gen::PID pid = t.Spawn();
    const auto answer = t.Run(pid, [&](Subject& self) {
      const std::lock_guard lock(mutex);
      call(self);
    });
    REQUIRE_FALSE(answer);
    CHECK(answer.error() == gen::ErrProcessTerminated);
    const std::string text = answer.error().ToString();
    CAPTURE(text);
    CHECK(text.find("panic: " + std::string(function) + " while a gen::Mutex is held") !=
          std::string::npos);
    CHECK(text.find("Subject") != std::string::npos);
    CHECK(text.find("Do") != std::string::npos);
    CHECK(mutex.try_lock());  // given back on the way
    mutex.unlock();
  }
  CHECK(t.EventuallyProcesses(processes));
}

TEST_CASE("misuse: a gen::Mutex between suspensions, and around sends, is as good as any") {
  TestNode t;
  gen::Mutex mutex;
  int count = 0;
  std::vector<gen::PID> pids;
  for (int i = 0; i < 8; ++i) pids.push_back(t.Spawn({}, {.yield_on_send = true}));
  const gen::PID sink =
      t.Spawn({.message = [](Subject&, gen::PID, gen::Message&) { return gen::Continue(); }});
  for (const gen::PID pid : pids) {
    t.Begin(pid, [&](Subject& self) {
      for (int i = 0; i < 100; ++i) {
        {
          const std::lock_guard lock(mutex);
          ++count;
          for (int sent = 0; sent < 100; ++sent) self.Send(sink, sent).value();
        }
        if (i % 10 == 0) CHECK(self.Sleep(1us));
      }
    });
  }
  for (const gen::PID pid : pids) CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(count == 800);
}

TEST_CASE("misuse: no thread is lent to a handler that holds a gen::Mutex") {
  TestNode t;
  gen::Mutex mutex;
  CHECK(t.Run(t.Spawn(), [&](Subject&) {
    const std::lock_guard lock(mutex);
    const std::thread::id thread = std::this_thread::get_id();
    const gen::Blocking blocking;
    CHECK(std::this_thread::get_id() == thread);
  }));
  CHECK(t.node.Info().blocking_lent == 0);
  CHECK(t.log.Contains("gen::Blocking while a gen::Mutex is held"));
}

TEST_CASE("misuse: child that locks inside a blocking stretch" * doctest::skip()) {
  kit::ChildBegins();
  TestNode t;
  gen::Mutex mutex;
  (void)t.Run(t.Spawn(), [&](Subject&) {
    const gen::Blocking blocking;
    mutex.lock();
  });
}

TEST_CASE("misuse: a lock taken in a blocking stretch must be given back there") {
  kit::Child child("misuse: child that locks inside a blocking stretch");
  const std::string errors = child.Errors();
  CAPTURE(errors);
  CHECK(errors.find("the end of a gen::Blocking while a gen::Mutex is held") != std::string::npos);
  CHECK(child.IsAborted());
}

}  // namespace
}  // namespace ergon::node
