#include <ergon/node/diagnosis/wait_graph.h>

#include <algorithm>
#include <tuple>

#include <fmt/core.h>

#include <ergon/gen/notices.h>
#include <ergon/gen/status.h>
#include <ergon/node/diagnosis/for_people.h>

namespace ergon::node {
namespace {

// So long a circle is looked for: a process that calls the first of many waiting ones does not look
// at all of them. It also ends the look when it runs into a circle of others.
constexpr std::size_t kMaxCircle = 1000;

}  // namespace

bool WaitGraph::Link::Holds() const {
  const CallEdge::View now = process->Waited();
  return now.IsCertain() && now.id == edge.id && now.to == edge.to &&
         process->await().WaitingFor() == edge.id;
}

// The edges are read one after the other, and then once more: those that are still the same were
// all there at the moment between the two.
bool WaitGraph::FindCircle(const ProcessSlot& caller, std::vector<Link>& circle) const {
  for (const ProcessSlot* process = &caller; circle.empty() || process != &caller;) {
    if (circle.size() == kMaxCircle) return false;
    const Link link{process, process->Waited()};
    if (!link.edge.IsCertain() || !link.Holds()) return false;
    // It is answered while its process waits.
    if (core::IsType<gen::InspectRequest>(link.edge.type)) return false;
    circle.push_back(link);
    process = addresses_.Find(addresses_.PidOf(link.edge.to));
    if (process == nullptr) return false;
  }
  return std::ranges::all_of(circle, &Link::Holds);
}

void WaitGraph::BreakDeadlock(const ProcessSlot& caller) {
  const ProcessSlot* callee = addresses_.Find(addresses_.PidOf(caller.Waited().to));
  // Nearly always: it does not wait itself.
  if (callee == nullptr || callee->WaitedForCertain() == 0) [[likely]]
    return;
  std::vector<Link> circle;
  if (!FindCircle(caller, circle)) return;
  // Whoever sees the circle chooses the same one of them, the last that has called, and only one
  // can end its wait. Its request was not begun with: what handles it would have called later, at an exact time
  // (Process::TimeOfCall).
  const auto last = std::ranges::max_element(
      circle, {}, [](const Link& link) { return std::tuple(link.edge.since, link.edge.id); });
  std::rotate(circle.begin(), last, circle.end());
  std::string chain;
  for (const Link& link : circle) {
    chain += fmt::format("{}{} waits for {} ({})", chain.empty() ? "" : ", ",
                         addresses_.PidOf(link.process->Id()), addresses_.PidOf(link.edge.to),
                         TypeForPeople(link.edge.type));
  }
  const Link& victim = circle.front();
  const gen::PID pid = addresses_.PidOf(victim.process->Id());
  (void)withdrawn_.Withdraw(victim.edge.id, [&] {
    return delivery_
        .RespondToWithdrawn(
            pid, victim.edge.id,
            gen::detail::MakeErrorResponse(gen::Error(gen::ErrorCode::kDeadlock, std::move(chain))))
        .has_value();
  });
}

std::vector<gen::WaitEdge> WaitGraph::Edges() const {
  const std::int64_t now = clock_.Now();
  std::vector<gen::WaitEdge> graph;
  addresses_.table().ForEach([&](const ProcessSlot& process) {
    const gen::PID pid = addresses_.PidOf(process.Id());
    const CallEdge::View edge = process.Waited();
    if (edge.id == 0 || edge.stage == CallEdge::Stage::kSending) return;
    const std::int64_t waiting = std::max<std::int64_t>(now - edge.since, 0);
    graph.push_back({.from = pid,
                     .to = edge.to == 0 ? gen::PID() : addresses_.PidOf(edge.to),
                     .message = edge.type == nullptr ? "a signal" : edge.type->TagOrName(),
                     .waiting = std::chrono::nanoseconds(waiting),
                     .certain = edge.IsCertain()});
  });
  return graph;
}

}  // namespace ergon::node
