#include <ergon/act/actor/process_items.h>

#include <chrono>
#include <stdexcept>
#include <string>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <ergon/gen/node.h>
#include <ergon/gen/process_info.h>

namespace ergon::act {
namespace {

template <class List>
std::string Joined(const List& list) {
  std::string text;
  for (const auto& one : list) text += (text.empty() ? "" : ", ") + one.ToString();
  return text;
}

std::int64_t Milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

gen::Inspection Texts(const gen::ProcessInfo& info) {
  gen::Inspection all;
  const auto put = [&all](const char* key, const auto& value) {
    all.insert_or_assign(key, fmt::format("{}", value));
  };
  const auto put_text = [&all](const char* key, std::string text) {
    if (!text.empty()) all.insert_or_assign(key, std::move(text));
  };
  put("pid", info.pid);
  put_text("name", info.name.ToString());
  put("behavior", info.behavior);
  put("leader", info.leader);
  put("parent", info.parent);
  put("state", gen::ToString(info.state));
  put("messages_queued", info.messages_queued);
  put("messages_handled", info.messages_handled);
  put("messages_dropped", info.messages_dropped);
  put("messages_overflowed", info.messages_overflowed);
  put("messages_held", info.messages_held);
  put("messages_sent", info.messages_sent);
  put_text("mailbox", info.mailbox);
  put("suspended", info.suspended);
  put("trap_exit", info.trap_exit);
  put("detached", info.detached);
  put("log_level", gen::ToString(info.log_level));
  put_text("application", info.application.ToString());
  put("uptime_ms", Milliseconds(info.uptime));
  if (info.turns != 0) {  // they are measured
    put("running_time_ms", Milliseconds(info.running_time));
    put("turns", info.turns);
  }
  put_text("links", Joined(info.links));
  put_text("monitors", Joined(info.monitors));
  put_text("monitored_by", Joined(info.monitored_by));
  put_text("aliases", Joined(info.aliases));
  put_text("events", Joined(info.events));
  put_text("subscriptions", Joined(info.subscriptions));
  put_text("groups", Joined(info.groups));
  return all;
}

}  // namespace

gen::Inspection ProcessItems(const gen::ProcessHost& host) {
  try {
    const auto info = host.Node().ProcessInfo(host.Self());
    return info ? Texts(*info) : gen::Inspection();
  } catch (const std::logic_error&) {  // there is no node
    return {};
  }
}

}  // namespace ergon::act
