// Whether bytes are a term of Erlang, before anything reads them.
#pragma once

#include <cstddef>
#include <string_view>

#include <ergon/gen/result.h>

namespace ergon::dist {

// The length of the term at the front of `bytes`, in external format without the version byte.
// Looks at all of it: lengths that lie, more than `max_depth` tuples, lists, maps and functions in
// each other, atoms that are no text, floats that are no numbers, and tags that a node with our
// flags is not sent are kIncorrect, with a text that says what was found at which offset. What it
// does not look for is a map that has a key twice. Reads nothing beyond `bytes`, needs 16 bytes for
// each level, and does not recurse. Any thread.
[[nodiscard]] gen::Result<std::size_t> CheckTerm(std::string_view bytes, std::size_t max_depth);

}  // namespace ergon::dist
