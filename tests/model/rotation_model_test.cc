// Senders take turns while the owner changes the ring: whoever gets a turn is or was a receiver.
#include "shim.h"

#include "checks.h"

#include <ergon/core/messages/rotation.h>

namespace ergon::model {
namespace {

using core::Rotation;

// Kept outside, so that an execution that is cut off leaves no memory behind.
const std::vector<std::uint64_t> kFew{1, 2};
const std::vector<std::uint64_t> kMore{2, 1, 3};
const std::vector<std::uint64_t> kTooMany{9, 8, 7, 6, 5, 4, 3, 2, 1};  // for the first array
const std::vector<std::uint64_t> kNobody;

// Two senders and a ring at rest: a fair rotation, whoever takes the tickets.
class Rest : public Model {
 public:
  Rest() { rotation_.Publish(kFew); }
  void Run(int thread) override {
    for (std::uint64_t& turn : turns_[thread]) turn = rotation_.Next();
    if (thread == 1) rotation_.Skipped();
  }
  void Finish() override {
    int ones = 0;
    int twos = 0;
    for (const auto& turns : turns_) {
      for (const std::uint64_t turn : turns) {
        ones += turn == 1;
        twos += turn == 2;
      }
    }
    Check(ones == 2 && twos == 2, "not fair");
    Check(rotation_.Given() == 3, "a wrong count of turns");
  }

 private:
  Rotation rotation_;
  std::array<std::array<std::uint64_t, 2>, 2> turns_{};
};

TEST_CASE("model: a rotation at rest") { CheckModel<Rest>({.name = "rotation-rest"}, 6); }

enum class Change { kGrow, kGrowArray, kShrink, kReplace, kClear };

// Thread 0 changes the ring, the others send.
template <Change kChange>
class Changing : public Model {
 public:
  Changing() { rotation_.Publish(kChange == Change::kShrink ? kMore : kFew); }
  void Run(int thread) override {
    if (thread > 0) {
      for (std::uint64_t& turn : turns_[thread]) turn = rotation_.Next();
      return;
    }
    switch (kChange) {
      case Change::kGrow:
        rotation_.Publish(kMore);
        break;
      case Change::kGrowArray:
        rotation_.Publish(kTooMany);
        break;
      case Change::kShrink:
        rotation_.Publish(kFew);
        break;
      case Change::kReplace:
        Check(rotation_.Replace(1, 4), "the receiver is not there");
        break;
      case Change::kClear:
        rotation_.Publish(kNobody);
        rotation_.Reset();
        rotation_.Publish(kFew);
        break;
    }
  }
  void Finish() override {
    for (int thread = 1; thread < 3; ++thread) {
      for (const std::uint64_t turn : turns_[thread]) {
        const std::uint64_t largest = kChange == Change::kGrowArray ? 9 : 4;
        const bool may_be_nobody = kChange == Change::kClear;
        Check(turn <= largest, "a turn for somebody who was no receiver");
        Check(turn != 0 || may_be_nobody, "a turn for nobody");
      }
    }
    const std::vector<std::uint64_t> order = rotation_.InOrder();
    Check(order.size() == rotation_.size(), "a wrong size");
    for (const std::uint64_t expected : order) {
      Check(rotation_.Next() == expected, "not the order that was told");
    }
  }

 protected:
  Rotation rotation_;
  std::array<std::array<std::uint64_t, 1>, 3> turns_{};
};

TEST_CASE("model: a rotation whose ring changes") {
  CheckModel<Changing<Change::kGrow>>({.name = "rotation-grow", .threads = 3}, 100);
  CheckModel<Changing<Change::kGrowArray>>({.name = "rotation-grow-array", .threads = 3}, 70);
  CheckModel<Changing<Change::kShrink>>({.name = "rotation-shrink", .threads = 3}, 100);
  CheckModel<Changing<Change::kReplace>>({.name = "rotation-replace", .threads = 3}, 4);
  CheckModel<Changing<Change::kClear>>({.name = "rotation-clear", .threads = 3}, 400);
}

}  // namespace
}  // namespace ergon::model
