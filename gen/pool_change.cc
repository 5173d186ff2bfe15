#include <ergon/gen/pool_change.h>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/core.h>

#include <ergon/core/messages/mailbox_bound.h>

namespace ergon::gen {
namespace {

using std::chrono::nanoseconds;

constexpr std::int64_t kAnyTime = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kLongestWait = 3'600'000 * kMillisecond;

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
    PoolChangeField{"autoscale_target_wait", &PoolChange::autoscale_target_wait, 1, kLongestWait},
};

const PoolChangeField& FieldOf(Atom name) {
  std::string names;
  for (const PoolChangeField& field : kFields) {
    if (name.Text() == field.name) return field;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", field.name);
  }
  throw std::invalid_argument(fmt::format("{}: unknown, the fields are {}", name.Text(), names));
}

int NumberOf(const char* name, const std::variant<std::int64_t, double>& value) {
  const auto* const number = std::get_if<std::int64_t>(&value);
  if (number == nullptr) {
    throw std::invalid_argument(
        fmt::format("{}: {}, must be a whole number", name, std::get<double>(value)));
  }
  const int narrow = static_cast<int>(*number);
  if (narrow != *number) {
    throw std::invalid_argument(fmt::format("{}: {} is outside {}..{}", name, *number,
                                            std::numeric_limits<int>::min(),
                                            std::numeric_limits<int>::max()));
  }
  return narrow;
}

// Of milliseconds. What is longer than a time can be, is the longest one.
nanoseconds TimeOf(const std::variant<std::int64_t, double>& value) {
  constexpr double kLongest = static_cast<double>(kAnyTime / kMillisecond);
  const double milliseconds =
      std::visit([](auto time) { return static_cast<double>(time); }, value);
  if (std::abs(milliseconds) >= kLongest) {
    return milliseconds < 0 ? nanoseconds::min() : nanoseconds::max();
  }
  return nanoseconds(std::llround(milliseconds * static_cast<double>(kMillisecond)));
}

std::string ProblemOf(const PoolChangeField& field, int value) {
  if (value >= field.least && value <= field.most) return {};
  return fmt::format("{}: {} is outside {}..{}", field.name, value, field.least, field.most);
}

std::string ProblemOf(const PoolChangeField& field, nanoseconds value) {
  if (value.count() < field.least) {
    return fmt::format("{}: {} ns is less than {} ns", field.name, value.count(), field.least);
  }
  if (value.count() <= field.most) return {};
  return fmt::format("{}: {} ns is more than {} ns", field.name, value.count(), field.most);
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
    if (const auto* const number = std::get_if<PoolChangeField::Number>(&field.member)) {
      if (this->**number) fields.emplace(Atom(field.name), std::int64_t{*(this->**number)});
      continue;
    }
    const auto& time = this->*std::get<PoolChangeField::Time>(field.member);
    if (!time) continue;
    const std::int64_t count = time->count();
    auto& value = fields[Atom(field.name)];
    if (count % kMillisecond == 0) {
      value = count / kMillisecond;
    } else {
      value = static_cast<double>(count) / static_cast<double>(kMillisecond);
    }
  }
  return fields;
}

PoolChange PoolChange::FromWire(const WireFields& fields) {
  PoolChange change;
  for (const auto& [name, value] : fields) {
    const PoolChangeField& field = FieldOf(name);
    if (const auto* const number = std::get_if<PoolChangeField::Number>(&field.member)) {
      change.** number = NumberOf(field.name, value);
    } else {
      change.*std::get<PoolChangeField::Time>(field.member) = TimeOf(value);
    }
  }
  return change;
}

}  // namespace ergon::gen
