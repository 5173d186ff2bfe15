// The table of a state machine: its states, and the handlers of each.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ergon/act/state_event.h>
#include <ergon/act/state_transition.h>

namespace ergon::act {

// Here states are numbers: rows of the table. Users call StateMachine::In.
class StateTable {
 public:
  // Means no row.
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  struct Row {
    std::string name;
    std::function<Transition(StateEvent&)> handler;
    std::function<Entry(std::size_t from)> entry;  // empty: none
  };

  void Add(Row row) { rows_.push_back(std::move(row)); }
  // Notes a mistake in the table. The first of several counts.
  void SetProblem(std::string problem);

  // Returns what is wrong with the table, or with `first`, which Init has returned; empty if nothing is wrong.
  [[nodiscard]] std::string Check(const Transition& first) const;
  [[nodiscard]] const Row& At(std::size_t row) const { return rows_[row]; }
  // Returns the name of a state; empty for kNone.
  [[nodiscard]] const std::string& NameOf(std::size_t row) const;

 private:
  std::vector<Row> rows_;
  std::string problem_;
};

}  // namespace ergon::act
