// What the observer's page shows, as JSON.
#pragma once

#include <cstddef>
#include <string>

#include <ergon/gen/messenger.h>
#include <ergon/gen/process_info.h>
#include <ergon/node/diagnosis/inspection.h>
#include <ergon/node/observer/numbers/figures.h>
#include <ergon/node/observer/views/process_search.h>

namespace ergon::node {

// The texts of users are made UTF-8, and of bounded length. Any thread.
// `actions`: whether the observer changes processes on request.
[[nodiscard]] std::string NodeJson(const Figures& figures, bool actions);
[[nodiscard]] std::string PoolsJson(const Figures& figures);
[[nodiscard]] std::string ProcessesJson(const ProcessRows& processes);
// Of a process so many links, monitors and processes that monitor it are shown.
inline constexpr std::size_t kMostRelations = 100;
// `inspection`: the answer of the process to Inspect; an error is shown as text.
[[nodiscard]] std::string ProcessJson(const gen::ProcessInfo& info, const Inspection::Links& links,
                                      const gen::Result<gen::Inspection>& inspection);

}  // namespace ergon::node
