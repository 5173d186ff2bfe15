// What this node answers to Erlang's process_info.
#pragma once

#include <cstddef>
#include <string_view>

#include <ergon/gen/node.h>
#include <ergon/gen/process.h>
#include <ergon/gen/process_info.h>
#include <ergon/node/cluster/tools/observer_terms.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {

// Calls visit(const gen::ProcessInfo&) for each process of the node. Other processes run in between.
template <class Visit>
void VisitProcesses(gen::Process& self, Visit&& visit) {
  constexpr std::size_t kUntilYield = 100;
  std::size_t looked = 0;
  for (const gen::PID pid : self.Node().ProcessList()) {
    if (++looked % kUntilYield == 0) self.Yield();
    if (const auto info = self.Node().ProcessInfo(pid)) visit(*info);
  }
}

// Writes {Item, Value}. For `registered_name` of a process without a name it writes [] in place of the pair, unless the
// item is one of several. Returns false, and writes nothing, if there is no such item.
[[nodiscard]] bool WriteProcessItem(TermWriter& writer, const gen::ProcessInfo& info,
                                    const Term& item, bool is_one_of_several);

// Writes {Module, Function, Arity}: the class of the process's behaviour stands for the module.
void WriteInitialCall(TermWriter& writer, const gen::ProcessInfo& info);
// Writes what the process handles now: the type of the message stands for the function.
void WriteCurrentFunction(TermWriter& writer, const gen::ProcessInfo& info);
// Writes the record etop_proc_info of observer_backend.
void WriteEtopProcess(TermWriter& writer, const gen::ProcessInfo& info);

// Returns what process_info/1 answers: the items of that function that a process has.
[[nodiscard]] Term UsualProcessItems(const gen::ProcessInfo& info);

}  // namespace ergon::dist
