#include <ergon/node/process_state/call_edge.h>

#include <array>
#include <atomic>
#include <barrier>
#include <thread>

#include <doctest/doctest.h>

#include <kit/eventually.h>

namespace ergon::node {
namespace {

using Stage = CallEdge::Stage;

constexpr std::uint64_t kMostId = std::uint64_t{1} << 61;

TEST_CASE("call edge: from begin to end") {
  CallEdge edge;
  CHECK(edge.Read().id == 0);
  CHECK(edge.CertainId() == 0);
  for (const std::uint64_t id : {std::uint64_t{1}, kMostId}) {
    CAPTURE(id);
    edge.Begin(id, 7, core::TypeOf<int>(), 100, 5);
    CHECK(edge.Read().stage == Stage::kSending);
    CHECK_FALSE(edge.Read().IsCertain());
    CHECK(edge.CertainId() == 0);
    edge.Redirect(id, 8, 6);
    CHECK(edge.Sent(id));
    CHECK(edge.CertainId() == id);
    edge.Redirect(id, 9, 7);  // too late
    const CallEdge::View view = edge.Read();
    CHECK(view.IsCertain());
    CHECK(view.id == id);
    CHECK(view.to == 8);
    CHECK(view.type == core::TypeOf<int>());
    CHECK(view.since == 100);
    CHECK(view.ticket == 6);
    edge.End();
    CHECK(edge.Read().id == 0);
  }
}

TEST_CASE("call edge: a request that was taken stays taken, one of another id is nobody's affair") {
  for (const Stage stage : {Stage::kLeftOpen, Stage::kPassedOn}) {
    for (const bool sent_first : {true, false}) {
      CAPTURE(sent_first);
      CallEdge edge;
      edge.Begin(3, 7, nullptr, 0, 0);
      edge.NoteTaken(2, stage);
      CHECK(edge.Read().stage == Stage::kSending);
      if (sent_first) CHECK(edge.Sent(3));
      edge.NoteTaken(3, stage);
      if (!sent_first) CHECK_FALSE(edge.Sent(3));
      CHECK(edge.Read().stage == stage);
      CHECK(edge.Read().id == 3);
      CHECK(edge.CertainId() == 0);
      edge.NoteTaken(3, Stage::kLeftOpen);  // the first one counts
      CHECK(edge.Read().stage == stage);
      edge.End();
      edge.NoteTaken(3, stage);
      CHECK(edge.Read().id == 0);
    }
  }
}

TEST_CASE("call edge: a pool moves a request, and its receiver takes it again") {
  CallEdge edge;
  CHECK_FALSE(edge.BeginMove(3, 9));
  edge.Begin(3, 7, core::TypeOf<int>(), 100, 5);
  CHECK(edge.Sent(3));
  edge.NoteTaken(3, Stage::kPassedOn);  // the pool keeps it
  CHECK(edge.CertainId() == 0);

  CHECK(edge.BeginMove(3, 9));
  CHECK(edge.CertainId() == 0);
  CHECK(edge.Read().to == 7);
  edge.Redirect(3, 10, 0);  // its caller sends it no more
  CHECK(edge.EndMove(3, 9, true));
  CHECK(edge.CertainId() == 3);
  CHECK(edge.Read().IsCertain());
  CHECK(edge.IsMoved(3));
  CHECK(edge.Read().to == 9);
  CHECK(edge.Read().ticket == 0);
  CHECK(edge.Read().since == 100);

  edge.NoteTaken(3, Stage::kLeftOpen);
  CHECK(edge.CertainId() == 0);
  CHECK_FALSE(edge.Read().IsCertain());

  // To a worker that is full, and to one that takes it before the pool has noted that it is there.
  CHECK(edge.BeginMove(3, 11));
  CHECK_FALSE(edge.EndMove(3, 9, true));  // the former move, late
  CHECK_FALSE(edge.EndMove(3, 11, false));
  CHECK(edge.CertainId() == 0);
  CHECK(edge.BeginMove(3, 12));
  edge.NoteTaken(3, Stage::kPassedOn);
  CHECK_FALSE(edge.EndMove(3, 12, true));
  CHECK(edge.CertainId() == 0);

  // The next request has nothing of it.
  CHECK(edge.BeginMove(3, 13));
  CHECK(edge.EndMove(3, 13, true));
  edge.End();
  CHECK(edge.CertainId() == 0);
  edge.Begin(4, 7, core::TypeOf<int>(), 100, 5);
  CHECK(edge.Sent(4));
  CHECK(edge.Read().to == 7);
  CHECK(edge.Read().ticket == 5);
  CHECK_FALSE(edge.BeginMove(3, 14));
  CHECK(edge.Read().to == 7);
}

TEST_CASE("call edge: a request is moved before its caller knows that it is sent") {
  CallEdge edge;
  edge.Begin(3, 7, nullptr, 0, 0);
  CHECK(edge.BeginMove(3, 9));
  edge.Redirect(3, 10, 0);  // by the pool, and not by the caller
  CHECK(edge.EndMove(3, 9, true));
  CHECK(edge.CertainId() == 0);
  CHECK(edge.Read().stage == Stage::kSending);
  CHECK(edge.Sent(3));
  CHECK(edge.CertainId() == 3);
  CHECK(edge.Read().to == 9);
}

TEST_CASE("call edge: a receiver takes a request while the pool notes that it is there") {
  const std::uint64_t rounds = static_cast<std::uint64_t>(kit::Scaled(50'000));
  CallEdge edge;
  std::uint64_t certain = 0;
  std::barrier both(2);
  const auto run = [&](bool is_pool) {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      if (is_pool) {
        edge.Begin(round, 7, nullptr, 0, 0);
        (void)edge.Sent(round);
        edge.NoteTaken(round, Stage::kPassedOn);
        (void)edge.BeginMove(round, 9);
      }
      both.arrive_and_wait();
      if (is_pool) {
        (void)edge.EndMove(round, 9, true);
      } else {
        edge.NoteTaken(round, Stage::kLeftOpen);
      }
      both.arrive_and_wait();
      if (is_pool && edge.CertainId() != 0) ++certain;
      both.arrive_and_wait();
    }
  };
  {
    const std::jthread receiver([&] { run(false); });
    run(true);
  }
  CHECK(certain == 0);
}

TEST_CASE("call edge: of two that call at the same time at least one sees the other's") {
  const std::uint64_t rounds = static_cast<std::uint64_t>(kit::Scaled(20'000));
  std::array<CallEdge, 2> edges;
  std::array<bool, 2> seen{};
  std::uint64_t missed = 0;
  std::barrier both(2);
  const auto run = [&](std::size_t me) {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      both.arrive_and_wait();
      edges[me].Begin(round, 7, nullptr, 0, 0);
      (void)edges[me].Sent(round);
      seen[me] = edges[1 - me].CertainId() == round;
      both.arrive_and_wait();
      if (me == 0 && !seen[0] && !seen[1]) ++missed;
      edges[me].End();
    }
  };
  {
    const std::jthread second([&] { run(1); });
    run(0);
  }
  CHECK(missed == 0);
}

TEST_CASE("call edge: what is read belongs together") {
  CallEdge edge;
  std::atomic<bool> stop{false};
  const std::jthread writer([&] {
    for (std::uint64_t id = 1; !stop; ++id) {
      edge.Begin(id, id * 3, nullptr, static_cast<std::int64_t>(id * 5), 0);
      (void)edge.Sent(id);
      edge.End();
    }
  });
  int read = 0;
  std::uint64_t torn = 0;
  while (read < kit::Scaled(100'000)) {
    const CallEdge::View view = edge.Read();
    if (view.id == 0) continue;
    ++read;
    if (view.to != view.id * 3 || view.since != static_cast<std::int64_t>(view.id * 5)) ++torn;
  }
  stop = true;
  CHECK(torn == 0);
}

}  // namespace
}  // namespace ergon::node
