#include <ergon/node/cluster/tools/backend_answers.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <ergon/gen/error.h>
#include <ergon/gen/node.h>
#include <ergon/gen/process.h>
#include <ergon/node/cluster/tools/node_answers.h>
#include <ergon/node/cluster/tools/observer_terms.h>
#include <ergon/node/cluster/tools/process_answers.h>

namespace ergon::dist {
namespace {

constexpr std::string_view kVersion =
    "1.19";  // of Erlang's application runtime_tools, whose shapes these are
// So many processes are told in one message, which is far smaller than a frame may be.
constexpr std::size_t kChunk = 1000;
constexpr std::chrono::milliseconds kShortestPeriod{10};

// Sends a message to a process of the tool. If the message does not fit into a frame, this process ends with the error,
// and the tool learns it by its link.
Answer Tell(gen::Process& self, gen::PID tool, Term message) {
  const auto sent = self.Send(tool, std::move(message));
  if (!sent) return sent.error();
  return Term::Atom("ok");
}

// The record etop_info.
void WriteEtopInfo(TermWriter& writer, gen::Node& node, const ListOfTerms& processes) {
  writer.Tuple(9);
  writer.Atom("etop_info");
  WriteTimestamp(writer);
  writer.Unsigned(processes.size());
  writer.Atom("undefined");  // the time, in former versions
  WriteWorkerTimes(writer, node);
  writer.Unsigned(node.Info().ready);
  writer.Nil();  // areas of its memory, in former versions
  writer.Raw(Memory().raw());
  processes.Write(writer);
}

Answer EtopCollect(gen::Process& self, const Arguments& arguments) {
  const auto tool = arguments[0].AsPid();
  if (!tool) return BadArgument();
  ListOfTerms processes;
  VisitProcesses(self, [&](const gen::ProcessInfo& info) {
    if (info.pid == self.Self()) return;
    TermWriter writer = processes.Add();
    WriteEtopProcess(writer, info);
  });
  return Tell(self, *tool, MakeTerm([&](TermWriter& writer) {
                writer.Tuple(2);
                writer.Pid(self.Self());
                WriteEtopInfo(writer, self.Node(), processes);
              }));
}

Answer ProcessesInChunks(gen::Process& self, const Arguments& arguments) {
  const auto tool = arguments[0].AsPid();
  if (!tool) return BadArgument();
  ListOfTerms chunk;
  Answer told = Term();
  const auto tell = [&] {
    told = Tell(self, *tool, MakeTerm([&](TermWriter& writer) {
                  writer.Tuple(3);
                  writer.Atom("procs_info");
                  writer.Pid(self.Self());
                  chunk.Write(writer);
                }));
    chunk.Clear();
  };
  VisitProcesses(self, [&](const gen::ProcessInfo& info) {
    if (!told || info.pid == self.Self()) return;
    TermWriter writer = chunk.Add();
    WriteEtopProcess(writer, info);
    if (chunk.size() == kChunk) tell();
  });
  if (told) tell();
  return told;
}

// Runs until the tool sends any message, or ends.
Answer FetchStats(gen::Process& self, const Arguments& arguments) {
  const auto tool = arguments[0].AsPid();
  const auto period = arguments[1].AsInteger();
  if (!tool || !period) return BadArgument();
  const auto watched = self.Monitor(*tool);
  if (!watched) return watched.error();
  // A day at most, so that it can be counted in ns.
  const std::chrono::milliseconds pause(
      std::clamp<std::int64_t>(*period, kShortestPeriod.count(), 86'400'000));
  for (;;) {
    const auto heard = self.Receive<gen::OtherMessage>(pause);
    if (heard || heard.error() != gen::ErrTimeout) return Term::Atom("ok");
    auto told = Tell(self, *tool, MakeTerm([&](TermWriter& writer) {
                       writer.Tuple(5);
                       writer.Atom("stats");
                       writer.Integer(1);
                       WriteWorkerTimes(writer, self.Node());
                       WriteIo(writer);
                       writer.Raw(Memory().raw());
                     }));
    if (!told) return told;
  }
}

Answer Version(gen::Process&, const Arguments&) {
  return MakeTerm([](TermWriter& writer) {
    writer.Tuple(2);
    writer.Atom("ok");
    writer.Charlist(kVersion);
  });
}

// The node has no tables.
Answer TableList(gen::Process& self, const Arguments& arguments) {
  if (arguments[0].AsAtomText() != "mnesia") return Term();
  return MakeTerm([&](TermWriter& writer) {
    writer.Tuple(2);
    writer.Atom("error");
    writer.Charlist(fmt::format("Mnesia is not running on: {}", self.Node().Name()));
  });
}

}  // namespace

void AddBackendAnswers(std::vector<detail::RemoteFunction>& table) {
  const auto add = [&](const char* function, std::size_t arity, auto answer) {
    table.push_back({"observer_backend", function, arity, answer});
  };
  add("vsn", 0, Version);
  add("etop_collect", 1, EtopCollect);
  add("procs_info", 1, ProcessesInChunks);
  add("fetch_stats", 2, FetchStats);
  add("sys_info", 0,
      [](gen::Process& self, const Arguments&) -> Answer { return SysInfo(self.Node()); });
  add("get_table_list", 2, TableList);
  add("get_port_list", 0, EmptyList);
  add("get_socket_list", 0, EmptyList);
  add("socket_info", 0, EmptyList);
}

}  // namespace ergon::dist
