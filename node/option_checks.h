// What users write into option structs, looked at before anything is started with it.
#pragma once

#include <string>

#include <ergon/core/dispatcher.h>
#include <ergon/gen/node_options.h>
#include <ergon/gen/process_options.h>
#include <ergon/gen/result.h>

namespace ergon::node {

// A kIncorrect, as in "workers: 1 is outside 2..1024".
[[nodiscard]] gen::Error Incorrect(std::string text);

// The part of a node's options that is its dispatcher's.
[[nodiscard]] core::DispatcherOptions DispatcherOptionsOf(const gen::NodeOptions& options);

// kIncorrect, with a text that names the first bad field and its value. Any thread.
[[nodiscard]] gen::Result<void> CheckOptions(const gen::NodeOptions& options);
[[nodiscard]] gen::Result<void> CheckProcessOptions(const gen::ProcessOptions& options);

}  // namespace ergon::node
