// What Erlang's process_info tells of a process here.
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

// Calls visit(const gen::ProcessInfo&) for each process of the node; others go on in between.
template <class Visit>
void VisitProcesses(gen::Process& self, Visit&& visit) {
  constexpr std::size_t kUntilYield = 100;
  std::size_t looked = 0;
  for (const gen::PID pid : self.Node().ProcessList()) {
    if (++looked % kUntilYield == 0) self.Yield();
    if (const auto info = self.Node().ProcessInfo(pid)) visit(*info);
  }
}

// {Item, Value}; `registered_name` of a process without a name is [] in the place of the pair, unless it is one of
// several items. False, and nothing is written: there is no such item.
[[nodiscard]] bool WriteProcessItem(TermWriter& writer, const gen::ProcessInfo& info,
                                    const Term& item, bool is_one_of_several);

// {Module, Function, Arity}: the class of its behaviour stands for the module.
void WriteInitialCall(TermWriter& writer, const gen::ProcessInfo& info);
// What it handles now: the type of the message stands for the function.
void WriteCurrentFunction(TermWriter& writer, const gen::ProcessInfo& info);
// The record etop_proc_info of observer_backend.
void WriteEtopProcess(TermWriter& writer, const gen::ProcessInfo& info);

// Of Erlang's process_info/1: those that a process has.
[[nodiscard]] Term UsualProcessItems(const gen::ProcessInfo& info);

}  // namespace ergon::dist
