#include <ergon/node/observer/numbers/figures.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>

#include <ergon/gen/node.h>
#include <ergon/node/erlang.h>
#include <ergon/node/runtime/runtime.h>
#include <ergon/node/texts/clean_text.h>

namespace ergon::node {
namespace {

struct Item {
  const char* key;
  bool is_counter;
  std::uint64_t PoolFigures::*figure;
};
constexpr Item kItems[] = {{"pool_size", false, &PoolFigures::workers},
                           {"workers_ready", false, &PoolFigures::ready},
                           {"workers_busy", false, &PoolFigures::busy},
                           {"workers_starting", false, &PoolFigures::starting},
                           {"workers_leaving", false, &PoolFigures::leaving},
                           {"messages_queued", false, &PoolFigures::queued},
                           {"worker_restarts", true, &PoolFigures::restarts},
                           {"messages_forwarded", true, &PoolFigures::forwarded},
                           {"messages_handled", true, &PoolFigures::handled},
                           {"messages_unhandled", true, &PoolFigures::refused},
                           {"messages_overloaded", true, &PoolFigures::overloaded},
                           {"messages_expired", true, &PoolFigures::expired},
                           {"messages_lost", true, &PoolFigures::lost}};

PoolFigures FiguresOf(const gen::Inspection& inspection) {
  PoolFigures figures;
  for (const Item& item : kItems) {
    const auto found = inspection.find(item.key);
    if (found == inspection.end()) continue;
    const std::string& text = found->second;
    (void)std::from_chars(text.data(), text.data() + text.size(), figures.*item.figure);
  }
  return figures;
}

std::vector<PoolView::Member> MembersOf(const Addresses& addresses, gen::PID pid) {
  std::vector<PoolView::Member> members;
  const ProcessSlot* const slot = addresses.Find(pid);
  if (slot == nullptr || slot->pool() == nullptr) return members;
  const core::Rotation& rotation = slot->pool()->rotation;
  const std::uint32_t size = rotation.size();
  for (std::uint32_t i = 0; i < size && i < PoolView::kMostMembers; ++i) {
    const gen::PID worker = addresses.PidOf(rotation.At(i));
    const ProcessSlot* const its = addresses.Find(worker);
    if (its == nullptr) continue;
    members.push_back({worker, its->State(), its->MainMessagesApprox(), its->counts().handled(),
                       its->activity().IsInHandler()});
  }
  return members;
}

}  // namespace

void PoolFigures::AddState(const PoolFigures& other) {
  for (const Item& item : kItems) {
    if (!item.is_counter) this->*item.figure += other.*item.figure;
  }
}

void PoolFigures::AddCounted(const PoolFigures& before, const PoolFigures& now) {
  for (const Item& item : kItems) {
    if (item.is_counter && now.*item.figure > before.*item.figure) {
      this->*item.figure += now.*item.figure - before.*item.figure;
    }
  }
}

Figures FiguresCollector::Collect() {
  const std::int64_t begin = self_.Now();
  gen::Node& node = self_.Node();
  Figures figures;
  figures.census = TakeCensus(self_, index_, static_cast<std::size_t>(options_.max_pools));
  AddEndingPools(figures.census);
  AskPools(figures);
  LookAtApplications(figures);
  LookAtConnections(figures);
  figures.program = ReadProgramFigures();
  const Runtime& runtime = RuntimeOf(node, "node::ObserverFactory");
  figures.latency = runtime.latency();
  figures.dispatcher = runtime.dispatcher().Stats();
  figures.user_metrics = runtime.user_metrics().All();
  figures.node = node.Info();
  figures.messages = runtime.inspection().MessageBalance([this] { self_.Yield(); });
  figures.given_to_nodes = runtime.inspection().GivenToNodes();
  figures.unaccounted = figures.messages.Unaccounted();
  // What a process has counted that ends meanwhile may be in none of the sums until the next time.
  most_accepted_ = std::max(most_accepted_, figures.messages.accepted);
  most_handled_ = std::max(most_handled_, figures.messages.handled);
  figures.messages.accepted = most_accepted_;
  figures.messages.handled = most_handled_;
  figures.collect_seconds = static_cast<double>(self_.Now() - begin) * 1e-9;
  return figures;
}

// A pool that ends gives its workers nothing more, so it looks like any other process; but they may have much to handle.
void FiguresCollector::AddEndingPools(CensusFigures& census) const {
  std::set<gen::PID> listed;
  for (const CensusFigures::Pool& pool : census.pools) listed.insert(pool.pid);
  for (const auto& [pid, answer] : last_answers_) {
    const ProcessSlot* const slot = index_.addresses().Find(pid);
    if (slot == nullptr || slot->IsPool() || listed.contains(pid)) continue;
    ++census.pools_in_all;
    if (census.pools.size() < static_cast<std::size_t>(options_.max_pools)) {
      census.pools.push_back({pid, answer.label});
    }
  }
}

void FiguresCollector::AskPools(Figures& figures) {
  const std::int64_t end = self_.Now() + options_.pools_timeout.count();
  const std::chrono::nanoseconds most_each =
      std::max<std::chrono::nanoseconds>(options_.pools_timeout / 10, std::chrono::milliseconds(1));
  std::vector<std::string> keys;
  for (const Item& item : kItems) keys.emplace_back(item.key);
  const std::vector<CensusFigures::Pool>& pools = figures.census.pools;
  const std::size_t first = first_asked_;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const CensusFigures::Pool& pool = pools[(first + i) % pools.size()];
    const std::chrono::nanoseconds left(end - self_.Now());
    if (left.count() <= 0) {
      figures.pools_unanswered += pools.size() - i;
      break;
    }
    first_asked_ = (first + i + 1) % pools.size();
    const auto inspection = self_.Inspect(pool.pid, keys, {.timeout = std::min(left, most_each)});
    if (inspection) {
      NoteAnswer(pool, FiguresOf(*inspection));
    } else if (inspection.error() == gen::ErrTimeout) {
      ++figures.pools_unanswered;
    }
  }
  ShowPools(figures);
  ForgetEndedPools();
}

