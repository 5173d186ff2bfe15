// Whole command lines of treesum: options in range, or an exit status with a text that says why.
#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fuzz/command_line.h>
#include <fuzz/fuzz.h>

using ergon::fuzz::Require;

// The words, with zero bytes between them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = ergon::fuzz::TextOf(data, size);
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  const auto parsed = ergon::fuzz::ParseLine(words);
  if (const int* status = std::get_if<int>(&parsed.result)) {
    Require(*status == 0 || *status == 2, "the status is that of the help or of a wrong line");
    Require((*status == 0) == parsed.errors.empty(), "what is wrong is said, the help is no error");
    Require((*status == 0) != parsed.out.empty(), "only the help goes to standard output");
    return 0;
  }
  const auto& options = std::get<treesum::Options>(parsed.result);
  Require(parsed.out.empty() && parsed.errors.empty(), "a good line is taken without a word");
  Require(options.workers >= 1 && options.workers <= 1000, "workers are in range");
  Require(options.mailbox >= 1 && options.mailbox <= 100'000, "the mailbox is in range");
  for (const treesum::ScaleStep& step : options.scale) {
    Require(step.workers >= 1 && step.workers <= 1000, "N of --scale is in range");
    Require(step.after.count() >= 0 && step.after <= std::chrono::seconds(100'000'000),
            "T of --scale is in range");
  }
  Require(!options.arguments.empty(), "there is a directory");
  for (const std::string& argument : options.arguments) {
    Require(std::find(words.begin(), words.end(), argument) != words.end(),
            "directories are words of the line, as they were");
  }
  return 0;
}
