// A reference of Erlang: what make_ref() returns, the tag of a request, an alias.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <ergon/gen/atom.h>
#include <ergon/gen/formatter.h>
#include <ergon/gen/target.h>

namespace ergon::dist {

// A reference of any node; the references of this node are gen::Ref and gen::Alias. Trivially copyable. A reference
// that is an alias of a process is an address, as a PID is: Send(alias, Line{"hello"}).
struct Reference {
  static constexpr std::size_t kMaxWords = 5;

  gen::Atom node;
  std::uint32_t creation = 0;  // tells incarnations of a node apart
  std::uint32_t size = 0;      // how many words are used; the others are 0
  std::array<std::uint32_t, kMaxWords> words{};

  // Returns false for a default-constructed reference, which refers to nothing.
  explicit operator bool() const noexcept { return size != 0; }
  friend bool operator==(const Reference&, const Reference&) = default;
  friend auto operator<=>(const Reference&, const Reference&) = default;

  // Makes a target of an alias. If a program keeps the target of an alias that Erlang has made, as SendAfter and
  // SendEvery do, it can be used until the program has sent to 65,536 others; then the error is kProcessUnknown.
  operator gen::Target() const;  // NOLINT(google-explicit-constructor): as each address

  // Returns the words, from the last one on, as Erlang prints them: "#Ref<shell@localhost.3.2.1>".
  [[nodiscard]] std::string ToString() const;
};

}  // namespace ergon::dist

template <>
struct std::hash<ergon::dist::Reference> {
  std::size_t operator()(const ergon::dist::Reference& reference) const noexcept;
};

template <>
struct fmt::formatter<ergon::dist::Reference>
    : ergon::gen::detail::FormatterOf<ergon::dist::Reference> {};
