// The end of the pipe: records are written, many at a time, and at the latest when nothing comes for a moment.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <ergon/act/actor.h>

#include "options.h"
#include "traffic.h"

namespace logpipe {

inline constexpr const char* kWriter = "writer";

// Each message is a std::string, a record without the end of its line.
class Writer : public ergon::act::Actor {
 public:
  Writer(Options options, std::shared_ptr<Traffic> traffic)
      : options_(std::move(options)), traffic_(std::move(traffic)) {}
  ~Writer() override;

 private:
  ergon::gen::Status Init(const ergon::gen::Args& args) override;
  ergon::gen::Status HandleMessage(ergon::gen::PID from, ergon::gen::Message& message) override;
  ergon::gen::Status HandleIdle() override;
  void Terminate(const ergon::gen::Reason& reason) override;

  void Flush();
  // 0, or the error. Takes off `text` what is in the output then.
  [[nodiscard]] int Write(std::string_view& text) const;

  const Options options_;
  const std::shared_ptr<Traffic> traffic_;
  int file_ = -1;
  std::string text_;  // not written yet, a line each record
  bool has_failed_ = false;
};

}  // namespace logpipe
