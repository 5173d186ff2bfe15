#include <ergon/node/observer/routes.h>

#include <chrono>
#include <memory>

#include <ergon/node/observer/collector.h>
#include <ergon/node/observer/health.h>
#include <ergon/node/observer/metrics.h>

namespace ergon::node {
namespace {

constexpr std::chrono::seconds kPatience{30};  // beyond the time for pools

ObserverAnswer Refused(Refusal refusal) {
  switch (refusal) {
    case Refusal::kHost:
      return {.status = 421, .body = "the header Host does not name this observer\n"};
    case Refusal::kOrigin:
      return {.status = 403, .body = "requests from other origins are refused\n"};
    case Refusal::kToken:
      break;
  }
  return {.status = 401, .body = "a token is needed: Authorization: Bearer TOKEN\n"};
}

ObserverAnswer Metrics(gen::Process& self, const ObserverState& state, std::string_view accept) {
  const auto figures = self.Call(state.collector, WantFigures{},
                                 {.timeout = state.settings.options.pools_timeout + kPatience});
  if (!figures) return {.status = 503, .body = "the numbers cannot be collected\n"};
  const bool wants_plain = accept.find("text/plain") != std::string_view::npos &&
                           accept.find("openmetrics-text") == std::string_view::npos;
  const auto format = wants_plain ? MetricsFormat::kPlain : MetricsFormat::kOpenMetrics;
  return {.content_type = ContentType(format), .body = MetricsText(**figures, state, format)};
}

ObserverAnswer Ready(gen::Process& self) {
  const std::string reason = WhyNotReady(self.Node());
  if (reason.empty()) return {.body = "ready\n"};
  return {.status = 503, .body = reason + '\n'};
}

}  // namespace

ObserverAnswer AnswerTo(gen::Process& self, const ObserverState& state,
                        const ObserverRequest& request) {
  if (const auto refusal = state.gate.Refuse(request.head)) return Refused(*refusal);
  if (!request.is_get) return {.status = 405, .body = "only GET and HEAD are allowed\n"};
  const std::string_view path = request.target.substr(0, request.target.find('?'));
  if (path == "/metrics") return Metrics(self, state, request.accept);
  if (path == "/healthz") return {.body = "ok\n"};
  if (path == "/readyz") return Ready(self);
  return {.status = 404, .body = "there are /metrics, /healthz and /readyz\n"};
}

}  // namespace ergon::node
