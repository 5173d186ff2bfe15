// Files with node options: options that a node can be started with, or an error with a line.
#include <string>

#include <ergon/node/option_keys.h>
#include <ergon/node/options_file.h>

#include <fuzz/fuzz.h>

using ergon::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ergon;
  const std::string_view contents = fuzz::TextOf(data, size);
  const auto options = node::ParseOptions(contents, "file");
  if (!options) {
    Require(options.error() == gen::ErrIncorrect, "what is wrong is the file");
    const std::string_view text = options.error().detail();
    Require(text.starts_with("file:"), "the error begins with the file's name");
    const std::size_t digits = text.find_first_not_of("0123456789", 5);
    Require(digits > 5 && digits != std::string::npos && text[digits] == ':', "and the line");
    return 0;
  }
  // Every field has a text, which means the same.
  gen::NodeOptions copy;
  for (const node::OptionKey& key : node::OptionKeys()) {
    const std::string text = node::OptionText(*options, key.name);
    Require(node::SetOption(copy, key.name, text).has_value(), "a value is in range");
    Require(node::OptionText(copy, key.name) == text, "a value has one text");
  }
  return 0;
}
