#include <ergon/node/runtime/changes.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <ergon/gen/blocking.h>
#include <ergon/gen/factory.h>
#include <ergon/gen/process.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/option_keys.h>
#include <ergon/node/options/log_level_keys.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/options/pool_keys.h>
#include <ergon/node/options_file.h>
#include <ergon/node/process_state/mailbox_size.h>

namespace ergon::node {
namespace {

constexpr std::array<std::string_view, 2> kChangeable = {"mailbox_size", "log_level"};

constexpr std::chrono::milliseconds kReadAgainAfter(
    10);  // before the file is read after somebody else

gen::Result<void> CheckMailboxSize(int messages) {
  gen::NodeOptions options;
  options.mailbox_size = messages;
  return CheckOptions(options);
}

}  // namespace

gen::Error NoNetworkFor(const gen::NetworkOption& option) {
  return Incorrect(
      fmt::format("{}: network.{}: given, but the node has no network", option.where, option.key));
}

gen::Result<void> Changes::Change(const gen::NodeChange& change) {
  gen::NodeOptions given;
  given.log_level = change.log_level.value_or(given.log_level);
  given.mailbox_size = change.mailbox_size.value_or(given.mailbox_size);
  given.log_levels = change.log_levels;
  auto checked = CheckOptions(given);
  if (!checked) return checked;
  std::lock_guard lock(mutex_);
  gen::NodeOptions options = Now();
  options.log_level = change.log_level.value_or(options.log_level);
  options.mailbox_size = change.mailbox_size.value_or(options.mailbox_size);
  Apply(options);
  levels_.Apply(change.log_levels);
  return {};
}

gen::NodeOptions Changes::Now() const {
  gen::NodeOptions options = needs_.options;
  options.log_level = needs_.log.Level();
  options.mailbox_size = static_cast<int>(mailbox_size_.load(std::memory_order_relaxed));
  return options;
}

void Changes::Apply(const gen::NodeOptions& options) {
  const gen::NodeOptions before = Now();
  // One that is off says so before.
  if (options.log_level != gen::LogLevel::kOff) needs_.log.SetLevel(options.log_level);
  mailbox_size_.store(static_cast<std::uint32_t>(options.mailbox_size), std::memory_order_relaxed);
  for (const std::string_view key : kChangeable) {
    const std::string value = OptionText(options, key);
    const std::string was = OptionText(before, key);
    if (value != was) needs_.log.TellChange(key, value, was);
  }
  needs_.log.SetLevel(options.log_level);
}

// ---- processes

gen::Result<ProcessSlot*> Changes::FindProcess(const gen::Target& to, gen::PID& pid) const {
  auto found = needs_.addresses.Resolve(to);
  if (!found) return std::move(found.error());
  pid = *found;
  ProcessSlot* const process = needs_.addresses.Find(pid);
  if (process == nullptr) return needs_.addresses.WhyUnreachable(pid);
  return process;
}

gen::Result<void> Changes::SetProcessLogLevel(const gen::Target& to,
                                              std::optional<gen::LogLevel> level) {
  auto checked = CheckLogLevel(level.value_or(gen::LogLevel::kOff));
  if (!checked) return checked;
  gen::PID pid;
  auto process = FindProcess(to, pid);
  if (!process) return std::move(process.error());
  std::uint8_t before = 0;
  const std::uint8_t after = level ? static_cast<std::uint8_t>(*level) : ProcessSlot::kNodeLogLevel;
  {
    ProcessCold& cold = (*process)->Cold();
    std::lock_guard lock(cold.lock);
    if (!(*process)->IsStill(pid)) return gen::ErrProcessTerminated;
    before = (*process)->own_log_level().exchange(after, std::memory_order_relaxed);
  }
  if (after == before) return {};
  needs_.log.TellChange(AsInItsLines(needs_.addresses, pid) + ": log_level", LevelText(after),
                        LevelText(before));
  return {};
}

gen::Result<std::uint32_t> Changes::SetBound(ProcessSlot& process, gen::PID pid,
                                             int messages) const {
  ProcessCold& cold = process.Cold();
  std::lock_guard lock(cold.lock);
  if (!process.IsStill(pid)) return gen::ErrProcessTerminated;
  if (process.is_worker()) {
    return gen::Error(
        gen::ErrorCode::kNotAllowed,
        "mailbox_size: the process is a worker; change worker_mailbox_size of its pool");
  }
  const auto before = SetMailboxSize(process, static_cast<std::uint32_t>(messages));
  if (before) return *before;
  return gen::Error(gen::ErrorCode::kUnsupported,
                    fmt::format("mailbox_size: {}, but its mailbox is custom: a MailboxQueue of "
                                "the program's, which alone knows its bound",
                                messages));
}

gen::Result<void> Changes::SetProcessMailboxSize(const gen::Target& to, int messages) {
  auto checked = CheckMailboxSize(messages);
  if (!checked) return checked;
  gen::PID pid;
  auto process = FindProcess(to, pid);
  if (!process) return std::move(process.error());
  if ((*process)->IsPool()) {
    return gen::Error(gen::ErrorCode::kUnsupported,
                      "mailbox_size: the process is a pool; change its worker_mailbox_size");
  }
  auto before = SetBound(**process, pid, messages);
  if (!before) return std::move(before.error());
  const auto after = static_cast<std::uint32_t>(messages);
  if (*before == after) return {};
  needs_.log.TellChange(AsInItsLines(needs_.addresses, pid) + ": mailbox_size",
                        std::to_string(after), std::to_string(*before));
  needs_.back_pressure.ServeMore(**process);
  return {};
}

// ---- the file

gen::Result<gen::NodeOptions> Changes::Read(const gen::NodeOptions& now) const {
  const std::string& file = needs_.options.options_file;
  auto read = [&] {
    const gen::Blocking reads;
    return LoadOptions(file, now);
  }();
  if (!read) return read;
  for (const std::string& key : needs_.options.overridden_options) {
    std::string value = OptionText(now, key);
    if (value.empty()) value = OptionText(needs_.options, key);  // of a pool or a behaviour
    auto set = SetOption(*read, key, value);
    if (!set) return Incorrect(fmt::format("overridden_options: {}", set.error().detail()));
    // Others may have changed it since the start: what the file does not say is not changed.
    if (IsPoolKey(key)) ForgetPoolOption(read->pools, key);
    if (IsLogLevelKey(key)) ForgetLogLevelOption(read->log_levels, key);
  }
  for (const OptionKey& key : OptionKeys()) {
    const std::string value = OptionText(*read, key.name);
    const std::string before = OptionText(now, key.name);
    if (value == before || std::ranges::find(kChangeable, key.name) != kChangeable.end()) continue;
    return Incorrect(
        fmt::format("{}: {}: {}, but it is {}, and cannot be changed while the node runs", file,
                    key.name, value, before));
  }
  auto checked = CheckOptions(*read);
  if (!checked) return std::move(checked.error());
  return read;
}

gen::Result<std::function<void()>> Changes::PrepareNetwork(
    const std::vector<gen::NetworkOption>& options) const {
  if (options.empty()) return std::function<void()>([] {});
  Transport* const transport = needs_.transport.Get();
  if (transport == nullptr && needs_.options.network == nullptr)
    return NoNetworkFor(options.front());
  if (transport == nullptr) return gen::Error(gen::ErrorCode::kBusy, "network: it is being opened");
  return transport->PrepareChange(options);
}

gen::Result<void> Changes::Reload(gen::Messenger& asks) {
  const std::string& file = needs_.options.options_file;
  if (file.empty()) {
    return gen::Error(gen::ErrorCode::kNotAllowed, "options_file: none was given");
  }
  if (reloading_.exchange(true, std::memory_order_acquire)) {
    return gen::Error(gen::ErrorCode::kBusy, fmt::format("{}: it is being read just now", file));
  }
  const std::unique_ptr<std::atomic<bool>, void (*)(std::atomic<bool>*)> until_done(
      &reloading_,
      [](std::atomic<bool>* reloading) { reloading->store(false, std::memory_order_release); });
  gen::NodeOptions now;
  {
    std::lock_guard lock(mutex_);
    now = Now();
  }
  now.pools.clear();  // only what the file says is changed
  now.log_levels.clear();
  now.network_options.clear();
  now.environment.clear();
  auto read = Read(now);
  if (!read) return std::move(read.error());
  auto network = PrepareNetwork(read->network_options);
  if (!network) return std::move(network.error());
  auto changed = pools_.Apply(asks, read->pools);
  if (!changed) {
    const gen::Error& error = changed.error();
    return gen::Error(error.code(), fmt::format("{}: {}", file, error.detail()));
  }
  (*network)();
  std::lock_guard lock(mutex_);
  gen::NodeOptions options = Now();  // others may have changed what the file does not
  if (read->log_level != now.log_level) options.log_level = read->log_level;
  if (read->mailbox_size != now.mailbox_size) options.mailbox_size = read->mailbox_size;
  Apply(options);
  levels_.Apply(read->log_levels);
  for (auto& [name, value] : read->environment) needs_.environment.Set(name, std::move(value));
  return {};
}

void Changes::ReloadAndTell() {
  const gen::ProcessFactory reads([this](gen::Process& self) {
    auto reloaded = Reload(self);
    while (!reloaded && reloaded.error() == gen::ErrBusy && self.Sleep(kReadAgainAfter)) {
      reloaded = Reload(self);
    }
    if (reloaded) {
      gen::Log(needs_.log).Info("SIGHUP: {} was read", needs_.options.options_file);
    } else {
      gen::Log(needs_.log).Error("SIGHUP: no option was changed: {}", reloaded.error().detail());
    }
  });
  // The thread of the signals is that of the timers, and must not wait.
  auto started = needs_.spawning.StartInBackground(
      {.factory = reads,
       .options = {.init_timeout = gen::kInfinite},  // however long it waits for a worker
       .args = {},
       .parent = needs_.addresses.NodePid()},
      [](const gen::Result<void>&) {});
  if (!started) {
    gen::Log(needs_.log).Error("SIGHUP: no option was changed: {}", started.error());
  }
}

}  // namespace ergon::node
