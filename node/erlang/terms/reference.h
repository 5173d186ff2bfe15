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

// Trivially copyable. Of any node; those of this one are gen::Ref and gen::Alias. One that is an alias of a process can
// be sent to, as a PID: Send(alias, Line{"hello"}).
struct Reference {
  static constexpr std::size_t kMaxWords = 5;

  gen::Atom node;
  std::uint32_t creation = 0;  // tells incarnations of a node apart
  std::uint32_t size = 0;      // of the words, how many there are; the others are 0
  std::array<std::uint32_t, kMaxWords> words{};

  // False for the default-constructed one, which refers to nothing.
  explicit operator bool() const noexcept { return size != 0; }
  friend bool operator==(const Reference&, const Reference&) = default;
  friend auto operator<=>(const Reference&, const Reference&) = default;

  // Whoever keeps the target of an alias that Erlang has made, as SendAfter and SendEvery do, can use it until the
  // program has sent to 65,536 others; then it is kProcessUnknown.
  operator gen::Target() const;  // NOLINT(google-explicit-constructor): as each address

  // As in "#Ref<shell@localhost.3.2.1>": the words, from the last one on, as Erlang prints them.
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
