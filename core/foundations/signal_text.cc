#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <unistd.h>

#include <ergon/core/foundations/signal_text.h>

namespace ergon::core {
namespace {

constexpr std::string_view BuiltIn(char code) noexcept {
  switch (code) {
    case 'b':
      return "bool";
    case 'c':
      return "char";
    case 'd':
      return "double";
    case 'f':
      return "float";
    case 'i':
      return "int";
    case 'j':
      return "unsigned int";
    case 'l':
      return "long";
    case 'm':
      return "unsigned long";
    default:
      return "";
  }
}

}  // namespace

SignalText& SignalText::operator<<(std::string_view text) noexcept {
  const std::size_t bytes = std::min(text.size(), kBytes - size_);
  std::memcpy(buffer_ + size_, text.data(), bytes);
  size_ += bytes;
  return *this;
}

SignalText& SignalText::operator<<(std::uint64_t number) noexcept {
  char digits[20];
  char* first = std::end(digits);
  do {
    *--first = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return *this << std::string_view(first, static_cast<std::size_t>(std::end(digits) - first));
}

SignalText& SignalText::AddType(const char* mangled) noexcept {
  const std::size_t before = size_;
  if (AddPlainType(mangled)) return *this;
  size_ = before;
  return *this << mangled;
}

// A grammar of its own, for the runtime's demangler allocates: a NAME is a length and so many
// characters; a class is a NAME, or St and a NAME (of std), or N, NAMEs, E.
bool SignalText::AddPlainType(const char* mangled) noexcept {
  if (const std::string_view name = BuiltIn(*mangled); !name.empty()) {
    *this << name;
    return mangled[1] == '\0';
  }
  const char* at = mangled;
  const bool nested = *at == 'N';
  if (nested) ++at;
  std::string_view separator = "";
  if (std::strncmp(at, "St", 2) == 0) {
    *this << "std";
    separator = "::";
    at += 2;
  }
  do {
    std::size_t length = 0;
    for (; *at >= '0' && *at <= '9' && length < kBytes; ++at) {
      length = 10 * length + static_cast<std::size_t>(*at - '0');
    }
    if (length == 0 || strnlen(at, length) < length) return false;
    const std::string_view name(at, length);
    *this << separator
          << (name.starts_with("_GLOBAL__N") ? std::string_view("(anonymous namespace)") : name);
    separator = "::";
    at += length;
  } while (nested && *at != 'E');
  return at[nested ? 1 : 0] == '\0';
}

void SignalText::WriteLine(int file) noexcept {
  buffer_[size_] = '\n';
  std::size_t written = 0;
  while (written <= size_) {
    const ssize_t result = write(file, buffer_ + written, size_ + 1 - written);
    if (result < 0 && errno == EINTR) continue;
    if (result <= 0) return;
    written += static_cast<std::size_t>(result);
  }
}

}  // namespace ergon::core
