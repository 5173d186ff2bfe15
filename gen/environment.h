// Names with values that processes inherit: settings of a node, of an application, of a process.
#pragma once

#include <map>
#include <string>

namespace ergon::gen {

using Environment = std::map<std::string, std::string>;

}  // namespace ergon::gen
