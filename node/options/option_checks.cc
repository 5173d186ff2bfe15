#include <ergon/node/options/option_checks.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/core/hook_chain.h>
#include <ergon/core/messages/mailbox_bound.h>
#include <ergon/node/delivery/drop_memory.h>
#include <ergon/node/diagnosis/turn_meter.h>
#include <ergon/node/erlang/archive.h>

namespace ergon::node {
namespace {

constexpr int kMaxBlockingThreads = 1024;
constexpr std::chrono::milliseconds kMinWatchdog(1);

bool IsSpaceOrControl(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return code <= 0x20 || code == 0x7f;
}

// In quotes, with control characters as in "\x0a", so that the text stays on one line.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char byte : text) {
    if (byte != ' ' && IsSpaceOrControl(byte)) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    } else {
      quoted += byte;
    }
  }
  return quoted + '"';
}

}  // namespace

gen::Error Incorrect(std::string text) {
  return gen::Error(gen::ErrorCode::kIncorrect, std::move(text));
}

core::DispatcherOptions DispatcherOptionsOf(const gen::NodeOptions& options) {
  core::DispatcherOptions result;
  result.workers = options.workers;
  result.throughput = options.throughput;
  result.turn_ns = options.turn_time.count();
  result.turn_limit_ns = options.turn_limit.count();
  result.fiber_stack_bytes = options.handler_stack_bytes;
  result.search_ns = options.search_time.count();
  result.stealing = options.stealing;
  result.hooks = options.hooks;
  if (options.measure_running_time) {
    auto meter = std::make_shared<TurnMeter>();
    if (options.hooks == nullptr) {
      result.hooks = std::move(meter);
    } else {
      // The user's own time in hooks is no process's.
      result.hooks = std::make_shared<core::HookChain>(
          std::vector<std::shared_ptr<core::DispatcherHooks>>{options.hooks, std::move(meter)});
    }
  }
  return result;
}

gen::Result<void> CheckNodeName(std::string_view name) {
  if (name.size() > gen::Atom::kMaxBytes) {
    return Incorrect(fmt::format("node name: {} bytes, at most {} are possible: {}...", name.size(),
                                 gen::Atom::kMaxBytes, Quoted(name.substr(0, 40))));
  }
  const std::size_t at = name.find('@');
  if (at == std::string_view::npos || at == 0 || at + 1 == name.size()) {
    return Incorrect(fmt::format("node name: {} is not of the form name@host", Quoted(name)));
  }
  if (std::any_of(name.begin(), name.end(), IsSpaceOrControl)) {
    return Incorrect(
        fmt::format("node name: {} contains a space or a control character", Quoted(name)));
  }
  return {};
}

gen::Result<void> CheckNotNegative(std::string_view name, std::chrono::nanoseconds value) {
  if (value >= std::chrono::nanoseconds::zero()) return {};
  return Incorrect(fmt::format("{}: {}, must not be negative", name, core::ExactTime(value)));
}

gen::Result<void> CheckLogLevel(gen::LogLevel level) {
  if (level <= gen::LogLevel::kOff) return {};
  return Incorrect(fmt::format("log_level: {}, must be a LogLevel", static_cast<int>(level)));
}

static gen::Result<void> CheckLog(const gen::NodeOptions& options) {
  constexpr int kMostLines = 1'000'000;
  if (options.log_burst < 0 || options.log_burst > kMostLines) {
    return Incorrect(fmt::format("log_burst: {} is outside 0..{}", options.log_burst, kMostLines));
  }
  if (options.log_format <= gen::LogFormat::kJson) return CheckLogLevel(options.log_level);
  return Incorrect(
      fmt::format("log_format: {}, must be a LogFormat", static_cast<int>(options.log_format)));
}

// NodeOptions::shutdown_deadline.
static gen::Result<void> CheckDeadline(const gen::NodeOptions& options) {
  const std::chrono::nanoseconds deadline = options.shutdown_deadline;
  if (deadline.count() == 0) return {};
  auto checked = CheckNotNegative("shutdown_deadline", deadline);
  if (!checked) return checked;
  if (options.clock != nullptr) {
    return Incorrect(fmt::format(
        "shutdown_deadline: {}, but a node with a clock of its own does not end the program",
        core::ExactTime(deadline)));
  }
  if (deadline > options.shutdown_timeout) return {};
  return Incorrect(
      fmt::format("shutdown_deadline: {}, must be more than shutdown_timeout, {} (0: none)",
                  core::ExactTime(deadline), core::ExactTime(options.shutdown_timeout)));
}

// What the options say of what has a name.
static gen::Result<void> CheckNamed(const gen::NodeOptions& options) {
  for (const auto& [name, change] : options.pools) {
    const std::string problem = change.Validate();
    if (!problem.empty()) return Incorrect(fmt::format("pools.{}.{}", name, problem));
  }
  for (const auto& [name, level] : options.log_levels) {
    if (name.empty()) return Incorrect("log_levels: the name of a behaviour is empty");
    if (!level || CheckLogLevel(*level)) continue;
    return Incorrect(
        fmt::format("log_levels.{}: {}, must be a LogLevel", name, static_cast<int>(*level)));
  }
  return {};
}

