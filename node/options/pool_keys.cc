#include <ergon/node/options/pool_keys.h>

#include <algorithm>
#include <variant>

#include <fmt/core.h>

#include <ergon/gen/atom.h>
#include <ergon/node/options/nearest.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/options/option_text.h>

namespace ergon::node {
namespace {

constexpr std::string_view kPrefix = "pools.";

struct Parts {
  std::string_view pool;
  std::string_view field;
};

// A name may have dots, a field has none.
Parts PartsOf(std::string_view key) {
  key.remove_prefix(kPrefix.size());
  const std::size_t dot = key.rfind('.');
  if (dot == std::string_view::npos) return {key, {}};
  return {key.substr(0, dot), key.substr(dot + 1)};
}

const gen::PoolChangeField* FindField(std::string_view name) {
  const auto fields = gen::PoolChangeFields();
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [name](const auto& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

gen::Result<void> CheckName(std::string_view key, std::string_view name) {
  if (name.empty()) return Incorrect(fmt::format("{}: the name of the pool is empty", key));
  if (name.size() > gen::Atom::kMaxBytes) {
    return Incorrect(fmt::format("pools: a name of {} bytes, at most {} are allowed", name.size(),
                                 gen::Atom::kMaxBytes));
  }
  return {};
}

}  // namespace

bool IsPoolKey(std::string_view key) { return key.starts_with(kPrefix); }

gen::Result<void> SetPoolOption(std::map<std::string, gen::PoolChange>& pools, std::string_view key,
                                std::string_view text) {
  const auto [pool, name] = PartsOf(key);
  if (name.empty()) {
    return Incorrect(fmt::format("{0}: must be a table, as [{0}] with {1} = {2}", key,
                                 gen::PoolChangeFields().front().name, 8));
  }
  auto checked = CheckName(key, pool);
  if (!checked) return checked;
  const gen::PoolChangeField* const field = FindField(name);
  if (field == nullptr) {
    return Incorrect(fmt::format(
        "{}: unknown, the nearest is {}{}.{}", key, kPrefix, pool,
        Nearest(name, gen::PoolChangeFields(), [](const auto& known) { return known.name; })));
  }
  gen::PoolChange alone;
  const char* const wanted = std::visit(
      [&](auto member) { return ParseOption(text, (alone.*member).emplace()); }, field->member);
  if (wanted != nullptr) {
    return Incorrect(fmt::format("{}: \"{}\", must be {}", key, text, wanted));
  }
  const std::string problem = alone.Validate();
  if (!problem.empty()) return Incorrect(fmt::format("{}{}.{}", kPrefix, pool, problem));
  pools[std::string(pool)].Add(alone);
  return {};
}

void ForgetPoolOption(std::map<std::string, gen::PoolChange>& pools, std::string_view key) {
  const auto [pool, name] = PartsOf(key);
  const auto found = pools.find(std::string(pool));
  const gen::PoolChangeField* const field = FindField(name);
  if (field == nullptr || found == pools.end()) return;
  std::visit([&change = found->second](auto member) { (change.*member).reset(); }, field->member);
  if (found->second == gen::PoolChange()) pools.erase(found);
}

std::string PoolOptionText(const std::map<std::string, gen::PoolChange>& pools,
                           std::string_view key) {
  const auto [pool, name] = PartsOf(key);
  const gen::PoolChangeField* const field = FindField(name);
  const auto found = pools.find(std::string(pool));
  if (field == nullptr || found == pools.end()) return {};
  return std::visit(
      [&change = found->second](auto member) {
        return change.*member ? FormatOption(*(change.*member)) : std::string();
      },
      field->member);
}

}  // namespace ergon::node
