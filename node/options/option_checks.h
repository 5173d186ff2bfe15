// What users write into option structs, looked at before anything is started with it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <ergon/core/dispatcher.h>
#include <ergon/gen/log_level.h>
#include <ergon/gen/node_options.h>
#include <ergon/gen/process_options.h>
#include <ergon/gen/result.h>

namespace ergon::node {

// A kIncorrect, as in "workers: 1 is outside 2..1024".
[[nodiscard]] gen::Error Incorrect(std::string text);

// The part of a node's options that is its dispatcher's.
[[nodiscard]] core::DispatcherOptions DispatcherOptionsOf(const gen::NodeOptions& options);

// kIncorrect, with a text that names the value: `name` is not of the form name@host, contains a space or
// a control character, or is too long. Any thread.
[[nodiscard]] gen::Result<void> CheckNodeName(std::string_view name);
// kIncorrect, as in "timeout: -5ns, must not be negative". Any thread.
[[nodiscard]] gen::Result<void> CheckNotNegative(std::string_view name,
                                                 std::chrono::nanoseconds value);
// kIncorrect, as in "log_level: 77, must be a LogLevel". Any thread.
[[nodiscard]] gen::Result<void> CheckLogLevel(gen::LogLevel level);
// kIncorrect, with a text that names the first bad field and its value. Any thread.
[[nodiscard]] gen::Result<void> CheckOptions(const gen::NodeOptions& options);
[[nodiscard]] gen::Result<void> CheckProcessOptions(const gen::ProcessOptions& options);

}  // namespace ergon::node
