#include <ergon/act/pool/broadcast_forwarder.h>

#include <ergon/core/clock.h>

#include "../pool_fixture.h"

namespace ergon::act {
namespace {

using testing::Job;
using testing::PoolFixture;

void Ask(PoolFixture& fixture, std::uint64_t ref) {
  auto request = core::MakeEnvelope<Job>(static_cast<std::uint8_t>(gen::EnvelopeKind::kRequest),
                                         core::Lane::kMain, Job{1});
  request->ref = ref;
  request->deadline = core::kNever;  // as that of another node's caller
  REQUIRE(fixture.host.Deliver(std::move(request)));
  fixture.host.Run();
}

TEST_CASE("a pool that broadcasts forgets the questions that nobody waits for any more") {
  PoolFixture f({.pool_size = 2, .strategy = PoolStrategy::Broadcast<Job>()});
  f.Start();
  for (std::uint64_t ref = 1; ref <= 64; ++ref) Ask(f, ref);
  CHECK(f.host.asked.size() == 128);
  for (std::uint64_t ref = 1; ref < 64; ++ref) f.host.abandoned.insert(ref);
  Ask(f, 65);
  CHECK(f.host.asked.size() == 4);  // of the last two
  for (int answer = 1; answer <= 4; ++answer) f.host.Respond(answer);
  f.host.Run();
  REQUIRE(f.host.responses.size() == 2);
  CHECK(f.host.responses[0].ref.id == 64);
  CHECK(f.host.responses[1].ref.id == 65);
  for (std::size_t i = 0; i < 2; ++i) {
    auto* answers = f.host.responses[i].envelope->ValueAs<BroadcastAnswers>();
    REQUIRE(answers != nullptr);
    CHECK(answers->size() == 2);
  }
  f.host.abandoned.clear();
  for (std::uint64_t ref = 66; ref <= 132; ++ref) Ask(f, ref);
  CHECK(f.host.asked.size() == 134);  // those that somebody waits for stay
}

}  // namespace
}  // namespace ergon::act
