// The items of an inspection, which come from whoever asks: of all the keys of a pool exactly those
// are answered that are asked for, with the values they have when everything is asked for.
#include <string>
#include <string_view>
#include <vector>

#include <fuzz/fuzz.h>

#include <ergon/act/pool/inspection.h>

using ergon::fuzz::Require;

namespace {

bool Means(std::string_view item, std::string_view key) {
  return key == item || key.starts_with(std::string(item) + ".");
}

}  // namespace

// The items, with newlines between them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = ergon::fuzz::TextOf(data, size);
  std::vector<std::string> items;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    items.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  ergon::act::PoolFigures figures;
  figures.worker_behavior = "Worker";
  figures.workers.resize(3);
  // The user's own keys; the pool's own win.
  const ergon::gen::Inspection added = {{"mine", "1"}, {"worker.1.note", "2"}, {"state", "3"}};
  const auto all = ergon::act::InspectPool(figures, added, {});
  Require(all.at("state") == "running", "the pool's own keys win");
  const auto some = ergon::act::InspectPool(figures, added, items);
  if (items.empty()) {
    Require(some == all, "no items are all items");
    return 0;
  }
  for (const auto& [key, value] : all) {
    bool wanted = false;
    for (const std::string& item : items) wanted = wanted || Means(item, key);
    const auto found = some.find(key);
    Require((found != some.end()) == wanted, "what is asked for is answered, and nothing else");
    Require(!wanted || found->second == value, "with the same value");
  }
  Require(some.size() <= all.size(), "no keys are made up");
  return 0;
}
