#include <ergon/gen/atom.h>

#include <array>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

#include <ergon/core/foundations/only_runtime.h>

namespace ergon::gen {
namespace {

// Texts live in chunks that never move, so that reading one needs no lock.
class AtomTable {
 public:
  static AtomTable& Instance() {
    static auto* table = new AtomTable;  // never destroyed: atoms outlive everything
    return *table;
  }

  std::uint32_t Intern(std::string_view text) {
    std::lock_guard lock(mutex_);
    auto found = indexes_.find(text);
    if (found != indexes_.end()) return found->second;
    const std::uint32_t index = count_;
    auto& chunk = chunks_[index / kChunkSize];
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
      if (index / kChunkSize >= kChunks) throw std::length_error("too many atoms");
      // Release; partner: Text.
      chunk.store(new Chunk, std::memory_order_release);
    }
    std::string& place = (*chunk.load(std::memory_order_relaxed))[index % kChunkSize];
    place = text;
    indexes_.emplace(place, index);
    ++count_;
    return index;
  }

  std::optional<std::uint32_t> Find(std::string_view text) {
    std::lock_guard lock(mutex_);
    auto found = indexes_.find(text);
    if (found == indexes_.end()) return std::nullopt;
    return found->second;
  }

  std::string_view Text(std::uint32_t index) const {
    // Acquire; partner: Intern. The text itself was written before its index was handed out.
    return (*chunks_[index / kChunkSize].load(std::memory_order_acquire))[index % kChunkSize];
  }

  [[nodiscard]] const void* Chunks() const noexcept { return chunks_.data(); }

  void Lock() noexcept { mutex_.lock(); }
  void Unlock() noexcept { mutex_.unlock(); }

 private:
  static constexpr std::uint32_t kChunkSize = detail::kAtomChunk;
  static constexpr std::uint32_t kChunks = 4096;
  using Chunk = std::array<std::string, kChunkSize>;

  AtomTable() { Intern(""); }

  std::mutex mutex_;
  std::unordered_map<std::string_view, std::uint32_t> indexes_;
  std::uint32_t count_ = 0;
  std::array<std::atomic<Chunk*>, kChunks + 1> chunks_{};
};

}  // namespace

Atom::Atom(std::string_view text) {
  if (text.size() > kMaxBytes) {
    throw std::length_error("atom: " + std::to_string(text.size()) + " bytes, at most " +
                            std::to_string(kMaxBytes) +
                            " are possible: " + std::string(text.substr(0, 40)) + "...");
  }
  index_ = AtomTable::Instance().Intern(text);
}

std::optional<Atom> Atom::Find(std::string_view text) noexcept {
  if (text.size() > kMaxBytes) return std::nullopt;
  const auto index = AtomTable::Instance().Find(text);
  if (!index) return std::nullopt;
  return FromIndex(*index);
}

std::string_view Atom::Text() const noexcept { return AtomTable::Instance().Text(index_); }

const void* detail::AtomChunks() noexcept { return AtomTable::Instance().Chunks(); }

void detail::LockAtoms() noexcept { AtomTable::Instance().Lock(); }
void detail::UnlockAtoms() noexcept { AtomTable::Instance().Unlock(); }

}  // namespace ergon::gen
