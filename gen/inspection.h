// What Inspect answers.
#pragma once

#include <map>
#include <string>

namespace ergon::gen {

// Keys and values as texts, sorted by key.
using Inspection = std::map<std::string, std::string>;

}  // namespace ergon::gen
