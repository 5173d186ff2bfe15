// A file of the trace-event format: a list of JSON, one event in each line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <ergon/gen/result.h>

namespace ergon::node {

// One thread.
class EventFile {
 public:
  explicit EventFile(std::string path, std::uint64_t max_bytes)
      : path_(std::move(path)), max_bytes_(max_bytes) {}
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  ~EventFile();

  // Makes the file, or replaces it. Returns kIncorrect if it cannot be opened, or is not a regular file; kInternal if
  // it cannot be written.
  gen::Result<void> Open();
  // Appends an event. Returns false if there is no room for it. Close reports what cannot be written. Throws
  // std::bad_alloc without having appended any of it.
  bool Append(std::string_view event);
  // Writes the events that Append has kept. Returns false if that fails, or has failed before.
  bool Flush();
  // Completes the file. Returns kInternal if it is not complete.
  gen::Result<void> Close();

  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }  // with what is kept
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  bool WriteAll(std::string_view bytes);
  [[nodiscard]] gen::Error Error(gen::ErrorCode code, int number) const;

  const std::string path_;
  const std::uint64_t max_bytes_;
  int file_ = -1;
  int failure_ = 0;  // errno
  std::string kept_;
  std::uint64_t bytes_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace ergon::node
