#include <ergon/node/cluster/tools/observer_answers.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ergon/gen/error.h>
#include <ergon/gen/node.h>
#include <ergon/gen/process.h>
#include <ergon/node/cluster/tools/application_answers.h>
#include <ergon/node/cluster/tools/backend_answers.h>
#include <ergon/node/cluster/tools/node_answers.h>
#include <ergon/node/cluster/tools/observer_terms.h>
#include <ergon/node/cluster/tools/process_answers.h>
#include <ergon/node/cluster/tools/sys_answers.h>
#include <ergon/node/cluster/tools/trace_answers.h>

namespace ergon::dist {
namespace {

Term Undefined() { return Term::Atom("undefined"); }

// ---- erlang

Answer Processes(gen::Process& self, const Arguments&) {
  const auto pids = self.Node().ProcessList();
  return MakeTerm([&](TermWriter& writer) {
    writer.List(pids.size());
    for (const gen::PID pid : pids) writer.Pid(pid);
    writer.Nil();
  });
}

// Returns the info of a process of this node; nothing if the process has ended.
gen::Result<std::optional<gen::ProcessInfo>> InfoOf(gen::Process& self, const Term& pid) {
  const auto asked = pid.AsPid();
  if (!asked || asked->node != self.Node().Name()) return BadArgument();
  auto info = self.Node().ProcessInfo(*asked);
  if (!info) return std::optional<gen::ProcessInfo>();
  return std::optional<gen::ProcessInfo>(std::move(*info));
}

// A request of a few bytes an item must not make an answer of gigabytes: one item is as long as the process has links.
constexpr std::size_t kMostItems = 64;

Answer ProcessInfo(gen::Process& self, const Arguments& arguments) {
  const auto info = InfoOf(self, arguments[0]);
  if (!info) return info.error();
  if (!*info) return Undefined();
  if (arguments.size() == 1) return UsualProcessItems(**info);
  std::string bytes;
  TermWriter writer(bytes);
  const bool is_list = arguments[1].kind() == Term::Kind::kList;
  const Arguments items = is_list ? arguments[1].Elements() : Arguments{arguments[1]};
  if (items.size() > kMostItems) return BadArgument();
  if (is_list) writer.List(items.size());
  for (const Term& item : items) {
    if (!WriteProcessItem(writer, **info, item, is_list)) return BadArgument();
  }
  if (is_list) writer.Nil();
  return Term::FromChecked(std::move(bytes));
}

Answer IsAlive(gen::Process& self, const Arguments& arguments) {
  const auto info = InfoOf(self, arguments[0]);
  if (!info) return info.error();
  return Term(info->has_value());
}

Answer Registered(gen::Process& self, const Arguments&) {
  ListOfTerms names;
  VisitProcesses(self, [&](const gen::ProcessInfo& info) {
    if (info.name.empty()) return;
    TermWriter writer = names.Add();
    WriteName(writer, info.name.Text());
  });
  return names.ToTerm();
}

Answer AnswerWhereIs(gen::Process& self, const Arguments& arguments) {
  const auto name = arguments[0].AsAtomText();
  if (!name) return BadArgument();
  const auto known = gen::Atom::Find(*name);
  if (!known) return Undefined();
  const auto pid = self.Node().Resolve(*known);
  return pid ? Term(*pid) : Undefined();
}

Answer FunctionExported(gen::Process&, const Arguments& arguments) {
  const auto module = arguments[0].AsAtomText();
  const auto function = arguments[1].AsAtomText();
  const auto arity = arguments[2].AsUnsigned();
  if (!module || !function || !arity) return BadArgument();
  return Term(FindObserverAnswer(*module, *function, *arity) != nullptr);
}

// ---- other modules

// This node runs no Erlang code, but tools ask whether their own module is loaded.
Answer EnsureLoaded(gen::Process&, const Arguments& arguments) {
  if (arguments[0].AsAtomText() == "observer_backend") {
    return Term::Tuple({Term::Atom("module"), arguments[0]});
  }
  return Term::Tuple({Term::Atom("error"), Term::Atom("nofile")});
}

Answer InitialCall(gen::Process& self, const Arguments& arguments) {
  const auto info = InfoOf(self, arguments[0]);
  if (!info) return info.error();
  if (!*info) return Term::Tuple({Term::Atom("proc_lib"), Term::Atom("init_p"), 5});
  return MakeTerm([&](TermWriter& writer) { WriteInitialCall(writer, **info); });
}

// ---- the table

using Table = std::vector<detail::RemoteFunction>;

void AddErlang(Table& table) {
  const auto add = [&](const char* function, std::size_t arity, auto answer) {
    table.push_back({"erlang", function, arity, answer});
  };
  add("processes", 0, Processes);
  add("process_info", 1, ProcessInfo);
  add("process_info", 2, ProcessInfo);
  add("is_process_alive", 1, IsAlive);
  add("registered", 0, Registered);
  add("whereis", 1, AnswerWhereIs);
  add("function_exported", 3, FunctionExported);
  add("ports", 0, EmptyList);
  add("node", 0, [](gen::Process& self, const Arguments&) -> Answer { return self.Node().Name(); });
  add("memory", 0, [](gen::Process&, const Arguments&) -> Answer { return Memory(); });
  add("memory", 1,
      [](gen::Process&, const Arguments& arguments) -> Answer { return MemoryOf(arguments[0]); });
  add("system_info", 1, [](gen::Process& self, const Arguments& arguments) -> Answer {
    return SystemInfo(self.Node(), arguments[0]);
  });
  add("statistics", 1, [](gen::Process& self, const Arguments& arguments) -> Answer {
    return Statistics(self.Node(), arguments[0]);
  });
  add("timestamp", 0,
      [](gen::Process&, const Arguments&) -> Answer { return MakeTerm(WriteTimestamp); });
}

void AddOtherModules(Table& table) {
  table.push_back({"code", "ensure_loaded", 1, EnsureLoaded});
  table.push_back({"code", "all_loaded", 0, EmptyList});
  table.push_back({"proc_lib", "translate_initial_call", 1, InitialCall});
  table.push_back({"proc_lib", "initial_call", 1, InitialCall});
  table.push_back({"proc_lib", "get_label", 1,
                   [](gen::Process&, const Arguments&) -> Answer { return Undefined(); }});
}

const Table& Answers() {
  static const Table table = [] {
    Table made;
    AddErlang(made);
    AddOtherModules(made);
    AddBackendAnswers(made);
    AddSysAnswers(made);
    AddApplicationAnswers(made);
    AddTraceAnswers(made);
    return made;
  }();
  return table;
}

}  // namespace

const detail::RemoteFunction* FindUsualAnswer(std::string_view module, std::string_view function,
                                              std::size_t arity) {
  static const detail::RemoteFunction where_is{"erlang", "whereis", 1, AnswerWhereIs};
  const bool is_known =
      module == where_is.module && function == where_is.function && arity == where_is.arity;
  return is_known ? &where_is : nullptr;
}

const detail::RemoteFunction* FindObserverAnswer(std::string_view module, std::string_view function,
                                                 std::size_t arity) {
  // Tools ask modules what they export, and behaviours stand for modules.
  static const detail::RemoteFunction of_any_module{"", "module_info", 1, EmptyList};
  if (function == of_any_module.function && arity == of_any_module.arity) return &of_any_module;
  for (const detail::RemoteFunction& answer : Answers()) {
    if (answer.module == module && answer.function == function && answer.arity == arity) {
      return &answer;
    }
  }
  return nullptr;
}

}  // namespace ergon::dist
