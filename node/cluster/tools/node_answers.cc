#include <ergon/node/cluster/tools/node_answers.h>

#include <malloc.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <ergon/gen/error.h>
#include <ergon/node/cluster/tools/observer_terms.h>

namespace ergon::dist {
namespace {

constexpr std::int64_t kMostProcesses = 16'777'216;  // see ProcessTable
constexpr std::string_view kRelease = "Ergon";

std::int64_t Milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

// Returns the processor time of all threads of the program, in ns.
std::int64_t ProcessorTime() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

struct Kind {
  const char* name;
  std::int64_t bytes;
};

// Returns the resident memory of the program: its code and libraries, and the rest, of which no parts are known.
std::array<Kind, 9> KindsOfMemory() {
  std::int64_t size = 0;
  std::int64_t resident = 0;
  std::int64_t shared = 0;
  std::ifstream("/proc/self/statm") >> size >> resident >> shared;
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const std::int64_t code = shared * page;
  const std::int64_t total = resident * page;
  return {{{"total", total},
           {"processes", total - code},
           {"processes_used", total - code},
           {"system", code},
           {"atom", 0},
           {"atom_used", 0},
           {"binary", 0},
           {"code", code},
           {"ets", 0}}};
}

std::pair<std::uint64_t, std::uint64_t> ReadAndWritten() {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  std::string key;
  std::ifstream file("/proc/self/io");
  file >> key >> read >> key >> written;
  return {read, written};
}

std::int64_t ProcessorsToRunOn() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                       : ::sysconf(_SC_NPROCESSORS_ONLN);
}

std::string Architecture() {
  utsname name{};
  return ::uname(&name) == 0 ? fmt::format("{}-{}", name.machine, name.sysname) : "unknown";
}

// Writes what the C library has allocated, in the shape of erlang:system_info({allocator_sizes, ...}).
void WriteAllocators(TermWriter& writer) {
  const auto info = ::mallinfo2();
  const auto used = static_cast<std::int64_t>(info.uordblks + info.hblkhd);
  // Not 0, because a tool divides by it.
  const auto all = std::max<std::int64_t>(static_cast<std::int64_t>(info.arena + info.hblkhd), 1);
  const auto sizes = [&](std::string_view name, std::int64_t bytes) {
    writer.Tuple(4);
    writer.Atom(name);
    for (int i = 0; i < 3; ++i) writer.Integer(bytes);
  };
  writer.List(1);
  writer.Tuple(2);
  writer.Atom("malloc");
  writer.List(1);
  writer.Tuple(3);
  writer.Atom("instance");
  writer.Integer(0);
  writer.List(1);
  writer.Tuple(2);
  writer.Atom("mbcs");
  writer.List(2);
  writer.Tuple(2);
  writer.Atom("blocks");
  writer.List(1);
  writer.Tuple(2);
  writer.Atom("malloc");
  writer.List(1);
  sizes("size", used);
  writer.Nil();
  writer.Nil();
  sizes("carriers_size", all);
  for (int i = 0; i < 4; ++i) writer.Nil();
}

void WritePair(TermWriter& writer, std::int64_t first, std::int64_t second) {
  writer.Tuple(2);
  writer.Integer(first);
  writer.Integer(second);
}

using Write = void (*)(TermWriter& writer, const gen::Node& node);
struct Item {
  std::string_view name;
  Write write;
};

void WriteWorkers(TermWriter& writer, const gen::Node& node) {
  writer.Integer(node.Info().workers);
}
void WriteReady(TermWriter& writer, const gen::Node& node) { writer.Unsigned(node.Info().ready); }
void WriteZero(TermWriter& writer, const gen::Node&) { writer.Integer(0); }
void WriteTrue(TermWriter& writer, const gen::Node&) { writer.Boolean(true); }
void WriteWordSize(TermWriter& writer, const gen::Node&) { writer.Integer(sizeof(void*)); }
void WriteNothing(TermWriter& writer, const gen::Node&) { writer.Nil(); }

const std::vector<Item>& SystemItems() {
  static const std::vector<Item> items = {
      {"process_count", [](TermWriter& w, const gen::Node& n) { w.Unsigned(n.Info().processes); }},
      {"process_limit", [](TermWriter& w, const gen::Node&) { w.Integer(kMostProcesses); }},
      {"port_count", WriteZero},
      {"ets_count", WriteZero},
      {"schedulers", WriteWorkers},
      {"schedulers_online", WriteWorkers},
      {"dirty_cpu_schedulers", WriteZero},
      {"dirty_cpu_schedulers_online", WriteZero},
      {"dirty_io_schedulers", WriteZero},
      {"multi_scheduling", [](TermWriter& w, const gen::Node&) { w.Atom("enabled"); }},
      {"logical_processors",
       [](TermWriter& w, const gen::Node&) { w.Integer(::sysconf(_SC_NPROCESSORS_CONF)); }},
      {"logical_processors_online",
       [](TermWriter& w, const gen::Node&) { w.Integer(::sysconf(_SC_NPROCESSORS_ONLN)); }},
      {"logical_processors_available",
       [](TermWriter& w, const gen::Node&) { w.Integer(ProcessorsToRunOn()); }},
      {"wordsize", WriteWordSize},
      {"creation", [](TermWriter& w, const gen::Node& n) { w.Integer(n.Info().creation); }},
      {"kernel_poll", WriteTrue},
      {"smp_support", WriteTrue},
      {"threads", WriteTrue},
      {"thread_pool_size", WriteZero},
      {"alloc_util_allocators", WriteNothing},
      {"otp_release", [](TermWriter& w, const gen::Node&) { w.Charlist(kRelease); }},
      {"version", [](TermWriter& w, const gen::Node&) { w.Charlist(ERGON_VERSION); }},
      {"system_version",
       [](TermWriter& w, const gen::Node&) {
         w.Charlist(fmt::format("{} {}", kRelease, ERGON_VERSION));
       }},
      {"system_architecture", [](TermWriter& w, const gen::Node&) { w.Charlist(Architecture()); }},
      {"machine", [](TermWriter& w, const gen::Node&) { w.Charlist(kRelease); }},
  };
  return items;
}

// Erlang also tells what has changed since the last question. This node does not keep that, and answers 0.
const std::vector<Item>& StatisticsItems() {
  static const std::vector<Item> items = {
      {"run_queue", WriteReady},
      {"total_run_queue_lengths", WriteReady},
      {"total_run_queue_lengths_all", WriteReady},
      {"io", [](TermWriter& w, const gen::Node&) { WriteIo(w); }},
      {"wall_clock",
       [](TermWriter& w, const gen::Node& n) { WritePair(w, Milliseconds(n.Info().uptime), 0); }},
      {"runtime",
       [](TermWriter& w, const gen::Node&) { WritePair(w, ProcessorTime() / 1'000'000, 0); }},
      {"reductions",
       [](TermWriter& w, const gen::Node& n) {
         WritePair(w, static_cast<std::int64_t>(n.MessageBalance().handled), 0);
       }},
      {"context_switches",
       [](TermWriter& w, const gen::Node& n) {
         WritePair(w, static_cast<std::int64_t>(n.Info().turns), 0);
       }},
      {"garbage_collection",
       [](TermWriter& w, const gen::Node&) {
         w.Tuple(3);
         for (int i = 0; i < 3; ++i) w.Integer(0);
       }},
      {"scheduler_wall_time", WriteWorkerTimes},
      {"scheduler_wall_time_all", WriteWorkerTimes},
  };
  return items;
}

gen::Result<Term> ItemOf(const std::vector<Item>& items, const gen::Node& node, const Term& item) {
  const auto found = std::ranges::find(items, item.AsAtomText().value_or(""), &Item::name);
  if (found == items.end()) return BadArgument();
  return MakeTerm([&](TermWriter& writer) { found->write(writer, node); });
}

}  // namespace

