// Names with values that processes inherit: settings of a node, of an application, of a process.
#pragma once

#include <map>
#include <string>

#include <ergon/gen/any_value.h>

namespace ergon::gen {

using Environment = std::map<std::string, AnyValue>;

}  // namespace ergon::gen
