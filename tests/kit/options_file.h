// A file with options of a node, there as long as this.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace ergon::kit {

class OptionsFile {
 public:
  explicit OptionsFile(const std::string& contents) { Write(contents); }
  ~OptionsFile() { std::filesystem::remove(path_); }
  OptionsFile(const OptionsFile&) = delete;
  OptionsFile& operator=(const OptionsFile&) = delete;

  void Write(const std::string& contents) const { std::ofstream(path_) << contents; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("ergon_options_" + std::to_string(::getpid())))
          .string();
};

}  // namespace ergon::kit
