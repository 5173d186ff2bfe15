#include <ergon/node/erlang/terms/reference.h>

#include <ergon/node/delivery/foreign_aliases.h>

namespace ergon::dist {

namespace {

node::ForeignAlias ForeignAliasOf(const Reference& reference) {
  static_assert(node::ForeignAlias::kMaxWords == Reference::kMaxWords);
  return {reference.node, reference.creation, reference.size, reference.words};
}

}  // namespace

Reference::operator gen::Target() const { return node::AliasOf(ForeignAliasOf(*this)); }

std::string Reference::ToString() const { return ForeignAliasOf(*this).ToString(); }

}  // namespace ergon::dist

std::size_t std::hash<ergon::dist::Reference>::operator()(
    const ergon::dist::Reference& reference) const noexcept {
  std::size_t value = std::hash<ergon::gen::Atom>()(reference.node) ^ reference.creation;
  for (const std::uint32_t word : reference.words) {
    value = (value ^ word) * std::size_t{0x9e3779b97f4a7c15};
  }
  return value;
}
