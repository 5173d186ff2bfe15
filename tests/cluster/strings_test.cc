// Strings of other nodes, which their receivers make: whoever gets one, however, finds a string.
#include <atomic>
#include <cstddef>
#include <string>

#include <ergon/act/pool.h>
#include <ergon/gen/dead_letter.h>
#include <ergon/gen/mailbox.h>
#include <ergon/node/delivery/unmade_messages.h>

#include <cluster/cluster.h>
#include <kit/gate.h>

namespace ergon::dist::strings_test {
namespace {

constexpr std::size_t kSizes = node::Gathering::kMostBytesOfOne + 20;

std::string OfSize(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>('a' + (size + i) % 26);
  return text;
}

struct Seen {
  std::atomic<std::size_t> strings{0};
  std::atomic<std::size_t> wrong{0};
};

// Expects one string of each size, in this order unless others get some of them.
class Reader : public act::Actor {
 public:
  explicit Reader(Seen* seen, bool in_order = true) : seen_(seen), in_order_(in_order) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    const auto* text = message.As<std::string>();
    const bool is_right =
        text != nullptr && *text == OfSize(text->size()) && (!in_order_ || text->size() == next_++);
    if (!is_right) ++seen_->wrong;
    ++seen_->strings;
    return gen::Continue();
  }

  Seen* const seen_;
  const bool in_order_;
  std::size_t next_ = 0;
};

class Readers : public act::Pool {
 public:
  explicit Readers(Seen* seen) : seen_(seen) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 3, .worker_factory = gen::Factory<Reader>(seen_, false)};
  }
  Seen* const seen_;
};

// Puts strings aside until an atom comes, and passes them on then.
class Keeper : public act::Actor {
 public:
  explicit Keeper(gen::Target to) : to_(std::move(to)) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (message.Is<gen::Atom>()) {
      keeps_ = false;
      CHECK(UnstashAll() == kSizes);
    } else if (keeps_) {
      CHECK(Stash(message));
    } else {
      CHECK(Forward(to_, message));
    }
    return gen::Continue();
  }

  const gen::Target to_;
  bool keeps_ = true;
};

void SendAll(Cluster& cluster, const gen::Target& to) {
  InProcess(cluster.a, [&](gen::Process& self) {
    for (std::size_t size = 0; size < kSizes; ++size) CHECK(self.Send(to, OfSize(size)));
  });
}

}  // namespace

TEST_CASE("strings: of every size, for an actor, by PID and by name") {
  Cluster cluster("strings_actor");
  Seen seen;
  gen::Target to = gen::PID();
  SUBCASE("by PID") { to = cluster.b.Spawn(gen::Factory<Reader>(&seen)).value(); }
  SUBCASE("by name") {  // these are made at once: their envelopes have the name as a tag
    CHECK(cluster.b.SpawnRegister("reader", gen::Factory<Reader>(&seen)));
    to = cluster.OnB("reader");
  }
  SendAll(cluster, to);
  CHECK(kit::Eventually([&] { return seen.strings == kSizes; }));
  CHECK(seen.wrong == 0);
}

TEST_CASE("strings: important ones") {
  Cluster cluster("strings_important");
  Seen seen;
  const auto pid = cluster.b.Spawn(gen::Factory<Reader>(&seen)).value();
  InProcess(cluster.a, [&](gen::Process& self) {
    for (std::size_t size = 0; size < kSizes; ++size) {
      CHECK(self.SendImportant(pid, OfSize(size)));
    }
  });
  CHECK(kit::Eventually([&] { return seen.strings == kSizes; }));
  CHECK(seen.wrong == 0);
}

TEST_CASE("strings: for a receiver that is suspended") {
  Cluster cluster("strings_suspended");
  Seen seen;
  const auto pid = cluster.b.Spawn(gen::Factory<Reader>(&seen)).value();
  CHECK(cluster.b.Suspend(pid));
  SendAll(cluster, pid);
  REQUIRE(kit::Eventually([&] { return cluster.b.ProcessInfo(pid)->messages_queued == kSizes; }));
  CHECK(seen.strings == 0);
  CHECK(cluster.b.Resume(pid));
  CHECK(kit::Eventually([&] { return seen.strings == kSizes; }));
  CHECK(seen.wrong == 0);
}

TEST_CASE("strings: for a mailbox with a queue of its own, which looks at them") {
  Cluster cluster("strings_queue");
  kit::Gate gate(cluster.b);
  std::atomic<std::size_t> strings{0};
  const auto longest_first = gen::Mailbox::Priority<std::string>(
      [](const std::string& text) { return -static_cast<int>(text.size()); });
  const auto pid =
      cluster.b
          .Spawn(
              [&](gen::Process& self) {
                CHECK(self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite}));
                for (std::size_t size = kSizes; size-- != 0;) {
                  const auto text = self.Receive<std::string>(20s);
                  if (text && *text == OfSize(size)) ++strings;
                }
              },
              {.mailbox = longest_first})
          .value();
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  SendAll(cluster, pid);
  REQUIRE(kit::Eventually([&] { return cluster.b.ProcessInfo(pid)->messages_queued == kSizes; }));
  gate.Open();
  CHECK(cluster.b.WaitProcess(pid));
  CHECK(strings == kSizes);
}

