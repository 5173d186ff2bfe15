#include <ergon/node/observer/views/process_search.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/diagnosis/for_people.h>
#include <ergon/node/observer/numbers/census.h>
#include <ergon/node/observer/views/process_label.h>
#include <ergon/node/options/option_checks.h>

namespace ergon::node {
namespace {

struct OrderName {
  std::string_view name;
  ProcessOrder order;
};
constexpr OrderName kOrders[] = {
    {"queued", ProcessOrder::kQueued},    {"handled", ProcessOrder::kHandled},
    {"held", ProcessOrder::kHeld},        {"running", ProcessOrder::kRunning},
    {"newest", ProcessOrder::kNewest},    {"name", ProcessOrder::kName},
    {"behavior", ProcessOrder::kBehavior}};

std::string LowerCaseOf(std::string_view text) {
  std::string lower(text);
  for (char& byte : lower) {
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte - 'A' + 'a');
  }
  return lower;
}

// A process that may get into the table, and what it is sorted by.
struct Candidate {
  std::uint64_t id = 0;
  std::uint64_t number = 0;  // the most first
  std::string text = {};     // then by the alphabet; empty ones last

  friend bool operator<(const Candidate& left, const Candidate& right) {
    if (left.number != right.number) return left.number > right.number;
    if (left.text.empty() != right.text.empty()) return right.text.empty();
    if (left.text != right.text) return left.text < right.text;
    return left.id < right.id;
  }
};

// The first ones of all that are added, in memory for a few times as many.
class FirstOnes {
 public:
  explicit FirstOnes(std::size_t most) : most_(most) {}

  void Add(Candidate candidate) {
    candidates_.push_back(std::move(candidate));
    if (candidates_.size() >= 4 * most_) Cut();
  }
  std::vector<Candidate> Take() {
    Cut();
    std::ranges::sort(candidates_, std::less<>());
    return std::move(candidates_);
  }

 private:
  void Cut() {
    if (candidates_.size() <= most_) return;
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(most_);
    std::nth_element(candidates_.begin(), end, candidates_.end());
    candidates_.erase(end, candidates_.end());
  }

  const std::size_t most_;
  std::vector<Candidate> candidates_;
};

std::uint64_t NumberOf(const ProcessSlot& slot, ProcessOrder order) {
  switch (order) {
    case ProcessOrder::kQueued:
      return slot.MainMessagesApprox() + slot.ExpressQueuedApprox();
    case ProcessOrder::kHandled:
      return slot.counts().handled();
    case ProcessOrder::kHeld:
      return slot.AsideApprox();
    case ProcessOrder::kRunning:
      return static_cast<std::uint64_t>(slot.Rare().running_ns.load(std::memory_order_relaxed));
    case ProcessOrder::kNewest:
      return slot.sequence();
    case ProcessOrder::kName:
    case ProcessOrder::kBehavior:
      break;
  }
  return 0;
}

std::optional<ProcessRow> RowOf(BehaviorIndex& index, std::uint64_t id) {
  const gen::PID pid = index.addresses().PidOf(id);
  const ProcessSlot* const slot = index.addresses().Find(pid);
  if (slot == nullptr) return std::nullopt;
  const std::string* const behavior = index.NameOf(*slot, id);
  if (behavior == nullptr) return std::nullopt;
  ProcessRow row{.pid = pid,
                 .name = RegisteredName(*slot, pid),
                 .behavior = *behavior,
                 .state = slot->State(),
                 .suspended = slot->IsHeld(),
                 .queued = slot->MainMessagesApprox(),
                 .high = slot->ExpressQueuedApprox(),
                 .held = slot->AsideApprox(),
                 .handled = slot->counts().handled(),
                 .sent = slot->counts().sent(),
                 .running_ns = slot->Rare().running_ns.load(std::memory_order_relaxed)};
  if (row.state == gen::ProcessState::kRunning || row.state == gen::ProcessState::kWaiting) {
    row.handles = HandledForPeople(slot->activity());
  }
  const CallEdge::View edge = slot->Waited();
  if (edge.id != 0 && edge.to != 0) row.waits_for = index.addresses().PidOf(edge.to);
  if (!slot->HasProcess(pid)) return std::nullopt;
  return row;
}

}  // namespace

gen::Result<ProcessQuery> ParseProcessQuery(const UrlQuery& query) {
  ProcessQuery parsed;
  for (const auto& [name, value] : query) {
    if (name == "sort") {
      const auto found = std::ranges::find(kOrders, value, &OrderName::name);
      if (found == std::end(kOrders)) {
        return Incorrect("sort: must be queued, handled, held, running, newest, name or behavior");
      }
      parsed.order = found->order;
    } else if (name == "search") {
      if (value.size() > gen::Atom::kMaxBytes) return Incorrect("search: has more than 255 bytes");
      parsed.search = LowerCaseOf(value);
    } else if (name == "limit") {
      const char* const end = value.data() + value.size();
      const auto read = std::from_chars(value.data(), end, parsed.limit);
      const bool is_number = read.ec == std::errc() && read.ptr == end;
      if (!is_number || parsed.limit < 1 || parsed.limit > ProcessQuery::kMost) {
        return Incorrect(fmt::format("limit: must be a number in 1..{}", ProcessQuery::kMost));
      }
    } else {
      return Incorrect("allowed parameters: sort, search, limit");
    }
  }
  return parsed;
}

ProcessRows FindProcesses(gen::Process& self, BehaviorIndex& index, const ProcessQuery& query) {
  ProcessRows found;
  FirstOnes first(query.limit);
  const bool by_name = query.order == ProcessOrder::kName;
  const bool by_behavior = query.order == ProcessOrder::kBehavior;
  const bool is_search = !query.search.empty();
  const bool needs_behavior = by_behavior || is_search;
  const auto look = [&](const ProcessSlot& slot, std::uint64_t id) {
    const std::string* const behavior = needs_behavior ? index.NameOf(slot, id) : nullptr;
    if (behavior == nullptr && (needs_behavior || !index.Of(slot, id))) return;
    ++found.in_all;
    Candidate candidate{id, NumberOf(slot, query.order)};
    if (by_name || is_search) {
      candidate.text = LowerCaseOf(RegisteredName(slot, index.addresses().PidOf(id)).ToString());
    }
    if (is_search && candidate.text.find(query.search) == std::string::npos &&
        LowerCaseOf(*behavior).find(query.search) == std::string::npos) {
      return;
    }
    ++found.matching;
    if (!by_name) candidate.text = by_behavior ? *behavior : std::string();
    first.Add(std::move(candidate));
  };
  VisitProcesses(self, index.addresses(), look);
  for (const Candidate& candidate : first.Take()) {
    if (auto row = RowOf(index, candidate.id)) found.rows.push_back(std::move(*row));
  }
  return found;
}

}  // namespace ergon::node
