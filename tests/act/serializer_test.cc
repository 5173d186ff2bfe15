#include <ergon/act/serializer.h>

#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include <ergon/act/actor.h>

#include "fake_host.h"

namespace ergon::act::testing {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

class Service : public Actor {};

// A serializer on a fake host; its service is worker 101, which does nothing by itself.
class Serialized {
 public:
  static constexpr std::uint64_t kService = 101;

  explicit Serialized(SerializerOptions options = {})
      : behavior(Serializer::Of(gen::Factory<Service>(), std::move(options)).Make()) {
    started = host.Start(*behavior);
  }

  gen::Result<void> Request(int number, core::Lane lane = core::Lane::kMain) {
    return host.Deliver(gen::EnvelopeKind::kRequest, lane, Job{number},
                        static_cast<std::uint64_t>(1000 + number));
  }
  // The number of the request that is inside; 0: none.
  [[nodiscard]] int Inside() {
    REQUIRE(host.asked.size() <= 1);
    return host.asked.empty() ? 0 : host.asked.front().envelope->ValueAs<Job>()->number;
  }
  // The outcome of a request: the answer, an error's text, or nothing.
  [[nodiscard]] std::string Answer(int number) {
    for (auto& response : host.responses) {
      if (response.ref.id != static_cast<std::uint64_t>(1000 + number)) continue;
      if (auto* error = response.envelope->ValueAs<gen::Error>()) return error->ToString();
      return std::to_string(*response.envelope->ValueAs<int>());
    }
    return "";
  }
  [[nodiscard]] std::string Key(const std::string& key) {
    host.responses.clear();
    (void)host.Deliver(gen::EnvelopeKind::kInspect, core::Lane::kUrgent, gen::InspectRequest{{key}},
                       9);
    host.Run();
    auto* all = host.responses.back().envelope->ValueAs<gen::Inspection>();
    CHECK(all->size() == 1);
    return all->at(key);
  }

