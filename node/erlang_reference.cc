#include <ergon/node/erlang_reference.h>

#include <fmt/core.h>

namespace ergon::dist {

std::string Reference::ToString() const {
  std::string text = fmt::format("#Ref<{}", node);
  for (std::size_t i = size; i > 0; --i) text += fmt::format(".{}", words[i - 1]);
  return text + '>';
}

}  // namespace ergon::dist

std::size_t std::hash<ergon::dist::Reference>::operator()(
    const ergon::dist::Reference& reference) const noexcept {
  std::size_t value = std::hash<ergon::gen::Atom>()(reference.node) ^ reference.creation;
  for (const std::uint32_t word : reference.words) {
    value = (value ^ word) * std::size_t{0x9e3779b97f4a7c15};
  }
  return value;
}
