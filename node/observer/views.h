// What the observer's page shows, as JSON.
#pragma once

#include <string>

#include <ergon/gen/messenger.h>
#include <ergon/gen/process_info.h>
#include <ergon/node/observer/figures.h>
#include <ergon/node/observer/process_search.h>

namespace ergon::node {

// All texts of users are UTF-8 there, and of bounded length. A PID is a text for people, and "id" its number, a text as
// well: JavaScript has no integers of 64 bits. Any thread.
[[nodiscard]] std::string NodeJson(const Figures& figures);
[[nodiscard]] std::string PoolsJson(const Figures& figures);
[[nodiscard]] std::string ProcessesJson(const ProcessRows& processes);
// `inspection`: what it tells of itself; an error is told as text.
[[nodiscard]] std::string ProcessJson(const gen::ProcessInfo& info,
                                      const gen::Result<gen::Inspection>& inspection);

}  // namespace ergon::node
