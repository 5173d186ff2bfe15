#include <ergon/node/diagnosis/dump.h>

#include <algorithm>
#include <mutex>
#include <ostream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <ergon/gen/process_behavior.h>
#include <ergon/gen/process_info.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/diagnosis/for_people.h>
#include <ergon/node/diagnosis/watchdog.h>
#include <ergon/node/texts/clean_text.h>

namespace ergon::node {
namespace {

constexpr std::array<std::string_view, 9> kHeads = {
    "PID", "NAME", "BEHAVIOUR", "STATE", "QUEUED", "HIGH", "HELD", "HANDLES", "WAITS FOR"};
// So many rows are looked at before they are written, so that their columns have a common width.
constexpr std::size_t kRowsTogether = 256;
// Wider ones push the rest of their line.
constexpr std::size_t kWidest = 48;

// A name of a user's must not look like a row, nor move the cursor of a terminal.
void WriteLine(std::ostream& stream, std::string text) {
  std::string line = AsOneEntry(std::move(text));
  line.erase(line.find_last_not_of(' ') + 1);
  line += '\n';
  stream.write(line.data(), static_cast<std::streamsize>(line.size()));
}

// Columns that grow with what is written in them.
class Columns {
 public:
  template <class Row>
  void Fit(const Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths_[i] = std::clamp(row[i].size(), widths_[i], kWidest);
    }
  }
  template <class Row>
  [[nodiscard]] std::string Line(const Row& row) const {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      fmt::format_to(std::back_inserter(line), "{:<{}}  ", row[i], widths_[i]);
    }
    return line;
  }

 private:
  std::array<std::size_t, kHeads.size()> widths_{};
};

std::string HeadLine(const gen::NodeInfo& node, bool has_stopped) {
  const std::uint64_t dropped = node.dropped_terminated + node.dropped_unknown +
                                node.dropped_mailbox_full + node.dropped_expired +
                                node.dropped_no_connection + node.dropped_unreadable +
                                node.dropped_failed;
  return fmt::format(
      "{} {}; processes: {} (spawned {}, ended {}, failed {}); {}: workers {}, turns {}; timers "
      "{}; "
      "dropped: {} (receiver ended {}, unknown {}, mailbox full {}, expired {}, no connection {}, "
      "unreadable {}, failed {})",
      node.name, has_stopped ? "has stopped" : "has run for " + ForPeople(node.uptime.count()),
      node.processes, node.processes_spawned, node.processes_ended, node.processes_failed,
      node.dispatcher, node.workers, node.turns, node.timers, dropped, node.dropped_terminated,
      node.dropped_unknown, node.dropped_mailbox_full, node.dropped_expired,
      node.dropped_no_connection, node.dropped_unreadable, node.dropped_failed);
}

}  // namespace

void Dump::Write(std::ostream& stream, const gen::NodeInfo& node,
                 const std::vector<std::string>& connections) const {
  WriteLine(stream, HeadLine(node, addresses_.IsStopped()));
  for (const gen::BusyProcess& busy : node.busy) {
    WriteLine(stream, "busy: " + node::Describe(AsInItsLines(addresses_, busy.pid), busy));
  }
  for (const std::string& connection : connections) WriteLine(stream, connection);
  const std::vector<std::uint64_t> ids = InOrder();
  Columns columns;
  columns.Fit(kHeads);
  std::vector<Row> rows;
  bool is_first = true;
  for (auto id = ids.begin(); id != ids.end() && stream.good();) {
    rows.clear();
    for (; id != ids.end() && rows.size() < kRowsTogether; ++id) {
      auto row = RowOf(addresses_.PidOf(*id));
      if (!row) continue;
      columns.Fit(*row);
      rows.push_back(std::move(*row));
    }
    if (std::exchange(is_first, false) && !rows.empty()) WriteLine(stream, columns.Line(kHeads));
    for (const Row& row : rows) WriteLine(stream, columns.Line(row));
  }
}

