#include <ergon/gen/process_behavior.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

// Fills the memory it has with its number.
template <std::size_t kBytes, std::size_t kAlignment = alignof(void*)>
class alignas(kAlignment) Filled final : public ProcessBehavior {
 public:
  explicit Filled(std::uint8_t number) { bytes_.fill(number); }

  Status ProcessInit(ProcessHost&, const Args&) override { return Continue(); }
  Status ProcessMessage(core::Envelope&) override { return Continue(); }
  void ProcessTerminate(const Reason&) override {}

  [[nodiscard]] bool IsIntact(std::uint8_t number) const {
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(this) % kAlignment == 0;
    for (const std::uint8_t byte : bytes_) {
      if (byte != number) return false;
    }
    return is_aligned;
  }

 private:
  std::array<std::uint8_t, kBytes> bytes_;
};

// More than a thread keeps; they are deleted as what they are known as in a process.
template <std::size_t kBytes, std::size_t kAlignment = alignof(void*)>
void CheckMemory() {
  using Behavior = Filled<kBytes, kAlignment>;
  CAPTURE(kBytes);
  CAPTURE(kAlignment);
  std::vector<std::unique_ptr<ProcessBehavior>> behaviors;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 300; ++i) {
      behaviors.push_back(std::make_unique<Behavior>(static_cast<std::uint8_t>(i)));
    }
    int intact = 0;
    for (int i = 0; i < 300; ++i) {
      const auto& behavior = dynamic_cast<const Behavior&>(*behaviors[static_cast<std::size_t>(i)]);
      intact += behavior.IsIntact(static_cast<std::uint8_t>(i)) ? 1 : 0;
    }
    CHECK(intact == 300);
    behaviors.clear();
  }
}

TEST_CASE("process behavior: behaviours of each size have memory of their own") {
  CheckMemory<1>();
  CheckMemory<56>();
  CheckMemory<57>();
  CheckMemory<200>();
  CheckMemory<504>();
  CheckMemory<505>();
  CheckMemory<5000>();
}

TEST_CASE("process behavior: an alignment of its own is kept") {
  CheckMemory<8, 32>();
  CheckMemory<8, 128>();
  CheckMemory<600, 256>();
}

struct Thrower : ProcessBehavior {
  Thrower() { throw std::runtime_error("no"); }
  Status ProcessInit(ProcessHost&, const Args&) override { return Continue(); }
  Status ProcessMessage(core::Envelope&) override { return Continue(); }
  void ProcessTerminate(const Reason&) override {}
};

// The address sanitizer finds what is not given back.
TEST_CASE("process behavior: a constructor that throws gives the memory back") {
  CHECK_THROWS_AS((void)std::make_unique<Thrower>(), std::runtime_error);
}

}  // namespace
}  // namespace ergon::gen
