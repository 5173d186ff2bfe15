// What becomes of messages that no handler takes: as many as others send, but not as many lines of the log.
#include <ergon/act/message_loop.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include <ergon/act/actor.h>

#include <kit/state_machine.h>

#include "fake_host.h"
#include "pool_fixture.h"

namespace ergon::act::message_loop_test {
namespace {

using testing::FakeHost;

struct NobodysQuestion {};
struct NobodysNews {};

class Deaf : public Actor {};

std::size_t LinesWith(const FakeHost& host, const std::string& text) {
  std::size_t count = 0;
  for (const auto& line : host.logs) count += line.text.find(text) == std::string::npos ? 0 : 1;
  return count;
}

// Of a process that handles nothing, and that gets its messages by that lane.
void CheckLines(FakeHost& host, core::Lane lane) {
  const auto unhandled = [&] { return LinesWith(host, "unhandled"); };
  host.logs.clear();
  host.responses.clear();
  for (std::uint64_t i = 1; i <= 500; ++i) {
    (void)host.Deliver(gen::EnvelopeKind::kMessage, lane, NobodysNews{});
    (void)host.Deliver(gen::EnvelopeKind::kRequest, lane, NobodysQuestion{}, i);
    host.Run();
  }
  // Each caller is told all the same.
  CHECK(host.responses.size() == 500);
  CHECK(unhandled() == gen::LogLimit::kLines);
  CHECK(LinesWith(host, "NobodysNews") == gen::LogLimit::kLines / 2);
  CHECK(LinesWith(host, "NobodysQuestion") == gen::LogLimit::kLines / 2);
  host.Advance(gen::LogLimit::kPeriod);
  (void)host.Deliver(gen::EnvelopeKind::kMessage, lane, NobodysNews{});
  host.Run();
  CHECK(unhandled() == gen::LogLimit::kLines + 1);
  CHECK(host.logs.back().text.ends_with(" (990 lines like this were left out before)"));
  for (int i = 0; i < 20; ++i) {
    (void)host.Deliver(gen::EnvelopeKind::kMessage, lane, NobodysNews{});
    host.Run();
  }
  CHECK(unhandled() == 2 * gen::LogLimit::kLines);
}

constexpr const char* kRest =
    "11 lines about messages that nobody handles were left out at the end";

}  // namespace

TEST_CASE("unhandled: an actor logs some in each period, then how many were left out") {
  FakeHost host;
  Deaf actor;
  REQUIRE(host.Start(actor));
  CheckLines(host, core::Lane::kMain);
  host.Stop(gen::Reason::Shutdown());
  REQUIRE(host.ended);
  CHECK(LinesWith(host, kRest) == 1);
}

TEST_CASE("unhandled: so does a state machine") {
  FakeHost host;
  kit::Diary diary;
  kit::ScriptedMachine machine({.handle = [](kit::ScriptedMachine& self,
                                             StateEvent& event) { return self.Unhandled(event); }},
                               &diary);
  REQUIRE(host.Start(machine));
  CheckLines(host, core::Lane::kMain);
  host.Stop(gen::Reason::Shutdown());
  REQUIRE(host.ended);
  CHECK(LinesWith(host, kRest) == 1);
}

TEST_CASE("unhandled: so does a pool") {
  testing::PoolFixture f;
  f.Start();
  CheckLines(f.host, core::Lane::kSystem);
}

TEST_CASE("unhandled: nothing is told at the end if nothing was left out") {
  FakeHost host;
  Deaf actor;
  REQUIRE(host.Start(actor));
  for (int i = 0; i < gen::LogLimit::kLines; ++i) (void)host.Send(i);
  host.Run();
  host.Stop(gen::Reason::Shutdown());
  CHECK(LinesWith(host, "unhandled") == gen::LogLimit::kLines);
  CHECK(LinesWith(host, "left out") == 0);
}

TEST_CASE("unhandled: a process that gets no such message pays with a pointer") {
  CHECK(sizeof(gen::LimitedLines) == sizeof(void*));
}

}  // namespace ergon::act::message_loop_test
