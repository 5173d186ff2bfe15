// Functions of the user's that throw while a message is on its way to a worker: that message fails, no other.
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/act/broadcast_answers.h>

#include <kit/node_fixture.h>
#include <kit/tally.h>

namespace ergon {
namespace {

using act::PoolStrategy;
using kit::Eventually;

// How a bad message fails.
enum class Where { kKey, kCopy, kMailbox };

// One in a hundred is bad.
[[nodiscard]] bool IsBad(int number) { return number % 100 == 99; }
int LookAt(int number) {
  if (IsBad(number)) throw std::runtime_error("bad number");
  return number;
}

struct Parcel {
  explicit Parcel(int number_in) : number(number_in) {}
  Parcel(Parcel&&) noexcept = default;
  Parcel& operator=(Parcel&&) noexcept = default;
  Parcel(const Parcel& other) : number(LookAt(other.number)) {}
  Parcel& operator=(const Parcel&) = delete;
  int number;
};
// The same with any copy.
struct Letter {
  static constexpr const char* kTag = "letter";
  int number = 0;
};

template <class T>
class ParcelCounter : public act::Actor {
 public:
  explicit ParcelCounter(kit::TallyPtr tally) : tally_(std::move(tally)) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    tally_->Add(message.As<T>()->number);
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    tally_->Add(request.As<T>()->number);
    return gen::Reply(request.As<T>()->number);
  }
  const kit::TallyPtr tally_;
};

struct PlacingRow {
  Where where = Where::kKey;
  PoolStrategy strategy;
  bool to_all = false;
};

gen::Mailbox ThrowingMailbox() {
  return gen::Mailbox::Priority<Parcel, Letter>([](const auto& one) { return LookAt(one.number); });
}

constexpr int kPlacers = 3;
constexpr int kParcels = 2'000;

// Sends and calls by turns, then checks what has become of each. T: what is sent.
template <class T, class Reply>
void CheckPlacing(const PlacingRow& row) {
  CAPTURE(std::string(row.strategy.ToString()));
  CAPTURE(static_cast<int>(row.where));
  kit::NodeFixture fixture({.log_level = gen::LogLevel::kOff});
  auto tally = std::make_shared<kit::Tally>(kParcels);
  act::PoolOptions options = fixture.Options(kPlacers);
  options.worker_factory = gen::Factory<ParcelCounter<T>>(tally);
  options.strategy = row.strategy;
  if (row.where == Where::kMailbox) options.worker_mailbox = ThrowingMailbox();
  auto pool = fixture.StartPool(options);
  int told = 0;  // of the bad ones, those whose senders were told at once
  std::vector<std::future<gen::Result<Reply>>> answers;
  for (int number = 0; number < kParcels; ++number) {
    if (number % 200 < 100) {
      const auto sent = fixture.node.Send(pool.pid(), T{number});
      CHECK((sent || IsBad(number)));
      if (!sent) ++told;
    } else {
      answers.push_back(
          fixture.node.CallAsync<Reply>(pool.pid(), T{number}, {.timeout = kit::kDeadline}));
    }
  }
  int failed = 0;
  for (auto& answer : answers) {
    const auto outcome = answer.get();
    if (outcome) continue;
    ++failed;
    CHECK(outcome.error().ToString().find("threw") != std::string::npos);
    CHECK(outcome.error().ToString().find("bad number") != std::string::npos);
  }
  CHECK(pool.EventuallyHandled((kParcels - kParcels / 100) * (row.to_all ? kPlacers : 1)));
  CHECK(tally->Seen(row.to_all ? kPlacers : 1, kParcels) == kParcels - kParcels / 100);
  CHECK(tally->Seen(0, kParcels) == kParcels / 100);
  const auto stats = pool.Stats();
  CHECK(stats["worker_restarts"] == 0);
  CHECK(stats["messages_forwarded"] == stats["messages_handled"] + stats["messages_lost"]);
  CHECK(failed == kParcels / 200);
  const auto dropped = static_cast<int>(fixture.node.Info().dropped_failed);
  if (row.where == Where::kMailbox && !row.to_all) {
    // What fails where its sender sees it counts nowhere else.
    CHECK(stats["messages_lost_failed"] == dropped);
    CHECK(told + dropped >= kParcels / 200);
  } else if (row.to_all && row.where == Where::kMailbox) {
    CHECK(stats["messages_lost_failed"] == kParcels / 200 * kPlacers + kParcels / 200);
  } else {
    CHECK(stats["messages_lost_failed"] == kParcels / 100);
    CHECK(dropped == kParcels / 100);
  }
  CHECK(fixture.IsAlive(pool.pid()));
}

TEST_CASE("One message in a hundred that cannot be placed does not stop a pool, by any strategy") {
  const auto key = [](const auto& one) { return LookAt(one.number) % 16; };
  CheckPlacing<Letter, int>({Where::kKey, PoolStrategy::ByKey<Letter>(key)});
  for (const auto& strategy :
       {PoolStrategy::Rotation(), PoolStrategy::LeastLoaded(), PoolStrategy::Random(7)}) {
    CheckPlacing<Letter, int>({Where::kMailbox, strategy});
  }
  CheckPlacing<Parcel, act::BroadcastAnswers>(
      {Where::kCopy, PoolStrategy::Broadcast<Parcel>(), true});
  CheckPlacing<Letter, act::BroadcastAnswers>(
      {Where::kMailbox, PoolStrategy::Broadcast<Letter>(), true});
  CheckPlacing<Letter, int>(
      {Where::kMailbox, PoolStrategy::Broadcast<Parcel>()});  // to one in rotation
}

TEST_CASE(
    "A message that cannot be placed does not keep others waiting while a worker is missing") {
  kit::NodeFixture fixture;
  auto tally = std::make_shared<kit::Tally>(200);
  auto fails = std::make_shared<std::atomic<bool>>(false);
  auto asked = std::make_shared<std::atomic<int>>(0);
  act::PoolOptions options = fixture.Options(1);
  options.worker_factory = {[=]() -> std::unique_ptr<gen::ProcessBehavior> {
                              if (*fails) asked->fetch_add(1);
                              if (*fails) throw std::runtime_error("no worker today");
                              return std::make_unique<ParcelCounter<Letter>>(tally);
                            },
                            &typeid(ParcelCounter<Letter>)};
  options.worker_mailbox = ThrowingMailbox();
  auto pool = fixture.StartPool(options);
  *fails = true;
  fixture.node.Kill(pool.Workers()[0]).value();
  REQUIRE(Eventually([&] { return *asked > 0; }));
  // They wait at the pool.
  for (int number = 0; number < 200; ++number) {
    if (!IsBad(number)) fixture.node.Send(pool.pid(), Letter{number}).value();
    if (number == 99) fixture.node.Send(pool.pid(), Letter{number}).value();
  }
  auto call = fixture.node.CallAsync<int>(pool.pid(), Letter{199}, {.timeout = gen::kInfinite});
  REQUIRE(Eventually([&] { return pool.Stats()["messages_queued"] == 200; }));
  *fails = false;
  const std::string failed = call.get().error().ToString();
  CHECK(failed.starts_with("internal error: the mailbox of <"));
  CHECK(failed.ends_with("> threw bad number"));
  CHECK(pool.EventuallyHandled(198));
  CHECK(tally->Seen(1, 200) == 198);
  CHECK(pool.Stats()["messages_lost_failed"] == 2);
  CHECK(fixture.node.Info().dropped_failed == 2);
  CHECK(fixture.log.Count("letter from <") == 2);
}

}  // namespace
}  // namespace ergon
