#include <ergon/act/pool_change.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>

namespace ergon::act {
namespace {

template <class Value>
void Take(const std::optional<Value>& change, Value& value) {
  if (change) value = *change;
}

void TakeMailboxSize(const PoolChange& change, PoolOptions& options) {
  if (!change.worker_mailbox_size) return;
  options.worker_mailbox_size = *change.worker_mailbox_size;
  if (!options.worker_mailbox.IsChosen()) return;
  options.worker_mailbox.SetBound(std::exchange(options.worker_mailbox_size, 0));
}

std::string TextOf(int value) { return fmt::format("{}", value); }
std::string TextOf(double value) { return fmt::format("{}", value); }
std::string TextOf(std::chrono::nanoseconds value) { return core::ExactTime(value); }

}  // namespace

PoolOptions Changed(const PoolOptions& options, const PoolChange& change) {
  PoolOptions changed = options;
  Take(change.pool_size, changed.pool_size);
  TakeMailboxSize(change, changed);
  Take(change.admission_limit, changed.admission_limit);
  Take(change.restart_backoff_min, changed.restart_backoff_min);
  Take(change.restart_backoff_max, changed.restart_backoff_max);
  Take(change.max_restarts, changed.max_restarts);
  Take(change.restart_period, changed.restart_period);
  Take(change.shutdown_timeout, changed.shutdown_timeout);
  if (!changed.autoscale) return changed;
  PoolAutoscale& autoscale = *changed.autoscale;
  Take(change.autoscale_min, autoscale.min);
  Take(change.autoscale_max, autoscale.max);
  Take(change.autoscale_target_wait, autoscale.target_wait);
  Take(change.autoscale_target_utilization, autoscale.target_utilization);
  Take(change.autoscale_shrink_after, autoscale.shrink_after);
  const bool has_bounds = change.autoscale_min || change.autoscale_max;
  if (has_bounds && !change.pool_size && autoscale.min <= autoscale.max) {
    changed.pool_size = std::clamp(changed.pool_size, autoscale.min, autoscale.max);
  }
  return changed;
}

std::string Misfit(const PoolOptions& options, const PoolChange& change) {
  if (change.worker_mailbox_size && options.worker_mailbox.IsCustom()) {
    return fmt::format(
        "worker_mailbox_size: {}, but worker_mailbox is custom: a MailboxQueue of "
        "the program's, which alone knows its bound",
        *change.worker_mailbox_size);
  }
  // Else worker_mailbox would be told as wrong, which was not given.
  std::string misfit = PoolChange{.worker_mailbox_size = change.worker_mailbox_size}.Validate();
  if (!misfit.empty() || options.autoscale) return misfit;
  for (const gen::PoolChangeField& field : gen::PoolChangeFields()) {
    if (!misfit.empty() || !std::string_view(field.name).starts_with("autoscale_")) continue;
    std::visit(
        [&](auto member) {
          if (!(change.*member)) return;
          misfit = fmt::format("{}: {}, but the pool has no autoscale", field.name,
                               TextOf(*(change.*member)));
        },
        field.member);
  }
  return misfit;
}

std::string ByNamesOfChange(std::string problem) {
  constexpr std::string_view kField = "autoscale.";
  for (std::size_t at = 0; (at = problem.find(kField, at)) != std::string::npos;) {
    at += kField.size();
    problem[at - 1] = '_';
  }
  return problem;
}

std::vector<std::string> Differences(const PoolOptions& now, const PoolOptions& before) {
  const PoolChange all = now.Changeable();
  const PoolChange all_before = before.Changeable();
  std::vector<std::string> found;
  for (const gen::PoolChangeField& field : gen::PoolChangeFields()) {
    std::visit(
        [&](auto member) {
          if (all.*member == all_before.*member) return;
          found.push_back(fmt::format("{}: {}, was {}", field.name, TextOf(*(all.*member)),
                                      TextOf(*(all_before.*member))));
        },
        field.member);
  }
  return found;
}

}  // namespace ergon::act
