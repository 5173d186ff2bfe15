// How many atoms others may make here.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string_view>

#include <ergon/gen/atom.h>
#include <ergon/gen/result.h>

namespace ergon::dist {

// Atoms are never freed, so what comes from outside may make only so many. Shared by a node's
// terms; any thread.
class AtomBudget : public std::enable_shared_from_this<AtomBudget> {
 public:
  explicit AtomBudget(std::size_t max_new_atoms) : max_(max_new_atoms) {}

  // The atom of a text that came from outside. kNotAllowed: it would be one too many. kUnsupported:
  // it is longer than gen::Atom::kMaxBytes, or the program has no room for any more.
  [[nodiscard]] gen::Result<gen::Atom> Make(std::string_view text);
  // The same without a limit of its own, for terms that belong to no node.
  [[nodiscard]] static gen::Result<gen::Atom> MakeUnlimited(std::string_view text);

  [[nodiscard]] std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }

 private:
  const std::size_t max_;
  std::atomic<std::size_t> used_{0};  // relaxed: a counter
};

}  // namespace ergon::dist
