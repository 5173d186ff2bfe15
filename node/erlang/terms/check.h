// Checks that bytes are a term of Erlang, before anything reads them.
#pragma once

#include <cstddef>
#include <string_view>

#include <ergon/gen/result.h>

namespace ergon::dist {

// Returns the length of the term at the front of `bytes`, in external format without the version byte. Checks all of
// the term. Returns kIncorrect, with a text that says what was found at which offset, for false lengths, for more than
// `max_depth` tuples, lists, maps and functions in each other, for atoms that are no text, for floats that are no
// numbers, and for tags that no node sends to a node with our flags. Does not look for a map that has a key twice.
// Reads nothing beyond `bytes`, needs 16 bytes for each level, and does not recurse. Any thread.
[[nodiscard]] gen::Result<std::size_t> CheckTerm(std::string_view bytes, std::size_t max_depth);

}  // namespace ergon::dist
