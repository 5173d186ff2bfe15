// Which behaviour each process has, learned once for each process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ergon/node/delivery/addresses.h>

namespace ergon::node {

// Finding the name of a behaviour takes the lock of the process, and a text. So it is kept by the process's slot, in 16
// bytes, and found there the next time. One process.
class BehaviorIndex {
 public:
  static constexpr std::uint32_t kOther = 0;  // stands for all behaviours beyond `most`

  BehaviorIndex(const Addresses& addresses, std::size_t most)
      : addresses_(addresses), most_(most) {}

  [[nodiscard]] const Addresses& addresses() const noexcept { return addresses_; }
  // Returns the number of a process's behaviour; std::nullopt if the process has ended.
  [[nodiscard]] std::optional<std::uint32_t> Of(const ProcessSlot& slot, std::uint64_t id);
  // Returns the name of a process's own behaviour, as a LabelValue, also of one beyond `most`, for which it takes the
  // lock of the process each time; nullptr if the process has ended. Valid until the next call.
  [[nodiscard]] const std::string* NameOf(const ProcessSlot& slot, std::uint64_t id);
  // Returns the name of a behaviour, as a LabelValue.
  [[nodiscard]] const std::string& Name(std::uint32_t behavior) const { return names_[behavior]; }
  [[nodiscard]] std::size_t size() const noexcept { return names_.size(); }

 private:
  struct Known {
    std::uint64_t id = 0;  // of the process; 0: none yet
    std::uint32_t behavior = kOther;
  };

  [[nodiscard]] std::optional<std::string> ReadName(const ProcessSlot& slot,
                                                    std::uint64_t id) const;
  [[nodiscard]] std::uint32_t NumberOf(const std::string& name);

  const Addresses& addresses_;
  const std::size_t most_;
  std::vector<Known> known_;  // by slot
  std::vector<std::string> names_{"(other)"};
  std::string other_;  // the name that NameOf has read, of a behaviour without a number
  std::map<std::string, std::uint32_t> numbers_{{"(other)", kOther}};
};

}  // namespace ergon::node
