#include <ergon/node/cluster/tools/process_answers.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ergon::dist {
namespace {

using Info = gen::ProcessInfo;

void WritePids(TermWriter& writer, const std::vector<gen::PID>& pids) {
  writer.List(pids.size());
  for (const gen::PID pid : pids) writer.Pid(pid);
  writer.Nil();
}

std::string_view StatusOf(const Info& info) {
  if (info.suspended) return "suspended";
  switch (info.state) {
    case gen::ProcessState::kIdle:
    case gen::ProcessState::kWaiting:
      return "waiting";
    case gen::ProcessState::kReady:
      return "runnable";
    case gen::ProcessState::kTerminating:
      return "exiting";
    case gen::ProcessState::kStarting:
    case gen::ProcessState::kRunning:
      break;
  }
  return "running";
}

// Writes what Erlang has no item for.
void WriteDictionary(TermWriter& writer, const Info& info) {
  ListOfTerms entries;
  TermWriter call = entries.Pair("$initial_call");
  WriteInitialCall(call, info);
  TermWriter ancestors = entries.Pair("$ancestors");
  WritePids(ancestors, {info.parent});
  entries.Pair("behavior").Binary(info.behavior);
  entries.AddAtom("state", gen::ToString(info.state));
  entries.Pair("handles").Binary(info.handles);
  entries.Pair("mailbox").Binary(info.mailbox);
  entries.Pair("messages_sent").Unsigned(info.messages_sent);
  entries.Pair("messages_held").Unsigned(info.messages_held);
  entries.Pair("messages_dropped").Unsigned(info.messages_dropped);
  entries.Pair("messages_overflowed").Unsigned(info.messages_overflowed);
  entries.AddInteger("uptime_ms",
                     std::chrono::duration_cast<std::chrono::milliseconds>(info.uptime).count());
  if (info.turns != 0) {
    entries.AddInteger(
        "running_time_us",
        std::chrono::duration_cast<std::chrono::microseconds>(info.running_time).count());
  }
  if (!info.application.empty()) {
    TermWriter application = entries.Pair("application");
    WriteName(application, info.application.Text());
  }
  entries.Write(writer);
}

// The elements of {Module, Function, Arity}.
void WriteCurrentCall(TermWriter& writer, const Info& info) {
  const bool handles = !info.handles.empty();
  WriteName(writer, ShortName(info.behavior));
  WriteName(writer, handles ? ShortName(info.handles) : "idle");
  writer.Integer(handles ? 1 : 0);
}

void WriteStack(TermWriter& writer, const Info& info) {
  writer.List(1);
  writer.Tuple(4);
  WriteCurrentCall(writer, info);
  writer.Nil();
  writer.Nil();
}

void WriteMonitors(TermWriter& writer, const Info& info) {
  writer.List(info.monitors.size());
  for (const gen::PID pid : info.monitors) {
    writer.Tuple(2);
    writer.Atom("process");
    writer.Pid(pid);
  }
  writer.Nil();
}

// Items that Ergon does not have, but that tools expect.
void WriteGarbageCollection(TermWriter& writer, const Info&) {
  ListOfTerms entries;
  for (const char* key :
       {"max_heap_size", "min_bin_vheap_size", "min_heap_size", "fullsweep_after", "minor_gcs"}) {
    entries.AddInteger(key, 0);
  }
  entries.Write(writer);
}
void WriteZero(TermWriter& writer, const Info&) { writer.Integer(0); }
void WriteNothing(TermWriter& writer, const Info&) { writer.Nil(); }
void WriteUndefined(TermWriter& writer, const Info&) { writer.Atom("undefined"); }

struct Item {
  std::string_view name;
  void (*write)(TermWriter& writer, const Info& info);
  bool is_usual = false;  // of process_info/1
};

constexpr bool kUsual = true;

const std::vector<Item>& Items() {
  static const std::vector<Item> items = {
      {"registered_name", [](TermWriter& w, const Info& i) { WriteName(w, i.name.Text()); },
       kUsual},
      {"current_function", WriteCurrentFunction, kUsual},
      {"initial_call", WriteInitialCall, kUsual},
      {"status", [](TermWriter& w, const Info& i) { w.Atom(StatusOf(i)); }, kUsual},
      {"message_queue_len", [](TermWriter& w, const Info& i) { w.Unsigned(i.messages_queued); },
       kUsual},
      {"links", [](TermWriter& w, const Info& i) { WritePids(w, i.links); }, kUsual},
      {"dictionary", WriteDictionary, kUsual},
      {"trap_exit", [](TermWriter& w, const Info& i) { w.Boolean(i.trap_exit); }, kUsual},
      {"error_handler", WriteUndefined, kUsual},
      {"priority", [](TermWriter& w, const Info&) { w.Atom("normal"); }, kUsual},
      {"group_leader", [](TermWriter& w, const Info& i) { w.Pid(i.leader); }, kUsual},
      {"total_heap_size", WriteZero, kUsual},
      {"heap_size", WriteZero, kUsual},
      {"stack_size", WriteZero, kUsual},
      {"reductions", [](TermWriter& w, const Info& i) { w.Unsigned(i.messages_handled); }, kUsual},
      {"garbage_collection", WriteGarbageCollection, kUsual},
      {"suspending", WriteNothing, kUsual},
      // Only process_info/2 tells these.
      {"parent", [](TermWriter& w, const Info& i) { w.Pid(i.parent); }},
      {"monitors", WriteMonitors},
      {"monitored_by", [](TermWriter& w, const Info& i) { WritePids(w, i.monitored_by); }},
      {"current_stacktrace", WriteStack},
      {"messages", WriteNothing},  // they are not shown
      {"memory", WriteZero},       // not known
      {"binary", WriteNothing},
      {"backtrace", [](TermWriter& w, const Info&) { w.Binary({}); }},
      {"catchlevel", WriteZero},
      {"trace", WriteZero},
      {"last_calls", [](TermWriter& w, const Info&) { w.Boolean(false); }},
      {"sequential_trace_token", WriteNothing},
      {"garbage_collection_info", WriteGarbageCollection},
      {"message_queue_data", [](TermWriter& w, const Info&) { w.Atom("off_heap"); }},
      {"min_heap_size", WriteZero},
      {"min_bin_vheap_size", WriteZero},
      {"label", WriteUndefined},
  };
  return items;
}

}  // namespace

