// Two sides of a link, whose signals cross in every way there is.
#include <ergon/node/cluster/connection/link_states.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <kit/eventually.h>
#include <kit/one_thread.h>

namespace ergon::dist {
namespace {

enum class LinkWord : std::uint8_t { kLink, kUnlink, kAcknowledgement, kExit };
struct LinkSignal {
  LinkWord word;
  std::uint64_t id;
  friend auto operator<=>(const LinkSignal&, const LinkSignal&) = default;
};

// A process, with its side of the link.
struct LinkSide {
  LinkState state;
  std::deque<LinkSignal> arriving;  // sent by the other side, oldest first
  std::uint64_t last_unlink = 0;
  int steps_left = 0;
  bool is_alive = true;
  // What it has done last, and since.
  bool has_linked_last = false;
  bool has_unlinked_ever = false;
  bool may_hear_of_an_end = false;  // since its last unlink somebody has linked
  int ends_heard = 0;
  friend auto operator<=>(const LinkSide&, const LinkSide&) = default;
};

class LinkModel {
 public:
  explicit LinkModel(int steps_of_each) {
    for (LinkSide& side : start_.sides) side.steps_left = steps_of_each;
  }
  // Both are linked at first, and know it.
  void BeginLinked() {
    for (LinkSide& side : start_.sides) {
      REQUIRE(side.state.TakeLink());
      side.may_hear_of_an_end = true;
      side.has_linked_last = true;
    }
  }
  void TryAll() { From(start_); }
  [[nodiscard]] std::size_t rests() const { return rests_; }

 private:
  struct World {
    std::array<LinkSide, 2> sides;
    friend auto operator<=>(const World&, const World&) = default;
  };

  static void Send(World& world, std::size_t from, LinkSignal signal) {
    world.sides[1 - from].arriving.push_back(signal);
  }

  void From(const World& world) {
    if (!seen_.insert(world).second) return;
    bool is_at_rest = true;
    for (std::size_t i = 0; i < 2; ++i) {
      const LinkSide& side = world.sides[i];
      if (!side.arriving.empty()) {
        is_at_rest = false;
        World next = world;
        Take(next, i);
        From(next);
      }
      if (side.steps_left == 0 || !side.is_alive) continue;
      for (const LinkWord step : {LinkWord::kLink, LinkWord::kUnlink, LinkWord::kExit}) {
        World next = world;
        --next.sides[i].steps_left;
        Do(next, i, step);
        From(next);
      }
    }
    if (is_at_rest) CheckRest(world);
  }

  static void Do(World& world, std::size_t i, LinkWord step) {
    LinkSide& side = world.sides[i];
    if (step == LinkWord::kLink) {
      side.has_linked_last = true;
      side.may_hear_of_an_end = true;
      if (side.state.Link()) Send(world, i, {LinkWord::kLink, 0});
    } else if (step == LinkWord::kUnlink) {
      side.has_linked_last = false;
      side.has_unlinked_ever = true;
      side.may_hear_of_an_end = false;
      const std::uint64_t id = side.last_unlink + 1;
      if (side.state.Unlink(id)) {
        side.last_unlink = id;
        Send(world, i, {LinkWord::kUnlink, id});
      }
    } else {
      side.is_alive = false;
      if (side.state.IsLinked()) Send(world, i, {LinkWord::kExit, 0});
      side.state = {};
    }
  }

  static void Take(World& world, std::size_t i) {
    LinkSide& side = world.sides[i];
    const LinkSignal signal = side.arriving.front();
    side.arriving.pop_front();
    switch (signal.word) {
      case LinkWord::kLink:
        if (!side.is_alive) {
          Send(world, i, {LinkWord::kExit, 0});
        } else if (side.state.TakeLink()) {
          side.may_hear_of_an_end = true;
        }
        break;
      case LinkWord::kUnlink:
        if (side.is_alive) (void)side.state.TakeUnlink();
        Send(world, i, {LinkWord::kAcknowledgement, signal.id});
        break;
      case LinkWord::kAcknowledgement:
        if (side.is_alive) side.state.TakeAcknowledgement(signal.id);
        break;
      case LinkWord::kExit:
        if (!side.is_alive || !side.state.TakeExit()) break;
        ++side.ends_heard;
        // Nobody hears of an end after its unlink, unless somebody has linked since.
        if (!side.may_hear_of_an_end) FAIL("an end is heard after an unlink");
        break;
    }
  }