void FiguresCollector::ShowPools(Figures& figures) {
  for (const CensusFigures::Pool& pool : figures.census.pools) {
    const auto last = last_answers_.find(pool.pid);
    if (last == last_answers_.end()) continue;
    figures.pools[pool.label].AddState(last->second.figures);
    figures.pool_views.push_back(
        {pool.pid, pool.label, last->second.figures, MembersOf(index_.addresses(), pool.pid)});
  }
  for (auto& [label, sum] : figures.pools) sum.AddCounted({}, counted_[label]);
}

void FiguresCollector::NoteAnswer(const CensusFigures::Pool& pool, const PoolFigures& now) {
  PoolAnswer& last = last_answers_[pool.pid];
  counted_[pool.label].AddCounted(last.figures, now);
  PoolFigures most = now;
  most.AddCounted(now, last.figures);  // what has ended with a worker may not be counted yet
  last = {pool.label, most};
}

void FiguresCollector::ForgetEndedPools() {
  std::set<std::string_view> labels;
  std::erase_if(last_answers_, [&](const auto& answer) {
    if (index_.addresses().Find(answer.first) == nullptr) return true;
    labels.insert(answer.second.label);
    return false;
  });
  std::erase_if(counted_, [&](const auto& sum) { return !labels.contains(sum.first); });
}

void FiguresCollector::LookAtApplications(Figures& figures) const {
  const gen::Node& node = self_.Node();
  for (const gen::Atom name : node.Applications()) {
    const auto info = node.ApplicationInfo(name);
    if (!info) continue;
    bool& runs = figures.applications[LabelValue(name.ToString())];
    runs = runs || info->state == gen::ApplicationState::kRunning;
  }
}

void FiguresCollector::LookAtConnections(Figures& figures) const {
  for (const dist::ConnectionInfo& connection : dist::InspectConnections(self_.Node())) {
    ++(connection.is_up ? figures.connections.up : figures.connections.pending);
    figures.connections.queued_bytes += connection.queued_bytes;
    figures.connections.waiting_senders += connection.waiting_senders;
  }
}

}  // namespace ergon::node
