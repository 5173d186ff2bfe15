#include <ergon/node/delivery/foreign_aliases.h>

#include <mutex>
#include <random>
#include <unordered_map>
#include <vector>

#include <fmt/core.h>

#include <ergon/core/foundations/mix.h>

namespace ergon::node {
namespace {

constexpr std::uint32_t kWordsThatFit = 3;  // the third one is 0

// Other nodes choose their aliases: with the seed they cannot choose many of one hash.
struct HashOfAlias {
  std::size_t operator()(const ForeignAlias& alias) const noexcept {
    std::uint64_t hash = seed ^ (std::uint64_t{alias.node.Index()} << 32 | alias.creation);
    hash = core::Mix(hash);
    for (const std::uint32_t word : alias.words) hash = core::Mix(hash ^ word);
    return hash;
  }
  std::uint64_t seed = std::uint64_t{std::random_device()()} << 32 | std::random_device()();
};

// Those that were new last: one that is used again and again goes, too, and comes back with another number.
class AliasTable {
 public:
  std::uint64_t NumberOf(const ForeignAlias& alias) {
    std::lock_guard lock(mutex_);
    if (const auto found = numbers_.find(alias); found != numbers_.end()) return found->second;
    const std::uint64_t number = next_++;
    const std::size_t place = number % kMostForeignAliases;
    if (place == all_.size()) {
      all_.push_back({number, alias});
    } else {
      numbers_.erase(all_[place].alias);
      all_[place] = {number, alias};
    }
    numbers_[alias] = number;
    return number;
  }
  std::optional<ForeignAlias> Find(std::uint64_t number) {
    std::lock_guard lock(mutex_);
    const std::size_t place = number % kMostForeignAliases;
    if (place >= all_.size() || all_[place].number != number) return std::nullopt;
    return all_[place].alias;
  }
  void Lock() noexcept { mutex_.lock(); }
  void Unlock() noexcept { mutex_.unlock(); }

 private:
  struct Entry {
    std::uint64_t number;
    ForeignAlias alias;
  };
  std::mutex mutex_;
  // -- guarded by it --
  std::uint64_t next_ = 0;
  std::vector<Entry> all_;  // by the number's rest
  std::unordered_map<ForeignAlias, std::uint64_t, HashOfAlias> numbers_;
};

AliasTable& TableOfProgram() {
  static AliasTable& table = *new AliasTable;  // threads may outlive the end of main
  return table;
}

}  // namespace

std::string ForeignAlias::ToString() const {
  std::string text = fmt::format("#Ref<{}", node);
  for (std::size_t i = size; i > 0; --i) text += fmt::format(".{}", words[i - 1]);
  return text + '>';
}

gen::PID PidOfAlias(const ForeignAlias& alias) {
  return {kAliasBit | TableOfProgram().NumberOf(alias), alias.node, 0};
}

gen::PID PidOfAlias(gen::Alias alias) {
  if (StandsForAnother(alias)) {
    const std::uint64_t number = alias.id & ~kStandsForAnother;
    const auto found = TableOfProgram().Find(number);
    return found ? gen::PID{kAliasBit | number, found->node, 0} : gen::PID();
  }
  ForeignAlias foreign{alias.node, alias.creation, kWordsThatFit, {}};
  foreign.words[0] = static_cast<std::uint32_t>(alias.id);
  foreign.words[1] = static_cast<std::uint32_t>(alias.id >> 32);
  return PidOfAlias(foreign);
}

void LockForeignAliases() noexcept { TableOfProgram().Lock(); }
void UnlockForeignAliases() noexcept { TableOfProgram().Unlock(); }

std::optional<ForeignAlias> ForeignAliasOf(gen::PID pid) {
  return TableOfProgram().Find(pid.id & ~kAliasBit);
}

gen::Alias AliasOf(const ForeignAlias& alias) {
  if (alias.size == 0) return {};
  const std::uint64_t id = std::uint64_t{alias.words[1]} << 32 | alias.words[0];
  const bool fits = alias.size == kWordsThatFit && alias.words[2] == 0 && id < kStandsForAnother;
  if (fits) return {id, alias.node, alias.creation};
  return {kStandsForAnother | TableOfProgram().NumberOf(alias), alias.node, alias.creation};
}

}  // namespace ergon::node
