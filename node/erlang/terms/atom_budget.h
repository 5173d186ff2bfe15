// A limit for the atoms that other nodes may make here.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string_view>

#include <ergon/gen/atom.h>
#include <ergon/gen/result.h>

namespace ergon::dist {

// Atoms are never freed, so bytes that come from outside may make only a limited number of them. Shared by a node's
// terms. Any thread.
class AtomBudget : public std::enable_shared_from_this<AtomBudget> {
 public:
  explicit AtomBudget(std::size_t max_new_atoms) : max_(max_new_atoms) {}

  // Returns the atom of a text that came from outside. Returns kNotAllowed if it would be one atom too many, and
  // kUnsupported if it is longer than gen::Atom::kMaxBytes, or if the program has no room for more atoms.
  [[nodiscard]] gen::Result<gen::Atom> Make(std::string_view text);
  // Does the same without a limit, for terms that belong to no node.
  [[nodiscard]] static gen::Result<gen::Atom> MakeUnlimited(std::string_view text);

  [[nodiscard]] std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }

 private:
  const std::size_t max_;
  std::atomic<std::size_t> used_{0};  // relaxed: a counter
};

}  // namespace ergon::dist
