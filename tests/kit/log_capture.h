// The log lines of a node, for tests to read.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ergon/gen/node_options.h>

namespace ergon::kit {

// Copies share the lines. Any thread.
class LogCapture {
 public:
  struct Line {
    gen::LogLevel level;
    std::string text;
  };

  // `options`, with the lines going here.
  [[nodiscard]] gen::NodeOptions Into(gen::NodeOptions options) const {
    options.log_sink = [lines = lines_](gen::LogLevel level, const std::string& text) {
      std::lock_guard lock(lines->mutex);
      lines->list.push_back({level, text});
    };
    return options;
  }

  [[nodiscard]] std::vector<Line> Lines() const {
    std::lock_guard lock(lines_->mutex);
    return lines_->list;
  }
  // How many lines contain `text`.
  [[nodiscard]] std::size_t Count(std::string_view text) const {
    std::lock_guard lock(lines_->mutex);
    std::size_t count = 0;
    for (const Line& line : lines_->list) {
      if (line.text.find(text) != std::string::npos) ++count;
    }
    return count;
  }
  [[nodiscard]] bool Contains(std::string_view text) const { return Count(text) > 0; }

 private:
  struct Shared {
    std::mutex mutex;
    std::vector<Line> list;
  };
  std::shared_ptr<Shared> lines_ = std::make_shared<Shared>();
};

}  // namespace ergon::kit
