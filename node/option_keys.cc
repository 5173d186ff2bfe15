#include <ergon/node/option_keys.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/options/log_level_keys.h>
#include <ergon/node/options/nearest.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/options/option_text.h>
#include <ergon/node/options/pool_keys.h>

namespace ergon::node {
namespace {

using gen::NodeOptions;

// What a value looks like is told by its type.
constexpr std::string_view ValueOf(int) { return "NUMBER"; }
constexpr std::string_view ValueOf(std::uint32_t) { return "NUMBER"; }
constexpr std::string_view ValueOf(std::size_t) { return "SIZE"; }
constexpr std::string_view ValueOf(bool) { return "true|false"; }
constexpr std::string_view ValueOf(std::chrono::nanoseconds) { return "TIME"; }
constexpr std::string_view ValueOf(gen::DispatcherPolicy) { return "POLICY"; }
constexpr std::string_view ValueOf(gen::LogLevel) { return "LEVEL"; }
constexpr std::string_view ValueOf(gen::LogFormat) { return "text|json"; }

struct Field {
  const char* (*set)(NodeOptions& options, std::string_view text);
  std::string (*get)(const NodeOptions& options);
};

struct Entry {
  OptionKey key;
  Field field;
};

template <auto kAccess>
constexpr Entry MakeEntry(std::string_view name, std::string_view help) {
  using Value = std::remove_cvref_t<decltype(kAccess(std::declval<NodeOptions&>()))>;
  return {{name, ValueOf(Value{}), help},
          {[](NodeOptions& options, std::string_view text) {
             return ParseOption(text, kAccess(options));
           },
           [](const NodeOptions& options) {
             return FormatOption(kAccess(const_cast<NodeOptions&>(options)));
           }}};
}

// The table. The lambdas name the fields; everything else follows from their types.
#define ERGON_OPTION(field, help)                                          \
  MakeEntry < [](NodeOptions & options) -> auto& { return options.field; } \
  > (#field, help)

constexpr std::array kEntries = {
    ERGON_OPTION(workers, "threads that run processes, 2..1024; 0: one per core"),
    ERGON_OPTION(policy, "how work is shared: work-stealing or work-sharing"),
    ERGON_OPTION(throughput, "messages a process may handle in a turn, 1..4096"),
    ERGON_OPTION(turn_time, "how long a turn may go on beyond that, 0..1s"),
    ERGON_OPTION(turn_limit, "a turn that has lasted so long ends, 0..1s; 0: no limit"),
    ERGON_OPTION(handler_stack_bytes, "the stack of a handler, 16KiB..1GiB"),
    ERGON_OPTION(search_time, "how long a worker looks for work before it sleeps, 0..1s"),
    ERGON_OPTION(stealing.aggressive.attempts, "looks for work at first; 0: see search_time"),
    ERGON_OPTION(stealing.aggressive.pause, "pause before each of them, 0..1s"),
    ERGON_OPTION(stealing.moderate.attempts, "looks for work after that"),
    ERGON_OPTION(stealing.moderate.pause, "pause before each of them, 0..1s"),
    ERGON_OPTION(stealing.relaxed.attempts, "looks for work before the worker sleeps"),
    ERGON_OPTION(stealing.relaxed.pause, "pause before each of them, 0..1s"),
    ERGON_OPTION(blocking_threads, "threads that stand in for blocked workers, 0..1024"),
    ERGON_OPTION(watchdog_after, "a longer turn is reported, at least 1ms; 0: never"),
    ERGON_OPTION(measure_running_time, "measure how long each process runs"),
    ERGON_OPTION(measure_latency,
                 "measure waits of messages, calls and handlers, for the observer"),
    ERGON_OPTION(dump_on_sigquit, "on SIGQUIT, write what all processes do to standard error"),
    ERGON_OPTION(stop_on_signal, "SIGINT and SIGTERM stop the node, whoever waits for it"),
    ERGON_OPTION(mailbox_size, "messages that may wait for a process, if it does not say; 0: any"),
    ERGON_OPTION(log_level, "lowest level of log lines"),
    ERGON_OPTION(log_format, "what log lines look like: text, or objects of JSON"),
    ERGON_OPTION(log_burst, "log lines a second of a name or behaviour and level; 0: any number"),
    ERGON_OPTION(drops_remembered, "dropped messages that are remembered, 0..4096"),
    ERGON_OPTION(shutdown_timeout, "how long processes may take to end in order, or infinite"),
    ERGON_OPTION(shutdown_deadline, "a node that has not ended then ends the program; 0: never"),
    ERGON_OPTION(creation, "tells incarnations of the node apart, 4 or more; 0: chosen"),
};
#undef ERGON_OPTION

constexpr auto kKeys = [] {
  std::array<OptionKey, kEntries.size()> keys{};
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = kEntries[i].key;
  return keys;
}();

const Entry* FindEntry(std::string_view key) {
  const auto* found = std::find_if(kEntries.begin(), kEntries.end(),
                                   [key](const Entry& entry) { return entry.key.name == key; });
  return found == kEntries.end() ? nullptr : found;
}

}  // namespace

std::span<const OptionKey> OptionKeys() { return kKeys; }

gen::Result<void> SetOption(NodeOptions& options, std::string_view key, std::string_view text) {
  if (IsPoolKey(key)) return SetPoolOption(options.pools, key, text);
  if (IsLogLevelKey(key)) return SetLogLevelOption(options.log_levels, key, text);
  const Entry* const entry = FindEntry(key);
  if (entry == nullptr) {
    return Incorrect(
        fmt::format("{}: unknown, the nearest is {}", key,
                    Nearest(key, kKeys, [](const OptionKey& known) { return known.name; })));
  }
  // Alone: what else may be wrong with the options is not this key's fault.
  NodeOptions alone;
  alone.shutdown_timeout = {};  // the least, with which shutdown_deadline goes
  if (const char* wanted = entry->field.set(alone, text)) {
    return Incorrect(fmt::format("{}: \"{}\", must be {}", key, text, wanted));
  }
  auto checked = CheckOptions(alone);
  if (!checked) return checked;
  (void)entry->field.set(options, text);
  return {};
}

std::string OptionText(const NodeOptions& options, std::string_view key) {
  if (IsPoolKey(key)) return PoolOptionText(options.pools, key);
  if (IsLogLevelKey(key)) return LogLevelOptionText(options.log_levels, key);
  const Entry* const entry = FindEntry(key);
  return entry == nullptr ? std::string() : entry->field.get(options);
}

}  // namespace ergon::node
