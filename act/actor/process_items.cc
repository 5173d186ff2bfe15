#include <ergon/act/actor/process_items.h>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <ergon/gen/environment.h>
#include <ergon/gen/node.h>
#include <ergon/gen/process_info.h>

namespace ergon::act {
namespace {

constexpr std::size_t kMostListed = 100;

std::string TextOf(const auto& one) { return one.ToString(); }
// Not the values: these may be secrets, and who may ask a process sees this.
std::string TextOf(const gen::Environment::value_type& value) { return value.first; }

template <class List>
std::string Joined(const List& list) {
  std::string text;
  std::size_t listed = 0;
  for (const auto& one : list) {
    if (listed == kMostListed) return fmt::format("{} and {} more", text, list.size() - listed);
    text += (text.empty() ? "" : ", ") + TextOf(one);
    ++listed;
  }
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
  put_text("handles", info.handles);
  put("messages_queued", info.messages_queued);
  put("messages_handled", info.messages_handled);
  put("messages_dropped", info.messages_dropped);
  put("messages_overflowed", info.messages_overflowed);
  put("messages_held", info.messages_held);
  put("messages_sent", info.messages_sent);
  put("mailbox_size", info.mailbox_size);
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
  put_text("environment", Joined(info.environment));
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
