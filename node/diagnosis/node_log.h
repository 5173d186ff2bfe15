// The log of a node: lines of its own begin with its name.
#pragma once

#include <atomic>
#include <string_view>

#include <fmt/core.h>

#include <ergon/gen/atom.h>
#include <ergon/gen/log.h>
#include <ergon/node/diagnosis/logging.h>

namespace ergon::node {

// Any thread.
class NodeLog final : public gen::LogSink {
 public:
  NodeLog(gen::Atom node, gen::LogLevel level, Logging::Sink sink)
      : node_(node), level_(level), logging_(std::move(sink)) {}

  [[nodiscard]] gen::LogLevel Level() const override {
    return level_.load(std::memory_order_relaxed);
  }
  void SetLevel(gen::LogLevel level) noexcept { level_.store(level, std::memory_order_relaxed); }
  void Write(gen::LogLevel level, std::string_view text) override {
    logging_.Write(level, fmt::format("{}: {}", node_, text));
  }
  // What was changed while the node runs: whatever the level, unless that is off.
  void TellChange(std::string_view what, std::string_view value, std::string_view before) {
    if (Level() == gen::LogLevel::kOff) return;
    Write(gen::LogLevel::kInfo, fmt::format("{}: {}, was {}", what, value, before));
  }
  // A line of a process, which says whose it is.
  void WriteLine(gen::LogLevel level, std::string_view line) { logging_.Write(level, line); }

 private:
  const gen::Atom node_;
  std::atomic<gen::LogLevel> level_;
  Logging logging_;
};

}  // namespace ergon::node