void WriteInitialCall(TermWriter& writer, const gen::ProcessInfo& info) {
  WriteCall(writer, ShortName(info.behavior), "init", 1);
}

void WriteCurrentFunction(TermWriter& writer, const gen::ProcessInfo& info) {
  writer.Tuple(3);
  WriteCurrentCall(writer, info);
}

void WriteEtopProcess(TermWriter& writer, const gen::ProcessInfo& info) {
  writer.Tuple(8);
  writer.Atom("etop_proc_info");
  writer.Pid(info.pid);
  writer.Integer(0);  // its memory, which is not known
  writer.Unsigned(info.messages_handled);
  if (info.name.empty()) {
    WriteInitialCall(writer, info);
  } else {
    WriteName(writer, info.name.Text());
  }
  writer.Integer(0);  // its running time, which only tracing tells
  WriteCurrentFunction(writer, info);
  writer.Unsigned(info.messages_queued);
}

bool WriteProcessItem(TermWriter& writer, const gen::ProcessInfo& info, const Term& item,
                      bool is_one_of_several) {
  // {dictionary, Key}, as of OTP 26.2: no process has one of its own.
  if (item.kind() == Term::Kind::kTuple && item.size() == 2 &&
      item[0].AsAtomText() == "dictionary") {
    writer.Tuple(2);
    writer.Raw(item.raw());
    writer.Atom("undefined");
    return true;
  }
  const std::string name = item.AsAtomText().value_or("");
  const auto found = std::ranges::find(Items(), name, &Item::name);
  if (found == Items().end()) return false;
  const bool is_nameless = name == "registered_name" && info.name.empty();
  if (is_nameless && !is_one_of_several) {
    writer.Nil();
    return true;
  }
  writer.Tuple(2);
  writer.Atom(name);
  if (is_nameless) {
    writer.Nil();
  } else {
    found->write(writer, info);
  }
  return true;
}

Term UsualProcessItems(const gen::ProcessInfo& info) {
  ListOfTerms items;
  for (const Item& item : Items()) {
    if (!item.is_usual || (item.name == "registered_name" && info.name.empty())) continue;
    TermWriter writer = items.Pair(item.name);
    item.write(writer, info);
  }
  return items.ToTerm();
}

}  // namespace ergon::dist
