// What all processes of a node have in common.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include <fmt/core.h>

#include <ergon/gen/atom.h>
#include <ergon/gen/error.h>
#include <ergon/gen/process_id.h>

#include <cluster/chaos/ledger.h>
#include <kit/eventually.h>

namespace ergon::chaos {

// The third node is one of Erlang.
inline bool IsErlang(const std::string& node) { return node == "e"; }
inline std::string FullName(const std::string& node) { return node + "@127.0.0.1"; }

// Sanitizers make everything slower: the pauses of the load are longer then.
inline constexpr int kSlowness = kit::kSanitized ? 4 : 1;

struct Stage {
  Stage(const std::string& path, std::string incarnation, std::uint64_t first_seed)
      : ledger(path), name(std::move(incarnation)), seed(first_seed) {}

  Ledger ledger;
  const std::string name;  // of this incarnation of the node: "a1"
  const std::uint64_t seed;
  std::atomic<bool> stopping{false};
  std::atomic<int> busy{0};      // senders and callers
  std::atomic<int> watching{0};  // those who watch, and may have to wait for a signal
};

// A process of another node.
struct Peer {
  std::string node;  // "b"
  [[nodiscard]] gen::ProcessID Process(const char* process) const {
    return {gen::Atom(process), gen::Atom(FullName(node))};
  }
};

// One word.
inline std::string WordFor(const gen::Error& error) {
  switch (error.code()) {
    case gen::ErrorCode::kNoConnection:
      return "noconnection";
    case gen::ErrorCode::kTimeout:
      return "timeout";
    case gen::ErrorCode::kProcessUnknown:
      return "unknown";
    case gen::ErrorCode::kProcessIncarnation:
      return "incarnation";
    case gen::ErrorCode::kBusy:
      return "busy";
    default: {
      std::string text = error.ToString();
      for (char& c : text) {
        if (c == ' ') c = '_';
      }
      return text;
    }
  }
}

}  // namespace ergon::chaos
