// Which keys an inspection asks for; the same for all behaviours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ergon/gen/messenger.h>

namespace ergon::gen {

// Returns whether the items ask for a key. An empty list asks for everything. An item asks for the key that it equals,
// and for all keys that begin with it and a dot or colon: "worker" for "worker.1", "child" for "child:store".
[[nodiscard]] bool IsAskedFor(std::string_view key, const std::vector<std::string>& items);

// Takes out the keys that are not asked for.
void KeepAskedFor(Inspection& inspection, const std::vector<std::string>& items);

}  // namespace ergon::gen
