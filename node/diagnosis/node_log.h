// The log of a node.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include <ergon/gen/atom.h>
#include <ergon/gen/log.h>
#include <ergon/node/diagnosis/log_bursts.h>
#include <ergon/node/diagnosis/logging.h>

namespace ergon::node {

// Any thread.
class NodeLog final : public gen::LogSink {
 public:
  NodeLog(gen::Atom node, gen::LogLevel level, gen::LogFormat format, Logging::Sink sink,
          Logging::WallClock wall_clock)
      : node_(node), level_(level), logging_(format, std::move(sink), std::move(wall_clock)) {}

  // Limits the lines of processes; see LogBursts. Before anything is logged.
  void LimitBursts(int lines, core::TimerQueue& timers, const core::Clock& clock) {
    bursts_ = std::make_unique<LogBursts>(
        lines, timers, clock,
        [this](gen::LogLevel level, const std::string& text) { Write(level, text); });
  }
  // Returns how many lines were left out for that.
  [[nodiscard]] std::uint64_t left_out() const noexcept {
    return bursts_ == nullptr ? 0 : bursts_->left_out();
  }
  [[nodiscard]] gen::LogLevel Level() const override {
    return level_.load(std::memory_order_relaxed);
  }
  void SetLevel(gen::LogLevel level) noexcept { level_.store(level, std::memory_order_relaxed); }
  void Write(gen::LogLevel level, std::string_view text) override {
    logging_.Write({.level = level, .text = text, .node = node_});
  }
  // Logs what was changed while the node runs, whatever the level, unless that is off.
  void TellChange(std::string_view what, std::string_view value, std::string_view before) {
    if (Level() == gen::LogLevel::kOff) return;
    Write(gen::LogLevel::kInfo, fmt::format("{}: {}, was {}", what, value, before));
  }
  // Returns false if a line of a process with this name, behaviour and level has to be left out.
  [[nodiscard]] bool Admits(const LogRecord& record) {
    return bursts_ == nullptr || bursts_->Admit(record);
  }
  // Logs a line of a process; `node` is filled in.
  void WriteLine(LogRecord record) {
    record.node = node_;
    logging_.Write(record);
  }
  // Returns whether LogRecord::message is needed.
  [[nodiscard]] bool TellsMessages() const noexcept {
    return logging_.format() == gen::LogFormat::kJson;
  }

 private:
  const gen::Atom node_;
  std::atomic<gen::LogLevel> level_;
  Logging logging_;
  std::unique_ptr<LogBursts> bursts_;  // null: lines are not limited
};

}  // namespace ergon::node
