// The key=value words of ergon-bench: a word is taken with a value in range and can be written
// back, or it is refused with a text that names it, and changes nothing.
#include <string>
#include <string_view>
#include <vector>

#include <bench/params.h>
#include <fuzz/fuzz.h>

using ergon::bench::Param;
using ergon::bench::Params;
using ergon::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<Param> kKnown = {{"n", 1000, 1, 1'000'000'000, ""},
                                            {"offset", 0, -50, 50, ""},
                                            {"all", 0, INT64_MIN, INT64_MAX, ""},
                                            {"policy", 0, 0, 1, "", {"stealing", "sharing"}}};
  const std::string_view word = ergon::fuzz::TextOf(data, size);
  Params params(kKnown);
  const std::string untouched = params.ToJson();
  const std::string problem = params.Set(word);
  if (!problem.empty()) {
    Require(params.ToJson() == untouched, "a refused word changes nothing");
    const std::size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    Require(problem.find(key) != std::string::npos, "the refusal names the key or the word");
    for (const Param& param : kKnown) {
      if (param.name != key || equals == std::string_view::npos) continue;
      Require(problem.find(word.substr(equals + 1)) != std::string::npos,
              "the refusal of a value names it");
    }
    return 0;
  }
  const std::string key(word.substr(0, word.find('=')));
  int found = 0;
  for (const Param& param : kKnown) {
    if (param.name != key) {
      Require(params[param.name] == param.value, "other values stay as they are");
      continue;
    }
    ++found;
    const std::int64_t value = params[param.name];
    Require(value >= param.min && value <= param.max, "a value that is taken is in range");
    Params again(kKnown);
    Require(again.Set(key + "=" + param.Text(value)).empty(), "what is written can be read");
    Require(again.ToJson() == params.ToJson(), "and is the same");
  }
  Require(found == 1, "only keys that are known are taken");
  return 0;
}
