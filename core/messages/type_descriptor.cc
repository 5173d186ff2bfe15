#include <ergon/core/messages/type_descriptor.h>

#include <ergon/core/foundations/demangle.h>

namespace ergon::core {

std::string TypeDescriptor::Name() const { return Demangle(info->name()); }

std::string TypeDescriptor::TagOrName() const { return tag ? std::string(tag()) : Name(); }

std::uint32_t TypeDescriptor::ComputeHash() const noexcept {
  const auto computed = static_cast<std::uint32_t>(info->hash_code()) | kKnown;
  __atomic_store_n(&hash, computed, __ATOMIC_RELAXED);
  return computed;
}

bool detail::HaveSameName(const TypeDescriptor& left, const TypeDescriptor& right) noexcept {
  if (left.Hash() != right.Hash()) return false;
  // By name, but for types in unnamed namespaces: these are equal only if they are the same one.
  return *left.info == *right.info;
}

}  // namespace ergon::core
