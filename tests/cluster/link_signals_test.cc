// Links and ends of processes of an Erlang node, in whatever order their signals come.
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <cluster/erlang_peer.h>
#include <kit/gate.h>

namespace ergon::dist {
namespace {

struct DoIt {
  std::function<void(gen::Process&)> function;
};

// Traps exits, does what it is told, and notes what it has got.
class Noting : public act::Actor {
 public:
  struct Notes {
    std::mutex mutex;
    std::vector<std::string> all;
    [[nodiscard]] std::vector<std::string> All() {
      std::lock_guard lock(mutex);
      return all;
    }
  };
  explicit Noting(std::shared_ptr<Notes> notes) : notes_(std::move(notes)) {}

 private:
  gen::Status Init(const gen::Args&) override {
    SetTrapExit(true);
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (auto* work = request.As<DoIt>()) {
      work->function(Process());
      return gen::Reply(true);
    }
    return Actor::HandleCall(from, ref, request);
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    std::lock_guard lock(notes_->mutex);
    if (auto* line = message.As<Line>()) {
      notes_->all.push_back("line " + std::to_string(line->number));
    } else if (auto* down = message.As<gen::MessageDownPID>()) {
      notes_->all.push_back("down " + down->reason.ToString());
    } else if (auto* exit = message.As<gen::MessageExitPID>()) {
      notes_->all.push_back("exit " + exit->reason.ToString());
    } else {
      notes_->all.push_back(message.TypeName());
    }
    return gen::Continue();
  }
  const std::shared_ptr<Notes> notes_;
};

using Words = std::vector<std::string>;

// A node with such a process, and an Erlang node.
struct LinkTest {
  explicit LinkTest(const std::string& name)
      : t(name),
        pid(t.node.Spawn(gen::Factory<Noting>(notes)).value()),
        peer(t.node, name + "_erl@127.0.0.1", t.port()) {}

  void Do(std::function<void(gen::Process&)> function) {
    CHECK(t.node.Call<bool>(pid, DoIt{std::move(function)}));
  }
  // What it has got, once it has handled all that has come.
  [[nodiscard]] Words Got() {
    Do([](gen::Process&) {});
    return notes->All();
  }
  [[nodiscard]] bool IsLinked() { return !t.node.ProcessInfo(pid)->links.empty(); }
  // While it is busy, process 1 there sends a line and ends.
  void SendResultAndEnd(std::string_view monitor) {
    kit::Gate gate(t.node);
    auto busy = t.node.CallAsync<bool>(pid, DoIt{[&gate](gen::Process& self) {
                                         (void)self.Call<bool>(gate.pid(), kit::EnterGate{},
                                                               {.timeout = gen::kInfinite});
                                       }});
    REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
    peer.SendLine(1, pid, 42)
        .AddEnd(SignalKind::kDown, 1, pid, monitor)
        .AddEnd(SignalKind::kExit, 1, pid)
        .SendLine(2, pid, 43)
        .FlushAndWait();
    gate.Open();
    CHECK(busy.get());
  }

