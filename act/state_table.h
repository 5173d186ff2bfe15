// The table of a state machine: its states, and what handles events in each.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ergon/act/state_event.h>
#include <ergon/act/state_transition.h>

namespace ergon::act {

// States are numbers here: rows of the table. Users write StateMachine::In.
class StateTable {
 public:
  // Stands for no row.
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  struct Row {
    std::string name;
    std::function<Transition(StateEvent&)> handler;
    std::function<Entry(std::size_t from)> entry;  // empty: none
  };

  void Add(Row row) { rows_.push_back(std::move(row)); }
  // A mistake in the table; of several the first one counts.
  void SetProblem(std::string problem);

  // What is wrong with the table, or with `first`, which Init has returned; empty if nothing is.
  [[nodiscard]] std::string Check(const Transition& first) const;
  [[nodiscard]] const Row& At(std::size_t row) const { return rows_[row]; }
  // Empty for kNone.
  [[nodiscard]] const std::string& NameOf(std::size_t row) const;

 private:
  std::vector<Row> rows_;
  std::string problem_;
};

}  // namespace ergon::act
