// Times that cannot be meant are errors that tell them, before anything has happened.
#include <chrono>
#include <string>

#include <doctest/doctest.h>
#include <asio/steady_timer.hpp>

#include <ergon/node/await.h>

#include <node/subject.h>

namespace ergon::node {
namespace {

template <class T>
void CheckTold(const gen::Result<T>& result, const std::string& text) {
  REQUIRE_FALSE(result);
  CHECK(result.error() == gen::ErrIncorrect);
  CHECK(result.error().detail() == text);
}

TEST_CASE("negative times: of a node's functions") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  const std::string negative = "timeout: -5ns, must not be negative";
  const std::string not_positive = "timeout: -5ns, has to be more than 0";
  CheckTold(t.node.WaitProcess(pid, -5ns), negative);
  CheckTold(t.node.StopProcess(pid, -5ns), negative);
  CheckTold(t.node.StopApplication("none", -5ns), negative);
  CheckTold(t.node.SendOrWait(pid, End{}, -5ns), negative);
  CheckTold(t.node.Call<int>(pid, End{}, {.timeout = -5ns}), not_positive);
  CheckTold(t.node.CallAsync<int>(pid, End{}, {.timeout = -5ns}).get(), not_positive);
  CheckTold(t.node.Inspect(pid, {}, {.timeout = -5ns}), not_positive);
  CheckTold(t.node.Suspend(pid, -5ns), not_positive);
  CheckTold(t.node.Resume(pid, -5ns), not_positive);
  CheckTold(t.node.SendAfter(pid, End{}, -5ns), "delay: -5ns, must not be negative");
  CheckTold(t.node.SendEvery(pid, End{}, -5ns), "period: -5ns, must be more than 0");
  CHECK(t.Run(pid, [](Subject&) {}).value());  // it was not asked to do anything
}

TEST_CASE("negative times: of a process's functions") {
  TestNode t;
  const gen::PID other = t.Spawn();
  CHECK(t.Run(t.Spawn(), [&](Subject& self) {
    const std::string not_positive = "timeout: -5ns, has to be more than 0";
    CheckTold(self.Call<int>(other, End{}, {.timeout = -5ns}), not_positive);
    CheckTold(self.Request(other, End{}, {.timeout = -5ns}), not_positive);
    CheckTold(self.Inspect(other, {}, {.timeout = -5ns}), not_positive);
    CheckTold(self.SendAfter(other, End{}, -5ns), "delay: -5ns, must not be negative");
    CHECK(self.Sleep(-5ns));  // not at all
    const auto deadline = asio::steady_timer::clock_type::time_point::max();
    asio::steady_timer timer(IoContext(self.Node()), deadline);
    CHECK(timer.async_wait(Await(-5ns)).error() == asio::error::invalid_argument);
    CHECK(timer.async_wait(AwaitOrStop(-5ns)).error() == asio::error::invalid_argument);
  }));
  CHECK(t.log.Count("Await: timeout: -5ns, must not be negative") == 2);
  CHECK(t.Run(other, [](Subject&) {}).value());
}

TEST_CASE("negative times: 0 does not wait") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  CHECK(t.node.WaitProcess(pid, 0ns).error() == gen::ErrTimeout);
  CHECK(t.node.SendOrWait(pid, Do{[](Subject&) {}}, 0ns));
  const auto stopped = t.node.StopProcess(pid, 0ns);
  CHECK((stopped || stopped.error() == gen::ErrTimeout));  // it may have ended by then
  REQUIRE(t.Ended(pid));
  CHECK(t.node.WaitProcess(pid, 0ns));
}

TEST_CASE("negative times: with 0 a handler may stop another process, after what that has") {
  TestNode t;
  Notes<int> notes;
  const gen::PID other = t.Spawn(Collect(notes));
  CHECK(t.Run(t.Spawn(), [&](Subject& self) {
    CHECK(t.node.WaitProcess(other, 0ns).error() == gen::ErrTimeout);
    CHECK(t.node.StopProcess(other, 1ms).error() == gen::ErrNotAllowed);
    CHECK(t.node.WaitProcess(other, 1ms).error() == gen::ErrNotAllowed);
    for (int i = 0; i < 3; ++i) CHECK(self.Send(other, i));
    const auto stopped = t.node.StopProcess(other, 0ns);
    CHECK((stopped || stopped.error() == gen::ErrTimeout));
  }));
  REQUIRE(t.Ended(other));
  CHECK(notes.All() == std::vector<int>{0, 1, 2});
}

}  // namespace
}  // namespace ergon::node
