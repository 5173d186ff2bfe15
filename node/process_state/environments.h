// Environments: maps that many processes share until one of them changes its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <ergon/gen/environment.h>

namespace ergon::node {

// Null: empty. What it points to never changes.
using SharedEnvironment = std::shared_ptr<const gen::Environment>;

// No value: there is no such name.
[[nodiscard]] gen::AnyValue ValueOf(const SharedEnvironment& values, std::string_view name);
// `values` with one more, or other, or less.
[[nodiscard]] SharedEnvironment WithValue(const SharedEnvironment& values, std::string_view name,
                                          gen::AnyValue value);
// What `values` has, and what only `below` has. One of the two, shared, when that is all there is.
[[nodiscard]] SharedEnvironment Above(const SharedEnvironment& values,
                                      const SharedEnvironment& below);

}  // namespace ergon::node