  FakeHost host;
  std::unique_ptr<gen::ProcessBehavior> behavior;
  bool started = false;
};

TEST_CASE("serializer: one request is inside, the others wait in order") {
  Serialized it;
  for (int i = 1; i <= 3; ++i) CHECK(it.Request(i));
  it.host.Run();
  CHECK(it.Inside() == 1);
  CHECK(it.Key("waiting") == "2");
  CHECK(it.Key("inside") == "1");
  for (int i = 1; i <= 3; ++i) {
    REQUIRE(it.Inside() == i);
    CHECK(it.host.asked.front().timeout == gen::kInfinite);
    CHECK(it.Answer(i).empty());
    it.host.Respond(10 * i);
    it.host.Run();
    CHECK(it.Answer(i) == std::to_string(10 * i));
  }
  CHECK(it.Inside() == 0);
  CHECK(it.Key("inside") == "0");
  CHECK(it.Key("requests_answered") == "3");
}

TEST_CASE("serializer: an error is an answer too") {
  Serialized it;
  CHECK(it.Request(1));
  CHECK(it.Request(2));
  it.host.Run();
  it.host.Respond(gen::Error("no"), gen::EnvelopeKind::kError);
  it.host.Run();
  CHECK(it.Answer(1) == "no");
  CHECK(it.Inside() == 2);
}

TEST_CASE("serializer: an answer with another ref does not let the next one in") {
  Serialized it;
  CHECK(it.Request(1));
  CHECK(it.Request(2));
  it.host.Run();
  const std::uint64_t ref = it.host.asked.front().ref.id;
  for (const std::uint64_t forged : {ref - 1, ref + 1, std::uint64_t{0}, std::uint64_t{1001}}) {
    CHECK(it.host.Deliver(gen::EnvelopeKind::kResponse, core::Lane::kSystem, 666, forged));
  }
  it.host.Run();
  CHECK(it.Inside() == 1);
  CHECK(it.Answer(1).empty());
}

TEST_CASE("serializer: messages keep their place among the requests") {
  Serialized it;
  CHECK(it.host.Send(1));
  CHECK(it.Request(2));
  CHECK(it.host.Send(3));
  CHECK(it.Request(4));
  it.host.Run();
  CHECK(it.host.Queue(Serialized::kService) == std::vector{1});
  CHECK(it.Inside() == 2);
  it.host.Respond(0);
  it.host.Run();
  CHECK(it.host.Queue(Serialized::kService) == std::vector{1, 3});
  CHECK(it.Inside() == 4);
  CHECK(it.Key("messages_passed") == "2");
  auto& passed = it.host.At(Serialized::kService).queue.front();
  CHECK(gen::PID::FromAddress(passed->from) == FakeHost::Pid(FakeHost::kClient));
}

TEST_CASE("serializer: high and max priority go past the line while a request is inside") {
  Serialized it;
  CHECK(it.Request(1));
  it.host.Run();
  CHECK(it.Request(2, core::Lane::kSystem));
  CHECK(it.host.Deliver(gen::EnvelopeKind::kMessage, core::Lane::kUrgent, Job{3}));
  it.host.Run();
  CHECK(it.Inside() == 1);
  CHECK(it.host.Queue(Serialized::kService) == std::vector{3, 2});
}

TEST_CASE("serializer: what the service does not take is told or counted") {
  Serialized it;
  it.host.At(Serialized::kService).capacity = 1;
  for (int i = 1; i <= 3; ++i) CHECK(it.host.Send(i));
  it.host.Run();
  CHECK(it.host.Queue(Serialized::kService) == std::vector{1});
  REQUIRE(it.host.dropped.size() == 2);
  CHECK(it.host.dropped[0].number == 2);
  CHECK(it.host.dropped[0].reason == gen::DropReason::kMailboxFull);
  CHECK(it.Key("messages_dropped") == "2");
}

TEST_CASE("serializer: the line is bounded if asked for") {
  Serialized it({.max_waiting = 2});
  CHECK(it.Request(1));
  it.host.Run();
  CHECK(it.Request(2));
  CHECK(it.host.Send(3));
  CHECK(it.Request(4).error() == gen::ErrProcessMailboxFull);
  CHECK(it.host.Send(5).error() == gen::ErrProcessMailboxFull);
  it.host.Respond(0);
  it.host.Run();
  CHECK(it.Inside() == 2);
  CHECK(it.Request(6));
}

TEST_CASE("serializer: it ends as its service does, and the caller inside is told") {
  Serialized it;
  CHECK(it.Request(1));
  it.host.Run();
  SUBCASE("failure") {
    it.host.End(Serialized::kService, gen::Reason::Panic("lost"));
    it.host.Run();
    CHECK(it.host.end_reason == gen::Reason::Panic("lost"));
    CHECK(it.Answer(1) == "process terminated: panic: lost");
  }
  SUBCASE("normal") {
    it.host.End(Serialized::kService, gen::Reason::Normal());
    it.host.Run();
    CHECK(it.host.end_reason.IsNormal());
    CHECK(it.Answer(1) == "process terminated: normal");
  }
  CHECK(it.host.ended);
}

TEST_CASE("serializer: a request that meets a service that has just ended waits for the reason") {
  Serialized it;
  it.host.At(Serialized::kService).alive = false;
  CHECK(it.Request(1));
  CHECK(it.Request(2));
  it.host.Run();
  CHECK(it.Answer(1).empty());
  CHECK(it.host.main.size() == 1);
  it.host.End(Serialized::kService, gen::Reason::Error("why"));
  it.host.Run();
  REQUIRE(it.host.dropped.size() == 1);
  CHECK(it.host.dropped[0].number == 1);
  CHECK(it.host.dropped[0].error.ToString() == "process terminated: why");
}

TEST_CASE("serializer: exit signals of others are as for processes that do not trap them") {
  Serialized it;
  it.host.Signal(gen::EnvelopeKind::kExit,
                 gen::MessageExitPID{FakeHost::Pid(50), gen::Reason::Normal()}, FakeHost::Pid(50));
  it.host.Run();
  CHECK_FALSE(it.host.ended);
  it.host.Signal(gen::EnvelopeKind::kExit,
                 gen::MessageExitPID{FakeHost::Pid(50), gen::Reason::Error("x")},
                 FakeHost::Pid(50));
  it.host.Run();
  CHECK_FALSE(it.host.ended);  // the service handles what it has first
  it.host.Work(Serialized::kService);
  it.host.Run();
  CHECK(it.host.end_reason == gen::Reason::Error("x"));
}

TEST_CASE("serializer: asked to end it waits for the service, so long and no longer") {
  Serialized it({.shutdown_timeout = 3s});
  CHECK(it.host.Send(1));
  it.host.Run();
  SUBCASE("that ends") {
    it.host.Stop(gen::Reason::Shutdown());
    CHECK_FALSE(it.host.ended);
    CHECK(it.Key("state") == "stopping");
    CHECK(it.Request(2));  // stays in the mailbox, whose end answers it
    it.host.Run();
    CHECK(it.Inside() == 0);
    it.host.Work(Serialized::kService);
    it.host.Run();
    CHECK(it.host.done == std::vector{1});
    CHECK(it.host.end_reason == gen::Reason::Shutdown());
  }
  SUBCASE("that does not") {
    it.host.Stop(gen::Reason::Shutdown());
    it.host.Advance(2999ms);
    CHECK_FALSE(it.host.ended);
    it.host.Advance(1ms);
    CHECK(it.host.end_reason == gen::Reason::Shutdown());
  }
  SUBCASE("with a request inside: at once") {
    CHECK(it.Request(2));
    it.host.Run();
    it.host.Stop(gen::Reason::Shutdown());
    CHECK(it.host.ended);
    CHECK(it.Answer(2) == "process terminated: shutdown");
  }
}

TEST_CASE("serializer: a service that does not answer in time") {
  Serialized it({.service_timeout = 2s});
  CHECK(it.Request(1));
  CHECK(it.Request(2));
  it.host.Run();
  CHECK(it.host.asked.front().timeout == 2s);
  it.host.Advance(2s);
  it.host.Respond(gen::ErrTimeout, gen::EnvelopeKind::kError);
  it.host.Run();
  CHECK(it.Answer(1) == "timed out");
  CHECK(it.Inside() == 2);
  CHECK(it.Key("service_timeouts") == "1");
  REQUIRE_FALSE(it.host.logs.empty());
  CHECK(it.host.logs.back().text.starts_with("the service has not answered "));
  CHECK(it.host.logs.back().text.ends_with(" within 2 s"));
}

TEST_CASE("serializer: wrong options fail the spawn and are named") {
  const auto problem = [](SerializerOptions options) {
    Serialized it(std::move(options));
    CHECK_FALSE(it.started);
    return it.host.end_reason.ToString();
  };
  CHECK(problem({.max_waiting = -1}) == "max_waiting: -1 is outside 0..4000000");
  CHECK(problem({.max_waiting = 4'000'001}) == "max_waiting: 4000001 is outside 0..4000000");
  CHECK(problem({.service_timeout = 0s}) == "service_timeout: 0 is less than 1ns");
  CHECK(problem({.shutdown_timeout = -1ns}) == "shutdown_timeout: -1ns is less than 0");
  FakeHost host;
  auto empty = Serializer::Of({}).Make();
  CHECK_FALSE(host.Start(*empty));
  CHECK(host.end_reason.ToString() == "service: the factory is empty");
}

TEST_CASE("serializer: a service that does not start fails the spawn") {
  FakeHost host;
  host.spawns_until_failure = 0;
  auto behavior = Serializer::Of(gen::Factory<Service>()).Make();
  CHECK_FALSE(host.Start(*behavior));
  CHECK(host.end_reason.ToString().find("bad config") != std::string::npos);
}

}  // namespace
}  // namespace ergon::act::testing
