#include <ergon/gen/pool_change.h>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/core/messages/mailbox_bound.h>

namespace ergon::gen {
namespace {

using std::chrono::nanoseconds;

constexpr std::int64_t kAnyTime = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMillisecond = 1'000'000;

constexpr std::array kFields = {
    PoolChangeField{"pool_size", &PoolChange::pool_size, 1, kMaxPoolSize},
    PoolChangeField{"worker_mailbox_size", &PoolChange::worker_mailbox_size, 0,
                    core::kMaxMailboxBound},
    PoolChangeField{"admission_limit", &PoolChange::admission_limit, 0, kAnyTime},
    PoolChangeField{"restart_backoff_min", &PoolChange::restart_backoff_min, 1, kAnyTime},
    PoolChangeField{"restart_backoff_max", &PoolChange::restart_backoff_max, 1, kAnyTime},
    PoolChangeField{"max_restarts", &PoolChange::max_restarts, 0, std::numeric_limits<int>::max()},
    PoolChangeField{"restart_period", &PoolChange::restart_period, 1, kAnyTime},
    PoolChangeField{"shutdown_timeout", &PoolChange::shutdown_timeout, 0, kAnyTime},
    PoolChangeField{"autoscale_min", &PoolChange::autoscale_min, 1, kMaxPoolSize},
    PoolChangeField{"autoscale_max", &PoolChange::autoscale_max, 1, kMaxPoolSize},
    PoolChangeField{"autoscale_target_wait", &PoolChange::autoscale_target_wait, 1,
                    kMaxAutoscaleTargetWait.count()},
    PoolChangeField{"autoscale_target_utilization", &PoolChange::autoscale_target_utilization, 0,
                    1},
    PoolChangeField{"autoscale_shrink_after", &PoolChange::autoscale_shrink_after,
                    kMinAutoscaleShrinkAfter.count(), kMaxAutoscaleShrinkAfter.count()},
};

const PoolChangeField& FieldOf(Atom name) {
  std::string names;
  for (const PoolChangeField& field : kFields) {
    if (name.Text() == field.name) return field;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", field.name);
  }
  throw std::invalid_argument(fmt::format("{}: unknown, the fields are {}", name.Text(), names));
}

// As in Erlang's terms.
using Wired = PoolChange::WireFields::mapped_type;

Wired WiredOf(int value) { return std::int64_t{value}; }
Wired WiredOf(double value) { return value; }
Wired WiredOf(nanoseconds value) {
  const std::int64_t count = value.count();
  if (count % kMillisecond == 0) return count / kMillisecond;
  return static_cast<double>(count) / static_cast<double>(kMillisecond);
}

void TakeWired(const char* name, const Wired& value, int& out) {
  const auto* const number = std::get_if<std::int64_t>(&value);
  if (number == nullptr) {
    throw std::invalid_argument(
        fmt::format("{}: {}, must be a whole number", name, std::get<double>(value)));
  }
  out = static_cast<int>(*number);
  if (out != *number) {
    throw std::invalid_argument(fmt::format("{}: {} is outside {}..{}", name, *number,
                                            std::numeric_limits<int>::min(),
                                            std::numeric_limits<int>::max()));
  }
}

void TakeWired(const char* /*name*/, const Wired& value, double& out) {
  out = std::visit([](auto number) { return static_cast<double>(number); }, value);
}

// Of milliseconds. What is longer than a time can be, is the longest one.
void TakeWired(const char* name, const Wired& value, nanoseconds& out) {
  constexpr double kLongest = static_cast<double>(kAnyTime / kMillisecond);
  double milliseconds = 0;
  TakeWired(name, value, milliseconds);
  if (std::abs(milliseconds) >= kLongest) {
    out = milliseconds < 0 ? nanoseconds::min() : nanoseconds::max();
  } else {
    out = nanoseconds(std::llround(milliseconds * static_cast<double>(kMillisecond)));
  }
}

std::string ProblemOf(const PoolChangeField& field, int value) {
  if (value >= field.least && value <= field.most) return {};
  return fmt::format("{}: {} is outside {}..{}", field.name, value, field.least, field.most);
}

std::string ProblemOf(const PoolChangeField& field, nanoseconds value) {
  if (value.count() < field.least) {
    return fmt::format("{}: {} is less than {}", field.name, core::ExactTime(value),
                       core::ExactTime(nanoseconds(field.least)));
  }
  if (value.count() <= field.most) return {};
  return fmt::format("{}: {} is more than {}", field.name, core::ExactTime(value),
                     core::ExactTime(nanoseconds(field.most)));
}

std::string ProblemOf(const PoolChangeField& field, double value) {
  // Not the other way round: it may be no number.
  if (value > static_cast<double>(field.least) && value < static_cast<double>(field.most)) {
    return {};
  }
  return fmt::format("{}: {}, must be more than {} and less than {}", field.name, value,
                     field.least, field.most);
}

}  // namespace

std::span<const PoolChangeField> PoolChangeFields() { return kFields; }

std::string PoolChange::Validate() const {
  for (const PoolChangeField& field : kFields) {
    const std::string problem = std::visit(
        [&](auto member) {
          const auto& value = this->*member;
          return value ? ProblemOf(field, *value) : std::string();
        },
        field.member);
    if (!problem.empty()) return problem;
  }
  return {};
}

void PoolChange::Add(const PoolChange& further) {
  for (const PoolChangeField& field : kFields) {
    std::visit(
        [&](auto member) {
          if (further.*member) this->*member = further.*member;
        },
        field.member);
  }
}

PoolChange PoolChange::Of(const PoolChange& all) const {
  PoolChange some;
  for (const PoolChangeField& field : kFields) {
    std::visit(
        [&](auto member) {
          if (this->*member) some.*member = all.*member;
        },
        field.member);
  }
  return some;
}

PoolChange::WireFields PoolChange::ToWire() const {
  WireFields fields;
  for (const PoolChangeField& field : kFields) {
    std::visit(
        [&](auto member) {
          if (this->*member) fields.emplace(Atom(field.name), WiredOf(*(this->*member)));
        },
        field.member);
  }
  return fields;
}

PoolChange PoolChange::FromWire(const WireFields& fields) {
  PoolChange change;
  for (const auto& [name, value] : fields) {
    const PoolChangeField& field = FieldOf(name);
    std::visit([&, &wired = value](
                   auto member) { TakeWired(field.name, wired, (change.*member).emplace()); },
               field.member);
  }
  return change;
}

}  // namespace ergon::gen
