// What the observer's page shows, as JSON.
#pragma once

#include <string>

#include <ergon/gen/messenger.h>
#include <ergon/gen/process_info.h>
#include <ergon/node/observer/figures.h>
#include <ergon/node/observer/process_search.h>

namespace ergon::node {

// All texts of users are UTF-8 there, and of bounded length. Any thread.
// `actions`: whether the observer changes processes when it is asked to.
[[nodiscard]] std::string NodeJson(const Figures& figures, bool actions);
[[nodiscard]] std::string PoolsJson(const Figures& figures);
[[nodiscard]] std::string ProcessesJson(const ProcessRows& processes);
// `inspection`: what it tells of itself; an error is told as text.
[[nodiscard]] std::string ProcessJson(const gen::ProcessInfo& info,
                                      const gen::Result<gen::Inspection>& inspection);

}  // namespace ergon::node
