#include <ergon/act/shared/inspection_items.h>

#include <algorithm>

namespace ergon::act {

bool IsAskedFor(std::string_view key, const std::vector<std::string>& items) {
  if (items.empty()) return true;
  return std::ranges::any_of(items, [key](const std::string& item) {
    return key.starts_with(item) &&
           (key.size() == item.size() || key[item.size()] == '.' || key[item.size()] == ':');
  });
}

void KeepAskedFor(gen::Inspection& inspection, const std::vector<std::string>& items) {
  std::erase_if(inspection, [&](const auto& entry) { return !IsAskedFor(entry.first, items); });
}

}  // namespace ergon::act
