#include <ergon/node/cluster/tools/sys_answers.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/core.h>

#include <ergon/gen/error.h>
#include <ergon/gen/node.h>
#include <ergon/gen/process.h>
#include <ergon/node/cluster/tools/observer_terms.h>
#include <ergon/node/cluster/tools/process_answers.h>

namespace ergon::dist {
namespace {

constexpr std::int64_t kLongest = 86'400'000;  // ms

// Returns the process of this node with that PID or name.
std::optional<gen::PID> ProcessOf(gen::Process& self, const Term& term) {
  if (const auto pid = term.AsPid()) {
    return pid->node == self.Node().Name() ? pid : std::nullopt;
  }
  const auto name = gen::Atom::Find(term.AsAtomText().value_or(""));
  if (!name) return std::nullopt;
  const auto pid = self.Node().Resolve(*name);
  return pid ? std::optional(*pid) : std::nullopt;
}

// Returns what a process tells of itself within the time-out, which is the second argument.
gen::Result<gen::Inspection> Ask(gen::Process& self, gen::PID pid, const Arguments& arguments) {
  gen::CallOptions options;
  if (arguments.size() == 2) {
    const auto timeout = arguments[1].AsInteger();
    if (!timeout && arguments[1].AsAtomText() != "infinity") {
      return BadArgument();
    }
    if (timeout && (*timeout < 0 || *timeout > kLongest)) return BadArgument();
    options.timeout = timeout ? std::chrono::milliseconds(*timeout) : gen::kInfinite;
  }
  auto told = self.Inspect(pid, {}, options);
  if (told) return told;
  const bool has_ended =
      told.error() == gen::ErrProcessUnknown || told.error() == gen::ErrProcessTerminated;
  // Without a text, which tools do not expect.
  return has_ended ? gen::ErrProcessUnknown : gen::ErrTimeout;
}

void WriteInspection(TermWriter& writer, const gen::Inspection& inspection) {
  writer.Map(inspection.size());
  for (const auto& [key, text] : inspection) {
    writer.Binary(key);
    writer.Binary(text);
  }
}

Answer GetState(gen::Process& self, const Arguments& arguments) {
  const auto pid = ProcessOf(self, arguments[0]);
  if (!pid) return gen::ErrProcessUnknown;
  const auto told = Ask(self, *pid, arguments);
  if (!told) return told.error();
  return MakeTerm([&](TermWriter& writer) { WriteInspection(writer, *told); });
}

// {"Key", Value}
TermWriter Line(ListOfTerms& lines, std::string_view key) {
  TermWriter writer = lines.Add();
  writer.Tuple(2);
  writer.Charlist(key);
  return writer;
}

void WriteData(TermWriter& writer, const ListOfTerms& lines) {
  writer.Tuple(2);
  writer.Atom("data");
  lines.Write(writer);
}

// [{header, Text}, {data, [{"Status", ...}, ...]}, {data, [{"State", ...}]}], as a gen_server has it.
void WriteMisc(TermWriter& writer, const gen::ProcessInfo& info,
               const gen::Inspection& inspection) {
  ListOfTerms data;
  Line(data, "Status").Atom(gen::ToString(info.state));
  Line(data, "Parent").Pid(info.parent);
  TermWriter called = Line(data, "Behaviour");
  called.Binary(info.behavior);
  ListOfTerms state;
  TermWriter map = Line(state, "State");
  WriteInspection(map, inspection);
  writer.List(3);
  writer.Tuple(2);
  writer.Atom("header");
  writer.Charlist(fmt::format("Status for {}", info.pid));
  WriteData(writer, data);
  WriteData(writer, state);
  writer.Nil();
}

// {status, Pid, {module, M}, [Dictionary, SystemState, Parent, Debug, Misc]}
Answer GetStatus(gen::Process& self, const Arguments& arguments) {
  const auto pid = ProcessOf(self, arguments[0]);
  if (!pid) return gen::ErrProcessUnknown;
  const auto told = Ask(self, *pid, arguments);
  if (!told) return told.error();
  const auto info = self.Node().ProcessInfo(*pid);
  if (!info) return gen::ErrProcessUnknown;
  return MakeTerm([&](TermWriter& writer) {
    writer.Tuple(4);
    writer.Atom("status");
    writer.Pid(*pid);
    writer.Tuple(2);
    writer.Atom("module");
    WriteName(writer, ShortName(info->behavior));
    writer.List(5);
    writer.Nil();
    writer.Atom(info->suspended ? "suspended" : "running");
    writer.Pid(info->parent);
    writer.Nil();
    WriteMisc(writer, *info, *told);
    writer.Nil();
  });
}

}  // namespace

void AddSysAnswers(std::vector<detail::RemoteFunction>& table) {
  for (const std::size_t arity : {1, 2}) {
    table.push_back({"sys", "get_state", arity, GetState});
    table.push_back({"sys", "get_status", arity, GetStatus});
  }
}

}  // namespace ergon::dist
