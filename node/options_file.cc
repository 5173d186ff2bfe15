#include <ergon/node/options_file.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <ergon/node/option_keys.h>

namespace ergon::node {
namespace {
struct MalformedKey {};
[[noreturn]] void ThrowMalformedKey() { throw MalformedKey(); }
}  // namespace
}  // namespace ergon::node

// toml++ 3.3 asserts what a wrong file can break, as in "[!a'", and assumes it in release builds.
// Here it is an error of the file, in all builds.
#undef NDEBUG
#define TOML_ASSERT(expr) ((expr) ? static_cast<void>(0) : ergon::node::ThrowMalformedKey())
#include <toml++/toml.h>

namespace ergon::node {
namespace {

constexpr std::string_view kNetwork = "network.";
constexpr std::string_view kEnvironment = "environment.";
constexpr std::string_view kLogLevels = "log_levels.";
constexpr std::string_view kNoText = "a list or a date";  // what TextOf has no text for
// For keys of which only the kind of the value is known here.
constexpr std::string_view kAnyText = "a text, a number, true or false";

// It is no value that somebody has written.
std::string WithoutQuotes(std::string text) {
  const std::size_t at = text.find(fmt::format("\"{}\"", kNoText));
  if (at != std::string::npos) text.replace(at, kNoText.size() + 2, kNoText);
  return text;
}

// A value of the environment; none: it is of a kind that an environment of a file has not.
gen::AnyValue ValueOf(const toml::node& value) {
  if (const auto* text = value.as_string()) return gen::AnyValue(text->get());
  if (const auto* number = value.as_integer()) return gen::AnyValue(std::int64_t{number->get()});
  if (const auto* number = value.as_floating_point()) return gen::AnyValue(double{number->get()});
  if (const auto* truth = value.as_boolean()) return gen::AnyValue(bool{truth->get()});
  return {};
}

gen::Error ErrorAt(std::string_view name, const toml::source_region& where, std::string_view text) {
  return gen::Error(gen::ErrorCode::kIncorrect,
                    fmt::format("{}:{}: {}", name, where.begin.line, text));
}

// The value as SetOption takes it; none: it is of a kind that no option has.
std::optional<std::string> TextOf(const toml::node& value) {
  if (const auto* text = value.as_string()) return text->get();
  if (const auto* number = value.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = value.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* truth = value.as_boolean()) return truth->get() ? "true" : "false";
  return std::nullopt;
}

// Only the network knows what its options are.
void NoteNetworkOption(gen::NodeOptions& options, gen::NetworkOption option) {
  auto& all = options.network_options;
  const auto known = std::find_if(all.begin(), all.end(), [&](const gen::NetworkOption& other) {
    return other.key == option.key;
  });
  if (known == all.end()) {
    all.push_back(std::move(option));
  } else {
    *known = std::move(option);
  }
}

// Returns whether options are in a table of this name.
bool IsTable(std::string_view name) {
  if (name == "pools" || name == "log_levels" || name == "network" || name == "environment")
    return true;
  if (name.starts_with("pools.") || name.starts_with(kNetwork) || name.starts_with(kEnvironment))
    return true;
  return std::ranges::any_of(OptionKeys(), [&](const OptionKey& key) {
    return key.name.starts_with(name) && key.name.substr(name.size()).starts_with('.');
  });
}

// The options so far, and where they were given.
struct Taken {
  gen::NodeOptions options;
  std::map<std::string, const toml::key*> given = {};
};

// What is read, without the byte order mark, and its name in errors.
struct File {
  std::string_view name;
  std::string_view contents;
};

// Returns whether the region had other characters than ASCII's, which are "?" now (InAscii). So its columns are bytes.
bool HadOtherCharacters(const File& file, const toml::source_region& region) {
  std::string_view rest = file.contents;
  for (std::uint32_t line = 1; line <= region.end.line; ++line) {
    const std::size_t size = std::min(rest.find('\n'), rest.size());
    const std::size_t begin =
        line == region.begin.line ? std::min<std::size_t>(region.begin.column - 1, size) : 0;
    const std::size_t end =
        line == region.end.line ? std::min<std::size_t>(region.end.column, size) : size;
    const bool is_other = std::ranges::any_of(
        rest.substr(begin, end - std::min(begin, end)),
        [](char character) { return static_cast<unsigned char>(character) > 0x7F; });
    if (line >= region.begin.line && is_other) return true;
    rest.remove_prefix(std::min(size + 1, rest.size()));
  }
  return false;
}

gen::Error NotAscii(const File& file, const toml::source_region& where, std::string_view full) {
  return ErrorAt(
      file.name, where,
      fmt::format("{}: names and texts are of ASCII's characters here: write \\u00e9 for "
                  "others",
                  full));
}

// To TOML cache.enabled and "cache.enabled" are two keys, here they are one. The value is not told: it may be a secret.
gen::Result<void> CheckGivenOnce(const std::string& full, const toml::key* key, const File& file,
                                 Taken& taken) {
  const auto [known, is_new] = taken.given.try_emplace(full, key);
  if (is_new) return {};
  // Tables are gone through in the order of their keys, not in that of the file.
  if (key->source().begin < known->second->source().begin) std::swap(key, known->second);
  return ErrorAt(
      file.name, key->source(),
      fmt::format("{}: given twice, first in line {}", full, known->second->source().begin.line));
}

// Sets a value of the environment, whose key is `full`.
gen::Result<void> ReadValue(const std::string& full, const toml::node& value, const File& file,
                            gen::NodeOptions& options) {
  if (full == kEnvironment) {
    return ErrorAt(file.name, value.source(), full + ": the name of the value is empty");
  }
  gen::AnyValue known = ValueOf(value);
  if (!known) {
    return ErrorAt(file.name, value.source(),
                   fmt::format("{}: {}, must be {}", full, kNoText, kAnyText));
  }
  const auto* const text = known.As<std::string>();
  if (text != nullptr && text->find('?') != std::string::npos &&
      HadOtherCharacters(file, value.source())) {
    return NotAscii(file, value.source(), full);
  }
  options.environment.insert_or_assign(full.substr(kEnvironment.size()), std::move(known));
  return {};
}

// Names of the user's: what was not ASCII's is lost.
gen::Result<void> CheckName(const std::string& full, const toml::key& key, const File& file) {
  if (full.find('?') == std::string::npos) return {};
  if (full.starts_with("pools.")) {
    return ErrorAt(file.name, key.source(),
                   full + ": the name of a pool is of ASCII's characters here, without \"?\"");
  }
  if (full.starts_with(kEnvironment) && key.str().find('?') != std::string_view::npos &&
      HadOtherCharacters(file, key.source())) {
    return NotAscii(file, key.source(), full);
  }
  if (full.starts_with(kLogLevels)) {
    return ErrorAt(file.name, key.source(),
                   full + ": the name of a behaviour is of ASCII's characters here, without \"?\"");
  }
  return {};
}

// `prefix` is what all keys of the table begin with.
gen::Result<void> Read(const toml::table& table, const std::string& prefix, const File& file,
                       Taken& taken) {
  for (const auto& [key, value] : table) {
    const std::string full = prefix + std::string(key.str());
    auto read = CheckName(full, key, file);
    if (!read) return read;
    if (const auto* inner = value.as_table()) {
      if (full.starts_with(kLogLevels)) {  // words.Counter = "debug"
        return ErrorAt(file.name, key.source(),
                       full + ": is a table: put the name of the behaviour in quotes");
      }
      if (inner->empty() && !IsTable(full)) {
        return ErrorAt(file.name, key.source(),
                       full +
                           ": there is no such table, only stealing, pools, log_levels, network "
                           "and environment");
      }
      read = Read(*inner, full + ".", file, taken);
      if (!read) return read;
      continue;
    }
    if (prefix.empty() && IsTable(full)) {
      return ErrorAt(file.name, key.source(), fmt::format("{0}: must be a table, as [{0}]", full));
    }
    read = CheckGivenOnce(full, &key, file, taken);
    if (!read) return read;
    if (full.starts_with(kEnvironment)) {
      read = ReadValue(full, value, file, taken.options);
      if (!read) return read;
      continue;
    }
    const auto text = TextOf(value);
    if (full.starts_with(kNetwork)) {
      if (!text) {
        return ErrorAt(file.name, key.source(),
                       fmt::format("{}: {}, must be {}", full, kNoText, kAnyText));
      }
      NoteNetworkOption(taken.options, {full.substr(kNetwork.size()), *text,
                                        fmt::format("{}:{}", file.name, key.source().begin.line)});
      continue;
    }
    // The key is looked at first, whatever its value is.
    read = SetOption(taken.options, full, text.value_or(std::string(kNoText)));
    if (!read) {
      return ErrorAt(file.name, key.source(), WithoutQuotes(std::string(read.error().detail())));
    }
  }
  return {};
}

std::string_view WithoutByteOrderMark(std::string_view contents) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (contents.starts_with(kByteOrderMark)) contents.remove_prefix(kByteOrderMark.size());
  return contents;
}

// No option has other characters than ASCII's, and toml++ 3.3 is not safe from all of them: in comments
// they do not matter, elsewhere "?" is an error as they are.
std::string InAscii(std::string_view contents) {
  std::string ascii(contents);
  for (char& character : ascii) {
    if (static_cast<unsigned char>(character) > 0x7F) character = '?';
  }
  return ascii;
}

// The parser does not say: it is the last line of the shortest beginning that has the fault, too.
std::ptrdiff_t LineOfMalformedKey(std::string_view contents) {
  std::vector<std::size_t> ends;  // of lines
  for (std::size_t end = 0; (end = contents.find('\n', end)) != std::string_view::npos; ++end) {
    ends.push_back(end);
  }
  const auto ends_before = [&](std::size_t end) {
    try {
      (void)toml::parse(contents.substr(0, end));
    } catch (const MalformedKey&) {
      return false;
    } catch (const toml::parse_error&) {  // cut off in the middle of something
    }
    return true;
  };
  return std::partition_point(ends.begin(), ends.end(), ends_before) - ends.begin() + 1;
}

// toml++ makes a table in a table for each dot of a key, and a call in a call when they go. No option has so many.
constexpr int kMostDots = 100;            // of a key
constexpr int kMostDotsTogether = 1'000;  // of all keys between brackets

// Returns the end of the text in quotes that begins there.
std::size_t EndOfText(std::string_view contents, std::size_t at) {
  const char quote = contents[at];
  const std::string three(3, quote);
  const bool is_long = contents.substr(at, 3) == three;  // of several lines
  for (at += is_long ? 3 : 1; at < contents.size(); ++at) {
    if (quote == '"' && contents[at] == '\\') {
      ++at;
    } else if (is_long && contents.substr(at, 3) == three) {
      return std::min(contents.find_first_not_of(quote, at), contents.size());
    } else if (!is_long && (contents[at] == quote || contents[at] == '\n')) {
      return contents[at] == quote ? at + 1 : at;
    }
  }
  return contents.size();
}

// Returns the first line with a key of too many parts; 0: none.
std::ptrdiff_t LineOfManyDots(std::string_view contents) {
  int key = 0;
  int together = 0;
  int brackets = 0;
  for (std::size_t at = 0; at < contents.size();) {
    const char character = contents[at];
    if (character == '"' || character == '\'') {
      at = EndOfText(contents, at);
      continue;
    }
    if (character == '#') {
      at = std::min(contents.find('\n', at), contents.size());
      continue;
    }
    ++at;
    if (character == '.') ++key;
    if (character == '=') together += key;
    if (character == '[' || character == '{') ++brackets;
    if (character == ']' || character == '}') --brackets;
    if (key > kMostDots || together > kMostDotsTogether) {
      return 1 + std::ranges::count(contents.substr(0, at), '\n');
    }
    if (std::string_view("=,[]{}\n").find(character) != std::string_view::npos) key = 0;
    if (character == '\n' && brackets <= 0) together = brackets = 0;
  }
  return 0;
}

// The parser speaks of numbers when somebody has left out the quotes.
std::string_view HintFor(std::string_view contents, std::uint32_t line) {
  for (; line > 1 && contents.find('\n') != std::string_view::npos; --line) {
    contents.remove_prefix(contents.find('\n') + 1);
  }
  contents = contents.substr(0, contents.find('\n'));
  const std::size_t equals = contents.find('=');
  if (equals == std::string_view::npos) return {};
  std::string_view value = contents.substr(equals + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t0123456789"), value.size()));
  const bool is_bare =
      !value.empty() && std::isalpha(static_cast<unsigned char>(value.front())) != 0;
  return is_bare ? "; names, times and sizes stand in quotes, as in log_level = \"info\"" : "";
}

}  // namespace

gen::Result<gen::NodeOptions> ParseOptions(std::string_view contents, std::string_view name,
                                           const gen::NodeOptions& defaults) {
  Taken taken{.options = defaults};
  const File file{name, WithoutByteOrderMark(contents)};
  const std::string ascii = InAscii(file.contents);
  if (const auto line = LineOfManyDots(ascii); line != 0) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("{}:{}: a key has at most {} dots, and all between brackets {}",
                                  name, line, kMostDots, kMostDotsTogether));
  }
  try {
    const toml::table table = toml::parse(ascii);
    auto read = Read(table, "", file, taken);
    if (!read) return std::move(read.error());
  } catch (const toml::parse_error& error) {
    return ErrorAt(
        name, error.source(),
        std::string(error.description()).append(HintFor(ascii, error.source().begin.line)));
  } catch (const MalformedKey&) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("{}:{}: the name of a key or table is malformed", name,
                                  LineOfMalformedKey(ascii)));
  }
  return std::move(taken.options);
}

gen::Result<gen::NodeOptions> LoadOptions(const std::string& path,
                                          const gen::NodeOptions& defaults) {
  std::string contents;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  int why = errno;
  try {
    contents.assign(std::istreambuf_iterator<char>(file), {});
  } catch (const std::ios_base::failure&) {
    why = errno;
    file.close();  // a directory can be opened, but not read
  }
  if (!file.is_open()) {
    return gen::Error(gen::ErrorCode::kIncorrect, fmt::format("{}: cannot be read: {}", path,
                                                              std::system_category().message(why)));
  }
  return ParseOptions(contents, path, defaults);
}

}  // namespace ergon::node
