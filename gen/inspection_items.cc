#include <ergon/gen/inspection_items.h>

#include <algorithm>

namespace ergon::gen {

bool IsAskedFor(std::string_view key, const std::vector<std::string>& items) {
  if (items.empty()) return true;
  return std::ranges::any_of(items, [key](const std::string& item) {
    return key.starts_with(item) &&
           (key.size() == item.size() || key[item.size()] == '.' || key[item.size()] == ':');
  });
}

void KeepAskedFor(Inspection& inspection, const std::vector<std::string>& items) {
  std::erase_if(inspection, [&](const auto& entry) { return !IsAskedFor(entry.first, items); });
}

}  // namespace ergon::gen
