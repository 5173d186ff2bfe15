// A line of text put together in a signal handler: no memory is allocated, and nothing is locked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ergon::core {

// Text that does not fit is left out.
class SignalText {
 public:
  SignalText& operator<<(std::string_view text) noexcept;
  SignalText& operator<<(std::uint64_t number) noexcept;

  // Adds a type's name as written in C++, from std::type_info::name(). Works for plain classes, also in namespaces and
  // in other classes, and the commonest of the built-in types; other names stay mangled, as for c++filt.
  SignalText& AddType(const char* mangled) noexcept;

  [[nodiscard]] std::string_view View() const noexcept { return {buffer_, size_}; }
  // Writes the text to a file descriptor, with a newline; errors are ignored.
  void WriteLine(int file) noexcept;

 private:
  bool AddPlainType(const char* mangled) noexcept;

  static constexpr std::size_t kBytes = 1000;

  char buffer_[kBytes + 1];  // and the newline
  std::size_t size_ = 0;
};

}  // namespace ergon::core
