#include <ergon/node/observer/http/health.h>

#include <fmt/core.h>

#include <ergon/node/runtime/runtime.h>

namespace ergon::node {
namespace {

std::string WhyItDoesNotRun(const gen::ApplicationInfo& application) {
  if (application.state == gen::ApplicationState::kRunning) return {};
  if (application.state != gen::ApplicationState::kLoaded) {
    return fmt::format("application {}: is {}", application.name, ToString(application.state));
  }
  if (!application.last_end) {
    return fmt::format("application {}: has not been started", application.name);
  }
  if (!application.last_end->IsFailure()) return {};
  return fmt::format("application {}: has ended: {}", application.name, *application.last_end);
}

}  // namespace

std::string WhyNotReady(gen::Node& node) {
  if (RuntimeOf(node, "node::ObserverFactory").IsStopping()) return "the node is being stopped";
  for (const gen::Atom name : node.Applications()) {
    const auto info = node.ApplicationInfo(name);
    std::string reason = info ? WhyItDoesNotRun(*info) : std::string();
    if (!reason.empty()) return reason;
  }
  return {};
}

}  // namespace ergon::node
