// The entries of a map, looked for by their keys.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/node/erlang/terms/reader.h>

namespace ergon::dist::detail {

// Whatever the order of the entries, and whichever keys are asked for, no entry is skipped twice: a peer chooses both
// the order and how large a value is.
class MapEntries {
 public:
  // More are no struct's. What a map has passed by is kept, so this bounds the memory.
  static constexpr std::size_t kMost = 10'000;

  // `in` is a reader behind the head of a map with `size` entries, and is moved by these functions.
  MapEntries(TermReader& in, std::size_t size) : in_(in), size_(size), next_(in) {}

  // Goes to the value of a key that is an atom. Each key may be asked for once. Returns false if there is none.
  bool Find(std::string_view key);
  // Goes behind the map.
  void Leave();

 private:
  struct Entry {
    TermReader key;
    TermReader value;
  };

  void GoToNext();
  bool FindPassed(std::string_view key);
  void Pass(const TermReader& key);

  TermReader& in_;
  const std::size_t size_;
  std::size_t walked_ = 0;  // entries
  TermReader next_;         // the first entry that was not walked, while `in_` is elsewhere
  bool is_elsewhere_ = false;
  // What was passed by on the way to another key: a few in the order of the map, or many by their keys.
  std::vector<Entry> few_;
  std::map<std::string, TermReader, std::less<>> many_;
};

}  // namespace ergon::dist::detail
