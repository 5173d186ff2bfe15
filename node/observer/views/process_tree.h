// Which process has started which, and which are linked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ergon/gen/process.h>
#include <ergon/gen/process_info.h>
#include <ergon/gen/result.h>
#include <ergon/node/diagnosis/inspection.h>
#include <ergon/node/observer/numbers/behavior_index.h>
#include <ergon/node/observer/views/process_label.h>
#include <ergon/node/observer/views/url_query.h>

namespace ergon::node {

struct TreeQuery {
  static constexpr std::size_t kMost = 1'000;

  std::uint64_t root = 0;   // the id of the process at the top; 0: the node
  std::size_t limit = 200;  // rows, 1..kMost

  friend bool operator==(const TreeQuery&, const TreeQuery&) = default;
};
// Reads the parameters root and limit. Returns kIncorrect as ParseProcessQuery does.
[[nodiscard]] gen::Result<TreeQuery> ParseTreeQuery(const UrlQuery& query);

// Read without stopping the process: each field is true at some moment.
struct TreeRow {
  static constexpr std::size_t kMostLinks = 20;

  ProcessLabel process;
  gen::ProcessState state = gen::ProcessState::kIdle;
  std::uint32_t depth = 0;     // 0 at the top
  std::uint64_t children = 0;  // in all, alive
  Inspection::Links links;     // up to kMostLinks
};

struct TreeRows {
  std::uint64_t in_all = 0;  // processes of the node
  std::uint64_t at_top =
      0;  // of those, the children of the root: those whose parent has ended are the node's
  // Each process before its children. Of a process that has very many children only some are shown, those with children
  // of their own first: of the root half as many as there are rows, of others 50.
  std::vector<TreeRow> rows;  // empty: there is no such root
};

// Makes the tree. Called by the process `self`, which lets others run meanwhile. It takes 32 bytes for each process
// while it sorts, then 16.
[[nodiscard]] TreeRows FindTree(gen::Process& self, BehaviorIndex& index, const TreeQuery& query);

}  // namespace ergon::node
