#include <ergon/node/recording/recorded_event.h>

#include <ergon/node/diagnosis/for_people.h>
#include <ergon/node/texts/json_writer.h>

namespace ergon::node {
namespace {

using Kind = RecordedEvent::Kind;

constexpr int kThreads = 1;  // groups: what the format calls processes
constexpr int kProcesses = 2;

std::string NameOf(const RecordedEvent& event) {
  switch (event.kind) {
    case Kind::kTurn:
      return *event.label;
    case Kind::kAwaitsAnswer:
      return "awaits the answer to " + TypeForPeople(event.type);
    case Kind::kWaits:
      return "sleeps, or waits";
    case Kind::kGivesWay:
      return "gives way, or blocks";
    case Kind::kSends:
      return "sends " + TypeForPeople(event.type);
    case Kind::kCalls:
      return "calls " + TypeForPeople(event.type);
    default:
      return event.type == nullptr ? "runs" : TypeForPeople(event.type);
  }
}

const char* CategoryOf(const RecordedEvent& event) {
  if (event.kind == Kind::kTurn) return "turn";
  if (event.IsMoment()) return "sends";
  return event.kind == Kind::kHandles ? "handles" : "waits";
}

std::string NameJson(std::string_view what, int group, std::int64_t track, std::string_view name) {
  JsonWriter json;
  json.Put("name", what);
  json.Put("ph", std::string_view("M"));
  json.Put("pid", group);
  json.Put("tid", track);
  json.Begin("args");
  json.Put("name", name);
  json.End();
  return json.Take();
}

void PutArguments(JsonWriter& json, const RecordedEvent& event) {
  json.Begin("args");
  if (event.type != nullptr) json.Put("message", std::string_view(TypeForPeople(event.type)));
  if (event.kind == Kind::kAwaitsAnswer) {
    json.Put("of", event.to ? std::string_view(event.to.ToString())
                            : std::string_view("a process of another node"));
  }
  if (event.IsMoment()) {
    json.Put("to", event.to ? std::string_view(event.to.ToString()) : std::string_view("a group"));
  }
  if (event.trace != 0) json.Put("trace", std::string_view(gen::TraceText(event.trace)));
  json.End();
}

}  // namespace

std::string TraceEventJson(const RecordedEvent& event, std::int64_t origin) {
  if (event.kind == Kind::kThread) {
    return NameJson("thread_name", kThreads, event.thread, *event.label);
  }
  if (event.kind == Kind::kProcess) {
    return NameJson("thread_name", kProcesses, event.process, *event.label);
  }
  constexpr double kMicrosecond = 1000;
  const bool of_thread = event.kind == Kind::kTurn;
  JsonWriter json;
  json.Put("name", std::string_view(NameOf(event)));
  json.Put("cat", std::string_view(CategoryOf(event)));
  json.Put("ph", std::string_view(event.IsMoment() ? "i" : "X"));
  if (event.IsMoment()) json.Put("s", std::string_view("t"));  // it belongs to its track
  json.Put("pid", of_thread ? kThreads : kProcesses);
  json.Put("tid", of_thread ? std::int64_t{event.thread} : std::int64_t{event.process});
  json.Put("ts", static_cast<double>(event.begin - origin) / kMicrosecond);
  if (!event.IsMoment()) {
    json.Put("dur", static_cast<double>(event.end - event.begin) / kMicrosecond);
  }
  PutArguments(json, event);
  return json.Take();
}

std::string GroupJson(bool of_processes, const std::string& name) {
  return NameJson("process_name", of_processes ? kProcesses : kThreads, 0, name);
}

}  // namespace ergon::node
