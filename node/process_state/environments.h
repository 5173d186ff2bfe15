// Environments: maps that many processes share until one of them changes its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <ergon/gen/environment.h>

namespace ergon::node {

// Null: empty. The map that it points to never changes.
using SharedEnvironment = std::shared_ptr<const gen::Environment>;

// Returns the value of a name; no value if there is no such name.
[[nodiscard]] gen::AnyValue ValueOf(const SharedEnvironment& values, std::string_view name);
// Returns `values` with this value added, replaced, or removed if `value` is empty.
[[nodiscard]] SharedEnvironment WithValue(const SharedEnvironment& values, std::string_view name,
                                          gen::AnyValue value);
// Returns the entries of `values`, and those that only `below` has. Returns one of the two, shared, if it has all of
// them.
[[nodiscard]] SharedEnvironment Above(const SharedEnvironment& values,
                                      const SharedEnvironment& below);

}  // namespace ergon::node
