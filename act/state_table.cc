#include <ergon/act/state_table.h>

#include <fmt/core.h>

namespace ergon::act {

void StateTable::SetProblem(std::string problem) {
  if (problem_.empty()) problem_ = std::move(problem);
}

std::string StateTable::Check(const Transition& first) const {
  if (!problem_.empty()) return problem_;
  for (const Row& row : rows_) {
    if (!row.handler) return fmt::format("state '{}': must have a handler", row.name);
  }
  if (first.kind() != Transition::Kind::kGoTo || first.postpones()) {
    return "Init: must return GoTo(the first state), or Stop";
  }
  return {};
}

const std::string& StateTable::NameOf(std::size_t row) const {
  static const std::string kNoName;
  return row == kNone ? kNoName : rows_[row].name;
}

}  // namespace ergon::act
