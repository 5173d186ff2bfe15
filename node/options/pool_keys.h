// What the node's options say of pools, as text: keys as in "pools.thumbnails.pool_size".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <ergon/gen/pool_change.h>
#include <ergon/gen/result.h>

namespace ergon::node {

[[nodiscard]] bool IsPoolKey(std::string_view key);
// Sets one field of one pool, as SetOption does.
[[nodiscard]] gen::Result<void> SetPoolOption(std::map<std::string, gen::PoolChange>& pools,
                                              std::string_view key, std::string_view text);
// Removes one field of one pool. The key is valid.
void ForgetPoolOption(std::map<std::string, gen::PoolChange>& pools, std::string_view key);
// Empty: it is not given.
[[nodiscard]] std::string PoolOptionText(const std::map<std::string, gen::PoolChange>& pools,
                                         std::string_view key);

}  // namespace ergon::node