TEST_CASE("strings: a process puts them aside, and passes them on later") {
  Cluster cluster("strings_kept");
  Seen seen;
  node::Node* node = nullptr;
  SUBCASE("to another one of its node") { node = &cluster.b; }
  SUBCASE("to one of the node that they come from") { node = &cluster.a; }
  const auto reader = node->Spawn(gen::Factory<Reader>(&seen)).value();
  const auto keeper = cluster.b.Spawn(gen::Factory<Keeper>(reader)).value();
  SendAll(cluster, keeper);
  REQUIRE(kit::Eventually([&] { return cluster.b.MessageBalance().held == kSizes; }));
  CHECK(seen.strings == 0);
  CHECK(cluster.a.Send(keeper, gen::Atom("go")));
  CHECK(kit::Eventually([&] { return seen.strings == kSizes; }));
  CHECK(seen.wrong == 0);
}

TEST_CASE("strings: for the workers of a pool") {
  Cluster cluster("strings_pool");
  Seen seen;
  const auto pool = cluster.b.Spawn(gen::Factory<Readers>(&seen)).value();
  SendAll(cluster, pool);
  CHECK(kit::Eventually([&] { return seen.strings == kSizes; }));
  CHECK(seen.wrong == 0);
}

TEST_CASE("strings: a function receives them out of others, and those that it passed over") {
  Cluster cluster("strings_function");
  std::atomic<int> strings{0};
  const auto pid = cluster.b
                       .Spawn([&](gen::Process& self) {
                         CHECK(self.Receive<gen::Atom>(20s));  // passes the first ones over
                         for (std::size_t i = 0; i < 2 * kSizes; ++i) {
                           const auto text = self.Receive<std::string>(20s);
                           if (text && *text == OfSize(i % kSizes)) ++strings;
                         }
                       })
                       .value();
  SendAll(cluster, pid);
  CHECK(cluster.a.Send(pid, gen::Atom("go")));
  SendAll(cluster, pid);
  CHECK(cluster.b.WaitProcess(pid));
  CHECK(strings == 2 * kSizes);
}

TEST_CASE("strings: those that an ended process has not taken are dead letters") {
  Cluster cluster("strings_rest");
  kit::Gate gate(cluster.b);
  std::atomic<bool> listens{false};
  std::atomic<std::size_t> letters{0};
  const auto listener = cluster.b.Spawn([&](gen::Process& self) {
    CHECK(self.MonitorEvent({gen::kDeadLetters, {}}));
    listens = true;
    while (letters < kSizes) {
      const auto value = self.Receive<gen::MessageEvent>(20s);
      REQUIRE(value);
      const auto* letter = value->As<gen::DeadLetter>();
      REQUIRE(letter != nullptr);
      const auto* text = letter->As<std::string>();
      CHECK(text != nullptr);
      if (text != nullptr && *text == OfSize(letters)) ++letters;
    }
  });
  REQUIRE(listener);
  REQUIRE(kit::Eventually([&] { return listens.load(); }));
  const auto pid =
      cluster.b
          .Spawn([&](gen::Process& self) {
            CHECK(self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite}));
          })
          .value();
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  SendAll(cluster, pid);
  REQUIRE(kit::Eventually([&] { return cluster.b.ProcessInfo(pid)->messages_queued == kSizes; }));
  gate.Open();
  CHECK(cluster.b.WaitProcess(pid));
  CHECK(cluster.b.WaitProcess(*listener));
  CHECK(letters == kSizes);
}

TEST_CASE("strings: for a name that nobody has ever had") {
  Cluster cluster("strings_nobody");
  CHECK(cluster.a.Send(cluster.OnB("strings_nobody_has_this_name"), OfSize(100)));
  CHECK(kit::Eventually([&] { return !cluster.b.LastDrops().empty(); }));
  CHECK(cluster.b.LastDrops().front().reason == gen::DropReason::kUnknown);
}

TEST_CASE("strings: for a mailbox that is full, of which another process gets the rest") {
  Cluster cluster("strings_full");
  Seen seen;
  kit::Gate gate(cluster.b);
  CHECK(cluster.b.SpawnRegister("rest", [&](gen::Process& self) {
    for (std::size_t size = kSizes / 2; size < kSizes; ++size) {
      const auto rest = self.Receive<gen::MessageFallback>(20s);
      REQUIRE(rest);
      const gen::Message message = rest->message.View();
      const auto* text = message.As<std::string>();
      if (text == nullptr || *text != OfSize(size)) ++seen.wrong;
      ++seen.strings;
    }
  }));
  const auto pid =
      cluster.b
          .Spawn(
              [&](gen::Process& self) {
                CHECK(self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite}));
                for (std::size_t size = 0; size < kSizes / 2; ++size) {
                  const auto text = self.Receive<std::string>(20s);
                  if (!text || *text != OfSize(size)) ++seen.wrong;
                  ++seen.strings;
                }
              },
              {.mailbox_size = static_cast<int>(kSizes / 2),
               .fallback = {.name = "rest", .tag = "full"}})
          .value();
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  SendAll(cluster, pid);
  CHECK(kit::Eventually([&] { return seen.strings == kSizes - kSizes / 2; }));
  gate.Open();
  CHECK(kit::Eventually([&] { return seen.strings == kSizes; }));
  CHECK(seen.wrong == 0);
}

}  // namespace ergon::dist::strings_test
