#include <ergon/node/erlang/terms/atom_budget.h>

#include <stdexcept>

#include <fmt/core.h>

namespace ergon::dist {

gen::Result<gen::Atom> AtomBudget::Make(std::string_view text) {
  if (const auto atom = gen::Atom::Find(text)) return *atom;
  if (text.size() > gen::Atom::kMaxBytes) return MakeUnlimited(text);
  std::size_t used = used_.load(std::memory_order_relaxed);
  do {
    if (used >= max_) {
      return gen::Error(
          gen::ErrorCode::kNotAllowed,
          fmt::format("messages have brought {} new atoms, and may not bring more", max_));
    }
  } while (!used_.compare_exchange_weak(used, used + 1, std::memory_order_relaxed));
  return MakeUnlimited(text);
}

gen::Result<gen::Atom> AtomBudget::MakeUnlimited(std::string_view text) {
  try {
    return gen::Atom(text);
  } catch (const std::length_error& error) {
    return gen::Error(gen::ErrorCode::kUnsupported, error.what());
  }
}

}  // namespace ergon::dist
