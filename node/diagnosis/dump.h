// What all processes do now, as text for people.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <ergon/core/clock.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/node_info.h>
#include <ergon/gen/pid.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {

// Any thread. gen::Node::Dump says what is written.
class Dump {
 public:
  Dump(const Addresses& addresses, const core::Clock& clock)
      : addresses_(addresses), clock_(clock) {}

  // Writes the dump. `connections`: what each connection with another node does, see Transport::Describe.
  void Write(std::ostream& stream, const gen::NodeInfo& node,
             const std::vector<std::string>& connections) const;

 private:
  // A process's fields, as text.
  using Row = std::array<std::string, 9>;
  // What the lock of a process's cold part guards.
  struct Guarded {
    gen::Atom name;
    std::string behavior;
    std::size_t bound = 0;  // of its mailbox; 0: none
  };

  // Returns the ids of all processes, in the order of spawning.
  [[nodiscard]] std::vector<std::uint64_t> InOrder() const;
  // Returns std::nullopt if the process has ended.
  [[nodiscard]] std::optional<Guarded> Look(gen::PID pid) const;
  [[nodiscard]] std::optional<Row> RowOf(gen::PID pid) const;
  [[nodiscard]] std::string Handled(const ProcessSlot& process) const;
  [[nodiscard]] std::string WithWorkers(const PoolSlot& pool) const;
  [[nodiscard]] std::string WaitedFor(const ProcessSlot& process, gen::ProcessState state) const;
  // Returns a process that the row of another one names.
  [[nodiscard]] std::string Describe(gen::PID pid) const;

  const Addresses& addresses_;
  const core::Clock& clock_;
};

}  // namespace ergon::node