  std::shared_ptr<Noting::Notes> notes = std::make_shared<Noting::Notes>();
  NodeForPeers t;
  gen::PID pid;
  ErlangPeer peer;
};

}  // namespace

TEST_CASE(
    "link signals: of an Erlang process that sends its result and ends, the result is first") {
  LinkTest test("result_first");
  const gen::PID other = test.peer.Pid(1);
  test.Do([&](gen::Process& self) {
    self.Monitor(other).value();
    self.Link(other).value();
  });
  const std::string monitor(test.peer.Await(SignalKind::kMonitor).ref);
  test.SendResultAndEnd(monitor);
  CHECK(kit::Eventually([&] { return test.Got().size() == 4; }));
  CHECK(test.Got() == Words{"line 42", "line 43", "exit normal", "down normal"});
  CHECK_FALSE(test.IsLinked());
}

TEST_CASE("link signals: who wants to hear of an end of an Erlang process first does so") {
  LinkTest test("end_first");
  const gen::PID other = test.peer.Pid(1);
  test.Do([&](gen::Process& self) {
    self.Monitor(other, {.order = gen::NoticeOrder::kFirst}).value();
    self.Link(other, {.order = gen::NoticeOrder::kFirst}).value();
  });
  const std::string monitor(test.peer.Await(SignalKind::kMonitor).ref);
  test.SendResultAndEnd(monitor);
  CHECK(kit::Eventually([&] { return test.Got().size() == 4; }));
  CHECK(test.Got() == Words{"exit normal", "down normal", "line 42", "line 43"});
}

TEST_CASE("link signals: a lost connection is heard of behind what came through it") {
  LinkTest test("lost_last");
  const gen::PID other = test.peer.Pid(1);
  test.Do([&](gen::Process& self) {
    self.Monitor(other).value();
    self.Link(other).value();
  });
  (void)test.peer.Await(SignalKind::kLink);
  kit::Gate gate(test.t.node);
  auto busy = test.t.node.CallAsync<bool>(test.pid, DoIt{[&gate](gen::Process& self) {
                                            (void)self.Call<bool>(gate.pid(), kit::EnterGate{},
                                                                  {.timeout = gen::kInfinite});
                                          }});
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  test.peer.SendLine(1, test.pid, 42).FlushAndWait();
  // Who waits for an answer is told last.
  auto call = test.t.node.CallAsync<Line>(
      gen::ProcessID{"anybody", gen::Atom("lost_last_erl@127.0.0.1")}, Line{});
  (void)test.peer.Await(SignalKind::kMonitor);
  test.peer.Close();
  CHECK(call.get().error() == gen::ErrNoConnection);
  gate.Open();
  CHECK(busy.get());
  CHECK(kit::Eventually([&] { return test.Got().size() == 3; }));
  CHECK(test.Got() == Words{"line 42", "exit noconnection", "down noconnection"});
}

TEST_CASE("link signals: what crosses an unlink is nothing, until that is acknowledged") {
  LinkTest test("crossing");
  const gen::PID other = test.peer.Pid(1);
  test.Do([&](gen::Process& self) { self.Link(other).value(); });
  (void)test.peer.Await(SignalKind::kLink);
  test.Do([&](gen::Process& self) { self.Unlink(other).value(); });
  const Signal unlink = test.peer.Await(SignalKind::kUnlink);
  CHECK(unlink.id != 0);
  // The other one has linked itself anew before it has seen that, and its link goes with it.
  test.peer.Add({.kind = SignalKind::kLink, .from = other, .to = test.pid}).FlushAndWait();
  CHECK_FALSE(test.IsLinked());
  test.peer.Add({.kind = SignalKind::kUnlinkAck, .from = other, .to = test.pid, .id = unlink.id})
      .FlushAndWait();
  test.peer.Close();
  REQUIRE(kit::Eventually([&] { return !test.peer.IsConnected(); }));
  CHECK(test.Got().empty());
}

TEST_CASE("link signals: a link behind an unlink holds, whatever is acknowledged later") {
  LinkTest test("relinked");
  const gen::PID other = test.peer.Pid(1);
  test.Do([&](gen::Process& self) {
    self.Link(other).value();
    self.Unlink(other).value();
    self.Link(other).value();
  });
  const Signal unlink = test.peer.Await(SignalKind::kUnlink);
  (void)test.peer.Await(SignalKind::kLink);
  test.peer.Add({.kind = SignalKind::kUnlinkAck, .from = other, .to = test.pid, .id = unlink.id})
      .FlushAndWait();
  CHECK(test.IsLinked());
  test.peer.AddEnd(SignalKind::kExit, 1, test.pid).FlushAndWait();
  // The signal waits behind what is in the mailbox already, maybe what Got asks.
  CHECK(kit::Eventually([&] { return !test.Got().empty(); }));
  CHECK(test.Got() == Words{"exit normal"});
  // After the acknowledgement it can be linked again.
  test.peer.Add({.kind = SignalKind::kLink, .from = test.peer.Pid(2), .to = test.pid})
      .FlushAndWait();
  CHECK(test.IsLinked());
  test.Do([&](gen::Process& self) { self.Unlink(test.peer.Pid(2)).value(); });
  const Signal second = test.peer.Await(SignalKind::kUnlink);
  CHECK(second.id != unlink.id);
  test.peer
      .Add({.kind = SignalKind::kUnlinkAck, .from = second.to, .to = test.pid, .id = second.id})
      .Add({.kind = SignalKind::kLink, .from = second.to, .to = test.pid})
      .FlushAndWait();
  CHECK(test.IsLinked());
  // An unlink of the other side is acknowledged.
  test.peer.Add({.kind = SignalKind::kUnlink, .from = second.to, .to = test.pid, .id = 9}).Flush();
  CHECK(test.peer.Await(SignalKind::kUnlinkAck).id == 9);
  CHECK_FALSE(test.IsLinked());
}

}  // namespace ergon::dist