gen::Result<Term> SystemInfo(const gen::Node& node, const Term& item) {
  if (item.kind() == Term::Kind::kTuple && item.size() == 2) {
    const auto what = item[0].AsAtomText();
    if (what == "wordsize") return Term(std::int64_t{sizeof(void*)});  // internal, external
    if (what == "allocator_sizes") return MakeTerm(WriteAllocators);
  }
  return ItemOf(SystemItems(), node, item);
}

gen::Result<Term> Statistics(const gen::Node& node, const Term& item) {
  return ItemOf(StatisticsItems(), node, item);
}

gen::Result<Term> MemoryOf(const Term& kind) {
  const std::string name = kind.AsAtomText().value_or("");
  for (const Kind& known : KindsOfMemory()) {
    if (known.name == name) return Term(known.bytes);
  }
  return BadArgument();
}

Term Memory() {
  ListOfTerms kinds;
  for (const Kind& kind : KindsOfMemory()) kinds.AddInteger(kind.name, kind.bytes);
  return kinds.ToTerm();
}

void WriteWorkerTimes(TermWriter& writer, const gen::Node& node) {
  const gen::NodeInfo info = node.Info();
  writer.List(static_cast<std::size_t>(info.workers));
  const std::int64_t active = ProcessorTime() / std::max(info.workers, 1);
  for (int i = 1; i <= info.workers; ++i) {
    writer.Tuple(3);
    writer.Integer(i);
    writer.Integer(std::min<std::int64_t>(active, info.uptime.count()));
    writer.Integer(info.uptime.count());
  }
  writer.Nil();
}

void WriteIo(TermWriter& writer) {
  const auto [read, written] = ReadAndWritten();
  writer.Tuple(2);
  writer.Tuple(2);
  writer.Atom("input");
  writer.Unsigned(read);
  writer.Tuple(2);
  writer.Atom("output");
  writer.Unsigned(written);
}

Term SysInfo(const gen::Node& node) {
  const auto [read, written] = ReadAndWritten();
  ListOfTerms items;
  items.AddInteger("uptime", Milliseconds(node.Info().uptime));
  items.Pair("run_queue").Unsigned(node.Info().ready);
  items.Pair("io_input").Unsigned(read);
  items.Pair("io_output").Unsigned(written);
  items.Pair("wordsize_internal").Integer(sizeof(void*));
  items.Pair("wordsize_external").Integer(sizeof(void*));
  items.Pair("schedulers_available").Integer(node.Info().workers);
  TermWriter allocators = items.Pair("alloc_info");
  WriteAllocators(allocators);
  for (const char* name :
       {"logical_processors", "logical_processors_online", "logical_processors_available",
        "schedulers", "schedulers_online", "otp_release", "version", "system_architecture",
        "kernel_poll", "smp_support", "threads", "thread_pool_size", "process_count",
        "process_limit"}) {
    items.Pair(name).Raw(SystemInfo(node, Term::Atom(name)).value().raw());
  }
  for (const Kind& kind : KindsOfMemory()) items.AddInteger(kind.name, kind.bytes);
  return items.ToTerm();
}

void WriteTimestamp(TermWriter& writer) {
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  writer.Tuple(3);
  writer.Integer(now / 1'000'000'000'000);
  writer.Integer(now / 1'000'000 % 1'000'000);
  writer.Integer(now % 1'000'000);
}

}  // namespace ergon::dist
