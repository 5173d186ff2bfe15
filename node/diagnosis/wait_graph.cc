// Who waits for whom, and circles of processes that wait for each other.
#include <algorithm>
#include <tuple>

#include <fmt/core.h>

#include <ergon/gen/notices.h>
#include <ergon/gen/status.h>
#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/process/unique_id.h>

namespace ergon::node {
namespace {

// So long a circle is looked for: a process that calls the first of many waiting ones does not look
// at all of them. It also ends the look when it runs into a circle of others.
constexpr std::size_t kMaxCircle = 1000;

}  // namespace

// One process of a chain, and whom it waits for.
struct Runtime::CallLink {
  const Process* process;
  CallEdge::View edge;

  [[nodiscard]] bool Holds() const {
    return process->WaitedForCertain() == edge.id && process->await_.WaitingFor() == edge.id;
  }
};

void Runtime::RedirectCall(gen::PID worker, const core::Envelope& request) {
  const gen::PID from = gen::PID::FromAddress(request.from);
  if (from.id == kNodeId || from.node != name_ || IsRequestId(request.ref)) return;
  // Without effect if it is not the caller itself who sends: its edge says so.
  if (Process* caller = table_.Find(from.id)) {
    if (CallEdge* edge = caller->call_edge_.load(std::memory_order_acquire)) {
      edge->Redirect(request.ref, worker.id, TicketOf(worker, request));
    }
  }
}

void Runtime::NoteTaken(const core::Envelope& request, CallEdge::Stage stage) {
  const gen::PID from = gen::PID::FromAddress(request.from);
  if (from.node != name_ || IsRequestId(request.ref)) return;
  if (from.id == kNodeId) {
    pending_calls_.NoteTaken(request.ref, stage);
  } else if (Process* caller = table_.Find(from.id)) {
    if (CallEdge* edge = caller->call_edge_.load(std::memory_order_acquire)) {
      edge->NoteTaken(request.ref, stage);
    }
  }
}

// The edges are read one after the other, and then once more: those that are still the same were
// all there at the moment between the two.
bool Runtime::FindCircle(const Process& caller, std::vector<CallLink>& circle) const {
  for (const Process* process = &caller; circle.empty() || process != &caller;) {
    if (circle.size() == kMaxCircle) return false;
    const CallLink link{process, process->Waited()};
    if (!link.edge.IsCertain() || !link.Holds()) return false;
    circle.push_back(link);
    process = Find(PidOf(link.edge.to));
    if (process == nullptr) return false;
  }
  return std::ranges::all_of(circle, &CallLink::Holds);
}

void Runtime::BreakDeadlock(const Process& caller) {
  const Process* callee = Find(PidOf(caller.Waited().to));
  // Nearly always: it does not wait itself.
  if (callee == nullptr || callee->WaitedForCertain() == 0) [[likely]]
    return;
  std::vector<CallLink> circle;
  if (!FindCircle(caller, circle)) return;
  // Whoever sees the circle chooses the same one of them, the last that has called, and only one
  // can end its wait. Its request was not begun with: what handles it would have called later.
  const auto last = std::ranges::max_element(
      circle, {}, [](const CallLink& link) { return std::tuple(link.edge.since, link.edge.id); });
  std::rotate(circle.begin(), last, circle.end());
  std::string chain;
  for (const CallLink& link : circle) {
    chain += fmt::format("{}{} waits for {} ({})", chain.empty() ? "" : ", ", link.process->Self(),
                         PidOf(link.edge.to), link.edge.type->Name());
  }
  const CallLink& victim = circle.front();
  const gen::PID pid = victim.process->Self();
  const auto tell = [&] {
    return DeliverResponse(pid, victim.edge.id,
                           gen::detail::MakeErrorResponse(
                               gen::Error(gen::ErrorCode::kDeadlock, std::move(chain))))
        .has_value();
  };
  // An inspection is no message: it is answered in any case, and counted nowhere.
  if (victim.edge.type == core::TypeOf<gen::InspectRequest>()) {
    (void)tell();
  } else {
    (void)withdrawn_.Withdraw(victim.edge.id, tell);
  }
}

std::vector<gen::WaitEdge> Runtime::WaitForGraph() const {
  const std::int64_t now = clock_->Now();
  std::vector<gen::WaitEdge> graph;
  table_.ForEach([&](const Process& process) {
    const gen::PID pid = process.Self();
    const CallEdge::View edge = process.Waited();
    if (edge.id == 0 || edge.stage == CallEdge::Stage::kSending) return;
    const std::int64_t waiting = std::max<std::int64_t>(now - edge.since, 0);
    graph.push_back({.from = pid,
                     .to = PidOf(edge.to),
                     .message = edge.type->Name(),
                     .waiting = std::chrono::nanoseconds(waiting),
                     .certain = edge.IsCertain()});
  });
  return graph;
}

}  // namespace ergon::node