std::vector<std::uint64_t> Dump::InOrder() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  addresses_.table().ForEach([&](const ProcessSlot& process) {
    const std::uint64_t id = process.Id();  // first: it changes when the process ends
    if (!process.mailbox().IsClosed()) found.emplace_back(process.sequence(), id);
  });
  std::ranges::sort(found);
  std::vector<std::uint64_t> ids(found.size());
  std::ranges::transform(found, ids.begin(), [](const auto& pair) { return pair.second; });
  return ids;
}

std::optional<Dump::Guarded> Dump::Look(gen::PID pid) const {
  const ProcessSlot* process = addresses_.Find(pid);
  if (process == nullptr) return std::nullopt;
  ProcessCold& cold = process->Cold();
  std::lock_guard lock(cold.lock);
  if (!process->IsStill(pid)) return std::nullopt;
  return Guarded{
      .name = cold.name,
      .behavior = gen::BehaviorNameOf(process->behavior()),
      .bound = cold.mailbox.bound() != 0 ? cold.mailbox.bound() : process->mailbox().capacity()};
}

std::optional<Dump::Row> Dump::RowOf(gen::PID pid) const {
  auto guarded = Look(pid);
  if (!guarded) return std::nullopt;
  // Slots stay; a process that begins here just now is another one's successor, and looked for below.
  const ProcessSlot& process = *addresses_.FindSlot(pid);
  const gen::ProcessState state = process.State();
  const std::uint64_t queued = process.MainMessagesApprox();
  Row row = {pid.ToString(),
             guarded->name.empty() ? "-" : guarded->name.ToString(),  // columns stay countable
             std::move(guarded->behavior),
             fmt::format("{}{}", ToString(state), process.IsHeld() ? ", suspended" : ""),
             guarded->bound == 0 ? fmt::format("{}", queued)
                                 : fmt::format("{}/{}", queued, guarded->bound),
             fmt::format("{}", process.ExpressQueuedApprox()),
             fmt::format("{}", process.AsideApprox()),
             state == gen::ProcessState::kReady ? "waits for a thread" : Handled(process),
             WaitedFor(process, state)};
  if (!process.HasProcess(pid)) return std::nullopt;
  return row;
}

std::string Dump::Handled(const ProcessSlot& process) const {
  const Activity& activity = process.activity();
  if (activity.state() == gen::ProcessState::kIdle && process.IsPool()) {
    return WithWorkers(*process.pool());
  }
  return HandledFor(activity, clock_);
}

// What waits in the pool itself, below QUEUED, waits for room there.
std::string Dump::WithWorkers(const PoolSlot& pool) const {
  const std::uint32_t size = pool.rotation.size();
  std::uint64_t waiting = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const ProcessSlot* worker = addresses_.Find(addresses_.PidOf(pool.rotation.At(i)));
    if (worker != nullptr) waiting += worker->MainMessagesApprox();
  }
  return fmt::format("a pool: with its workers ({}) wait {}", size, waiting);
}

std::string Dump::WaitedFor(const ProcessSlot& process, gen::ProcessState state) const {
  // Its Init runs inside of this one's turn.
  const std::uint64_t child = process.starting_child();
  if (child != 0) return Describe(addresses_.PidOf(child)) + ": its Init";
  if (state != gen::ProcessState::kWaiting) return "";
  const CallEdge::View edge = process.Waited();
  if (edge.id == 0) return "sleeps, or waits for no process";
  constexpr std::string_view kStages[] = {", being sent", "", ", handled without an answer so far",
                                          ", put aside or passed on there"};
  return fmt::format(
      "{}: {} for {}{}",
      edge.to == 0 ? std::string("another node") : Describe(addresses_.PidOf(edge.to)),
      TypeForPeople(edge.type), ForPeople(clock_.Now() - edge.since),
      kStages[static_cast<std::size_t>(edge.stage)]);
}

std::string Dump::Describe(gen::PID pid) const {
  const auto guarded = Look(pid);
  if (!guarded) return pid.ToString() + " (has ended)";
  return guarded->name.empty() ? fmt::format("{} {}", pid, guarded->behavior)
                               : fmt::format("{} {} {}", pid, guarded->name, guarded->behavior);
}

}  // namespace ergon::node