gen::Result<void> CheckOptions(const gen::NodeOptions& options) {
  if (options.workers == 1 || options.workers < 0) {
    return Incorrect(
        fmt::format("workers: {} is outside 2..1024 (0: one per core)", options.workers));
  }
  std::string problem = core::Dispatcher::Validate(DispatcherOptionsOf(options));
  // The dispatcher has its own names for these.
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"fiber_stack_bytes", "handler_stack_bytes"},
      {"turn_ns", "turn_time"},
      {"turn_limit_ns", "turn_limit"},
      {"search_ns", "search_time"}};
  for (const auto& [theirs, ours] : kNames) {
    if (problem.starts_with(theirs)) problem.replace(0, theirs.size(), ours);
  }
  if (!problem.empty()) return Incorrect(problem);
  if (options.measure_running_time && options.dispatcher != nullptr) {
    return Incorrect("measure_running_time: true, but the given dispatcher has hooks of its own");
  }
  if (options.blocking_threads < 0 || options.blocking_threads > kMaxBlockingThreads) {
    return Incorrect(fmt::format("blocking_threads: {} is outside 0..{}", options.blocking_threads,
                                 kMaxBlockingThreads));
  }
  if (options.watchdog_after.count() != 0 && options.watchdog_after < kMinWatchdog) {
    return Incorrect(fmt::format("watchdog_after: {}, must be at least {} (0: never)",
                                 core::ExactTime(options.watchdog_after),
                                 core::ExactTime(kMinWatchdog)));
  }
  if (options.creation != 0 && options.creation < 4) {
    return Incorrect(fmt::format("creation: {} is less than 4 (0: chosen)", options.creation));
  }
  if (options.timers != nullptr && options.clock == nullptr) {
    return Incorrect("timers: given without the clock they belong to");
  }
  if (options.dump_on_sigquit && options.clock != nullptr) {
    return Incorrect("dump_on_sigquit: true, but a node with a clock of its own has no signals");
  }
  if (options.stop_on_signal && options.clock != nullptr) {
    return Incorrect("stop_on_signal: true, but a node with a clock of its own has no signals");
  }
  if (options.mailbox_size < 0 || options.mailbox_size > static_cast<int>(core::kMaxMailboxBound)) {
    return Incorrect(fmt::format("mailbox_size: {} is outside 0..{}", options.mailbox_size,
                                 core::kMaxMailboxBound));
  }
  if (options.drops_remembered < 0 || options.drops_remembered > DropMemory::kMost) {
    return Incorrect(fmt::format("drops_remembered: {} is outside 0..{}", options.drops_remembered,
                                 DropMemory::kMost));
  }
  if (options.environment.contains({})) return Incorrect("environment: a name must not be empty");
  auto named = CheckNamed(options);
  if (!named) return named;
  for (const auto& type : options.types.All()) {
    if (!type->problem.empty()) return Incorrect("types: " + type->problem);
  }
  auto log = CheckLog(options);
  auto timeout = log ? CheckNotNegative("shutdown_timeout", options.shutdown_timeout) : log;
  return timeout ? CheckDeadline(options) : timeout;
}

gen::Result<void> CheckProcessOptions(const gen::ProcessOptions& options) {
  if (options.mailbox_size < 0 || options.mailbox_size > static_cast<int>(core::kMaxMailboxBound)) {
    return Incorrect(
        fmt::format("mailbox_size: {} is outside 1..{} (0: as NodeOptions::mailbox_size says)",
                    options.mailbox_size, core::kMaxMailboxBound));
  }
  if (options.mailbox_size != 0 && options.mailbox.IsChosen()) {
    return Incorrect(fmt::format("mailbox_size: {}, but mailbox is given too: {}",
                                 options.mailbox_size, options.mailbox.ToString()));
  }
  if (options.mailbox.IsChosen()) {
    std::string problem = options.mailbox.Validate();
    if (!problem.empty()) return Incorrect(std::move(problem));
  }
  if (!options.environment.empty() && options.environment.contains({})) {
    return Incorrect("environment: a name must not be empty");
  }
  if (options.init_timeout <= std::chrono::nanoseconds::zero()) {
    return Incorrect(fmt::format("init_timeout: {}, has to be more than 0 (kInfinite: no limit)",
                                 core::ExactTime(options.init_timeout)));
  }
  if (options.stash_size < 0) {
    return Incorrect(fmt::format("stash_size: {}, must not be negative", options.stash_size));
  }
  if (options.send_priority > gen::MessagePriority::kMax) {
    return Incorrect(fmt::format("send_priority: {}, must be a MessagePriority",
                                 static_cast<int>(options.send_priority)));
  }
  return options.log_level ? CheckLogLevel(*options.log_level) : gen::Result<void>();
}

}  // namespace ergon::node