  // All that was sent has arrived.
  void CheckRest(const World& world) {
    ++rests_;
    const LinkSide& one = world.sides[0];
    const LinkSide& other = world.sides[1];
    // Nothing is outstanding, and both think the same: nobody is told of a lost connection alone.
    const bool agree = one.state.IsLinked() == other.state.IsLinked();
    if (!agree) FAIL("half-linked");
    for (std::size_t i = 0; i < 2; ++i) {
      const LinkSide& side = world.sides[i];
      const LinkSide& peer = world.sides[1 - i];
      if (!side.state.IsLinked() && !side.state.IsOver()) FAIL("an unlink is outstanding");
      if (side.is_alive && !peer.is_alive && side.state.IsLinked()) FAIL("linked with the dead");
      if (side.is_alive && !peer.is_alive && side.has_linked_last && !peer.has_unlinked_ever &&
          side.ends_heard == 0) {
        FAIL("an end that nobody has heard of");
      }
    }
    if (!one.is_alive || !other.is_alive) return;
    if (one.has_linked_last && other.has_linked_last && !one.state.IsLinked()) {
      FAIL("both have linked last, and are not");
    }
    // What is done now, and crosses nothing, is done.
    for (std::size_t i = 0; i < 2; ++i) {
      for (const LinkWord step : {LinkWord::kLink, LinkWord::kUnlink}) {
        World next = world;
        Do(next, i, step);
        while (!next.sides[0].arriving.empty() || !next.sides[1].arriving.empty()) {
          Take(next, next.sides[0].arriving.empty() ? 1 : 0);
        }
        for (const LinkSide& side : next.sides) {
          if (side.state.IsLinked() != (step == LinkWord::kLink)) FAIL("a step without effect");
        }
      }
    }
  }

  World start_;
  std::set<World> seen_;
  std::size_t rests_ = 0;
};

}  // namespace

TEST_CASE("link states: whatever crosses, both sides think the same in the end" *
          kit::OneThread()) {
  constexpr int kSteps = kit::kSanitized ? 3 : 4;
  LinkModel unlinked(kSteps);
  unlinked.TryAll();
  CHECK(unlinked.rests() > kit::Scaled(100));
  LinkModel linked(kSteps);
  linked.BeginLinked();
  linked.TryAll();
  CHECK(linked.rests() > kit::Scaled(100));
}

TEST_CASE("link states: an unlink that is outstanding makes the other side's signals stale") {
  const LinkStates::Pair pair{{1, "a@h", 2}, {3, "b@h", 4}};
  LinkStates links;
  CHECK(links.Link(pair));
  CHECK_FALSE(links.Link(pair));
  const std::uint64_t first = links.Unlink(pair);
  CHECK(first != 0);
  CHECK(links.Unlink(pair) == 0);
  CHECK_FALSE(links.TakeLink(pair));
  CHECK_FALSE(links.TakeExit(pair));
  CHECK_FALSE(links.TakeUnlink(pair));
  links.TakeAcknowledgement(pair, first + 1);  // of none
  CHECK_FALSE(links.TakeLink(pair));
  links.TakeAcknowledgement(pair, first);
  CHECK(links.empty());
  CHECK(links.TakeLink(pair));
  CHECK(links.TakeExit(pair));
  CHECK(links.empty());
}

TEST_CASE("link states: a link takes an unlink back, whose acknowledgement means nothing then") {
  const LinkStates::Pair pair{{1, "a@h", 2}, {3, "b@h", 4}};
  LinkStates links;
  CHECK(links.Link(pair));
  const std::uint64_t first = links.Unlink(pair);
  CHECK(links.Link(pair));
  const std::uint64_t second = links.Unlink(pair);
  CHECK(second != first);
  CHECK(links.Link(pair));
  links.TakeAcknowledgement(pair, first);
  links.TakeAcknowledgement(pair, second);
  std::vector<LinkStates::Pair> linked;
  const auto visit = [&](gen::PID local, gen::PID remote) { linked.push_back({local, remote}); };
  links.VisitLinked(visit);
  CHECK(linked == std::vector{pair});
  const std::uint64_t third = links.Unlink(pair);
  linked.clear();
  links.VisitLinked(visit);  // of a lost connection: nobody is told
  CHECK(linked.empty());
  CHECK_FALSE(links.empty());
  links.TakeAcknowledgement(pair, third);
  CHECK(links.empty());
  CHECK(links.Link(pair));
  CHECK(links.End(pair));
  CHECK_FALSE(links.End(pair));
}

}  // namespace ergon::dist
