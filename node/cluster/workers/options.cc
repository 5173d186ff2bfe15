#include <ergon/node/cluster/workers/options.h>

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/node/cluster/handshake/node_names.h>

namespace ergon::dist {
namespace {

gen::Error WrongOption(std::string text) {
  return gen::Error(gen::ErrorCode::kIncorrect, std::move(text));
}

gen::Result<void> CheckNodes(const std::vector<gen::Atom>& nodes, gen::Atom own) {
  if (nodes.empty()) return WrongOption("nodes: there is none, at least one is needed");
  for (auto node = nodes.begin(); node != nodes.end(); ++node) {
    auto checked = CheckPeerName(node->Text());
    if (checked) checked = CheckPair(own.Text(), node->Text());
    if (!checked) return WrongOption(fmt::format("nodes: {}", checked.error().detail()));
    if (std::find(nodes.begin(), node, *node) != node) {
      return WrongOption(fmt::format("nodes: {} is there twice", *node));
    }
  }
  return {};
}

gen::Result<void> CheckName(const char* field, const std::string& name) {
  if (name.empty()) return WrongOption(fmt::format("{}: must not be empty", field));
  if (name.size() <= gen::Atom::kMaxBytes) return {};
  return WrongOption(fmt::format("{}: {} has {} bytes, at most {} are possible", field,
                                 Quoted(name), name.size(), gen::Atom::kMaxBytes));
}

}  // namespace

gen::Result<void> CheckRemoteWorkers(const RemoteWorkersOptions& options, gen::Atom own) {
  auto checked = CheckNodes(options.nodes, own);
  if (checked) checked = CheckName("module", options.module);
  if (checked) checked = CheckName("function", options.function);
  if (!checked) return checked;
  if (options.max_in_flight < 1 || options.max_in_flight > kMaxInFlight) {
    return WrongOption(
        fmt::format("max_in_flight: {} is outside 1..{}", options.max_in_flight, kMaxInFlight));
  }
  if (options.spawn_timeout <= std::chrono::nanoseconds::zero()) {
    return WrongOption(fmt::format("spawn_timeout: {}, must be more than 0",
                                   core::ExactTime(options.spawn_timeout)));
  }
  return {};
}

}  // namespace ergon::dist
