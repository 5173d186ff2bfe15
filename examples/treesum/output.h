// Standard output, with errors that are noticed.
#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>

namespace treesum {

class Output {
 public:
  // `stop` ends the wait for a reader that is slow or gone to sleep.
  explicit Output(std::stop_token stop);

  // Writes all of it, waiting for the reader if need be, and returns how much has been written:
  // less than all if it failed, now or before, or had to wait when the stop was requested.
  std::size_t Write(std::string_view text);
  // Some file systems tell only now that there was no room. At the end, once.
  void Close();

  // Why writing has failed, as in "Broken pipe"; empty: it has not.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  bool WaitUntilReady();
  void Fail(int error_number);

  const std::stop_token stop_;
  const bool may_wait_;  // not a file
  std::string error_;
};

// Makes sure that descriptors 0 to 2 are taken, so that no file treesum opens becomes one of them;
// one that was closed is given something that cannot be used. To be called first.
void OccupyStandardDescriptors();

}  // namespace treesum
