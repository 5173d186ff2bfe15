// What the destructor of a behaviour may do: it runs when its process has ended, still in its turn.
#include <atomic>
#include <functional>
#include <utility>

#include <node/subject.h>

namespace ergon::node {
namespace {

// Runs a function when it is destroyed.
class Parting : public act::Actor {
 public:
  explicit Parting(std::function<void(Parting&)> function) : function_(std::move(function)) {}
  ~Parting() override { function_(*this); }
  Parting(const Parting&) = delete;
  Parting& operator=(const Parting&) = delete;

  using Actor::Call;
  using Actor::CreateAlias;
  using Actor::JoinGroup;
  using Actor::Link;
  using Actor::LinkEvent;
  using Actor::Monitor;
  using Actor::MonitorEvent;
  using Actor::MonitorGroup;
  using Actor::RegisterEvent;
  using Actor::RegisterName;
  using Actor::Send;
  using Actor::SendEvery;
  using Actor::SendOrWait;
  using Actor::Sleep;

 private:
  std::function<void(Parting&)> function_;
};

struct Tick {};

TEST_CASE("destructor: who waits in one does not, and the program goes on") {
  std::atomic<int> greeted{0};
  TestNode t;
  const gen::PID other =
      t.Spawn({.message =
                   [&](Subject&, gen::PID, gen::Message&) {
                     ++greeted;
                     return gen::Continue();
                   },
               .call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::Reply(1); }});
  for (const bool is_killed : {false, true}) {
    const auto parting = [&](Parting& self) {
      CHECK(self.Call<int>(other, 1).error() == gen::ErrProcessTerminated);
      CHECK_FALSE(self.Sleep(1h));
      CHECK(self.Send(other, Tick{}));
      CHECK(self.SendOrWait(other, Tick{}, kit::kDeadline));
    };
    const gen::PID pid = t.node.Spawn(gen::Factory<Parting>(parting)).value();
    CHECK((is_killed ? t.node.Kill(pid) : t.node.StopProcess(pid)));
    CHECK(t.Ended(pid));
  }
  CHECK(kit::Eventually([&] { return greeted == 4; }));
}

TEST_CASE("destructor: what is registered in one does not outlive the process") {
  TestNode t;
  const gen::PID other = t.Spawn();
  CHECK(t.Run(other, [](Subject& self) { CHECK(self.RegisterEvent("prices")); }));
  const auto parting = [&](Parting& self) {
    CHECK(self.CreateAlias().error() == gen::ErrProcessTerminated);
    CHECK(self.RegisterName("late").error() == gen::ErrProcessTerminated);
    CHECK(self.RegisterEvent("late").error() == gen::ErrProcessTerminated);
    CHECK(self.MonitorEvent({"prices", {}}).error() == gen::ErrProcessTerminated);
    CHECK(self.LinkEvent({"prices", {}}).error() == gen::ErrProcessTerminated);
    CHECK(self.JoinGroup("late").error() == gen::ErrProcessTerminated);
    CHECK(self.MonitorGroup("late").error() == gen::ErrProcessTerminated);
    CHECK(self.Monitor(other).error() == gen::ErrProcessTerminated);
    CHECK(self.Link(other).error() == gen::ErrProcessTerminated);
    CHECK(self.SendEvery(other, Tick{}, 1ms).error() == gen::ErrProcessTerminated);
  };
  const gen::PID pid = t.node.Spawn(gen::Factory<Parting>(parting)).value();
  CHECK(t.node.Kill(pid));
  CHECK(t.Ended(pid));
  CHECK(t.node.Info().aliases == 0);
  CHECK(t.Run(other, [](Subject& self) { CHECK(self.RegisterEvent("late")); }));
}

}  // namespace
}  // namespace ergon::node
