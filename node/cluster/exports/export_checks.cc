#include <ergon/node/cluster/exports/export_checks.h>

#include <cstddef>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/erlang/term.h>
#include <ergon/node/options/option_checks.h>

namespace ergon::dist {
namespace {

gen::Result<void> CheckExportedName(const char* what, std::string_view module,
                                    std::string_view function) {
  for (const std::string_view text : {module, function}) {
    try {
      if (!text.empty()) (void)Term::Atom(text);
    } catch (const std::invalid_argument& error) {
      return node::Incorrect(
          fmt::format("network: {}: {}:{}: {}", what, module, function, error.what()));
    }
    if (text.empty()) {
      return node::Incorrect(
          fmt::format("network: {}: '{}:{}' has an empty name", what, module, function));
    }
  }
  return {};
}

}  // namespace

gen::Result<void> CheckRemoteCode(const RemoteFunctions& functions,
                                  const RemoteBehaviors& behaviors) {
  std::set<std::tuple<std::string, std::string, std::optional<std::size_t>>> known;
  for (const detail::RemoteFunction& entry : functions.All()) {
    auto named = CheckExportedName("functions", entry.module, entry.function);
    if (!named) return named;
    if (!entry.run) {
      return node::Incorrect(
          fmt::format("network: functions: {}:{} is empty", entry.module, entry.function));
    }
    if (!known.emplace(entry.module, entry.function, entry.arity).second) {
      return node::Incorrect(fmt::format("network: functions: {}:{} of the same arguments twice",
                                         entry.module, entry.function));
    }
  }
  std::set<std::pair<std::string, std::string>> spawned;
  for (const detail::RemoteBehavior& entry : behaviors.All()) {
    auto named = CheckExportedName("behaviors", entry.module, entry.function);
    if (!named) return named;
    if (!entry.factory) {
      return node::Incorrect(
          fmt::format("network: behaviors: {}:{} is empty", entry.module, entry.function));
    }
    if (!spawned.emplace(entry.module, entry.function).second) {
      return node::Incorrect(
          fmt::format("network: behaviors: {}:{} twice", entry.module, entry.function));
    }
  }
  return {};
}

}  // namespace ergon::dist
