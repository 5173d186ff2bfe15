#include <ergon/node/observer/http/routes.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include <ergon/node/observer/http/actions.h>
#include <ergon/node/observer/http/health.h>
#include <ergon/node/observer/numbers/metrics.h>
#include <ergon/node/observer/views/collector.h>
#include <ergon/node/observer/views/page.h>
#include <ergon/node/observer/views/process_search.h>
#include <ergon/node/observer/views/url_query.h>

namespace ergon::node {
namespace {

constexpr std::chrono::seconds kPatience{30};  // beyond the time for pools
constexpr std::size_t kMostWaits = 500;

ObserverAnswer Refused(Refusal refusal) {
  switch (refusal) {
    case Refusal::kHost:
      return {.status = 421,
              .body =
                  "the header Host does not name this observer: call it by its address, or add "
                  "the name to ObserverOptions::hosts\n"};
    case Refusal::kOrigin:
      return {.status = 403, .body = "requests from other origins are refused\n"};
    case Refusal::kToken:
      break;
  }
  return {.status = 401, .body = "a token is needed: Authorization: Bearer TOKEN\n"};
}

const ObserverAnswer kNotCollected = {.status = 503, .body = "the numbers cannot be collected\n"};

template <class Question>
auto AskCollector(gen::Process& self, const ObserverState& state, Question question) {
  question.asked = {.at = self.Now(),
                    .changed_at = state.changed_at.load(std::memory_order_relaxed)};
  return self.Call(state.collector, std::move(question),
                   {.timeout = state.settings.options.pools_timeout + kPatience});
}

template <class Question>
ObserverAnswer SharedAnswer(gen::Process& self, const ObserverState& state, Question question,
                            std::string_view content_type = "application/json") {
  auto text = AskCollector(self, state, std::move(question));
  if (!text) return kNotCollected;
  return {.content_type = content_type, .shared = std::move(*text)};
}

ObserverAnswer Metrics(gen::Process& self, const ObserverState& state, std::string_view accept) {
  const bool wants_plain = accept.find("text/plain") != std::string_view::npos &&
                           accept.find("openmetrics-text") == std::string_view::npos;
  const auto format = wants_plain ? MetricsFormat::kPlain : MetricsFormat::kOpenMetrics;
  // `answers` is a reference into the state, which the collector keeps alive.
  const ObserverFigures observer{.connections = state.connections.size(),
                                 .displaced = state.displaced.load(std::memory_order_relaxed),
                                 .answers = state.answers};
  return SharedAnswer(self, state, WantMetrics{.format = format, .observer = observer, .asked = {}},
                      ContentType(format));
}

ObserverAnswer NotFound() {
  return {
      .status = 404,
      .body = "no such path; there are /, /metrics, /healthz, /readyz and the paths below /api/\n"};
}

ObserverAnswer Ready(gen::Process& self) {
  const std::string reason = WhyNotReady(self.Node());
  if (reason.empty()) return {.body = "ready\n"};
  return {.status = 503, .body = reason + '\n'};
}

ObserverAnswer Processes(gen::Process& self, const ObserverState& state,
                         const UrlQuery& parameters) {
  auto query = ParseProcessQuery(parameters);
  if (!query) return {.status = 400, .body = std::string(query.error().detail()) + '\n'};
  return SharedAnswer(self, state, WantProcesses{.query = std::move(*query), .asked = {}});
}

// An empty answer is one of a process that is not there.
ObserverAnswer OrNoProcess(ObserverAnswer answer) {
  if (!answer.Body().empty()) return answer;
  return {.status = 404, .body = "there is no such process\n"};
}

ObserverAnswer OneProcess(gen::Process& self, const ObserverState& state,
                          const UrlQuery& parameters) {
  const std::uint64_t id = NumberIn(parameters, "pid").value_or(0);
  if (id == 0 || parameters.size() != 1 + parameters.count("creation")) {
    return {.status = 400, .body = "pid: must be the id of a process, as in /api/processes\n"};
  }
  if (auto refused = RefuseOtherRun(self, parameters)) return std::move(*refused);
  gen::PID pid = self.Self();  // of this node
  pid.id = id;
  return OrNoProcess(SharedAnswer(self, state, WantProcess{.pid = pid, .asked = {}}));
}

ObserverAnswer Tree(gen::Process& self, const ObserverState& state, const UrlQuery& parameters) {
  auto query = ParseTreeQuery(parameters);
  if (!query) return {.status = 400, .body = std::string(query.error().detail()) + '\n'};
  return OrNoProcess(SharedAnswer(self, state, WantTree{.query = *query, .asked = {}}));
}

ObserverAnswer Api(gen::Process& self, const ObserverState& state, std::string_view path,
                   std::string_view target) {
  const auto parameters = ParseUrlQuery(target);
  if (!parameters) return {.status = 400, .body = "the parameters are malformed\n"};
  if (path == "/api/processes") return Processes(self, state, *parameters);
  if (path == "/api/process") return OneProcess(self, state, *parameters);
  if (path == "/api/tree") return Tree(self, state, *parameters);
  if (!parameters->empty()) return {.status = 400, .body = "no parameters are allowed\n"};
  if (path == "/api/events") return SharedAnswer(self, state, WantEvents{});
  if (path == "/api/cluster") return SharedAnswer(self, state, WantCluster{});
  if (path == "/api/waits") {
    return SharedAnswer(self, state, WantWaits{.limit = kMostWaits, .asked = {}});
  }
  if (path == "/api/pools") return SharedAnswer(self, state, WantPools{});
  if (path != "/api/node") return NotFound();
  const bool may_act = state.settings.options.actions && !state.settings.token.empty();
  return SharedAnswer(self, state, WantNode{.actions = may_act, .asked = {}});
}

// What contains nothing of the node; none: it is something else.
std::optional<ObserverAnswer> Page(std::string_view path) {
  if (path == "/") {
    return ObserverAnswer{.content_type = "text/html; charset=utf-8",
                          .body = std::string(PageText()),
                          .is_page = true};
  }
  if (path == "/observer.js") {
    return ObserverAnswer{.content_type = "text/javascript; charset=utf-8",
                          .body = std::string(PageScript())};
  }
  if (path == "/relations.js") {
    return ObserverAnswer{.content_type = "text/javascript; charset=utf-8",
                          .body = std::string(PageRelations())};
  }
  if (path == "/observer.css") {
    return ObserverAnswer{.content_type = "text/css; charset=utf-8",
                          .body = std::string(PageStyle())};
  }
  return std::nullopt;
}

}  // namespace

ObserverAnswer AnswerTo(gen::Process& self, ObserverState& state, const ObserverRequest& request) {
  const std::string_view path = request.target.substr(0, request.target.find('?'));
  auto page = Page(path);
  if (const auto refusal = state.gate.Refuse(request.head, page.has_value())) {
    return Refused(*refusal);
  }
  if (IsAction(path)) {
    if (!request.is_post) {
      return {.status = 405, .body = "only POST is allowed\n", .allow = "POST"};
    }
    const auto parameters = ParseUrlQuery(request.target);
    if (!parameters) return {.status = 400, .body = "the parameters are malformed\n"};
    auto answer = Act(self, state, path, *parameters);
    // A table that was begun before may lack what has been done. Whoever has this answer asks later.
    state.changed_at.store(self.Now(), std::memory_order_relaxed);
    return answer;
  }
  if (!request.is_get) return {.status = 405, .body = "only GET and HEAD are allowed\n"};
  if (page) return std::move(*page);
  if (path == "/metrics") return Metrics(self, state, request.accept);
  if (path == "/healthz") return {.body = "ok\n"};
  if (path == "/readyz") return Ready(self);
  if (path.starts_with("/api/")) return Api(self, state, path, request.target);
  return NotFound();
}

}  // namespace ergon::node
