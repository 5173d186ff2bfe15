// N@T of treesum's --scale: taken in range, and then what is written back means the same, or
// refused with a text that names it.
#include <chrono>
#include <string>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include <fuzz/command_line.h>
#include <fuzz/fuzz.h>

using ergon::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(ergon::fuzz::TextOf(data, size));
  if (text.find('\0') != std::string::npos) return 0;  // ends a word of a command line
  const auto parsed = ergon::fuzz::ParseLine({"--scale=" + text, "DIR"});
  const auto* options = std::get_if<treesum::Options>(&parsed.result);
  if (options == nullptr) {
    Require(std::get<int>(parsed.result) == 2, "a wrong value is a wrong command line");
    Require(text.empty() || parsed.errors.find(text) != std::string::npos,
            "the refusal names the value");
    return 0;
  }
  Require(options->arguments == std::vector<std::string>{"DIR"}, "the directory is not lost");
  Require(options->scale.size() == 1, "one value is one step");
  const treesum::ScaleStep& step = options->scale.front();
  Require(step.workers >= 1 && step.workers <= 1000, "N is in range");
  Require(step.after.count() >= 0 && step.after <= std::chrono::seconds(100'000'000),
          "T is in range");
  // Beyond that a double has no nanoseconds.
  if (step.after > std::chrono::seconds(1'000'000)) return 0;
  const auto whole = step.after.count() / 1'000'000'000;
  const auto rest = step.after.count() % 1'000'000'000;
  const auto again = ergon::fuzz::ParseLine(
      {"--scale=" + fmt::format("{}@{}.{:09}", step.workers, whole, rest), "DIR"});
  const auto* same = std::get_if<treesum::Options>(&again.result);
  Require(same != nullptr && same->scale.size() == 1, "what is written back is taken");
  Require(same->scale.front().workers == step.workers && same->scale.front().after == step.after,
          "and means the same");
  return 0;
}
