// Standard output, with errors that are noticed.
#pragma once

#include <string>
#include <string_view>

namespace treesum {

class Output {
 public:
  // Writes all of it, waiting for the reader if need be. After a failure it does nothing.
  void Write(std::string_view text);
  // Some file systems tell only now that there was no room. At the end, once.
  void Close();

  // Why writing has failed, as in "Broken pipe"; empty: it has not.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  void Fail(int error_number);

  std::string error_;
};

// Makes sure that descriptors 0 to 2 are taken, so that no file treesum opens becomes one of them; one
// that was closed is given something that cannot be used. To be called first.
void OccupyStandardDescriptors();

}  // namespace treesum
