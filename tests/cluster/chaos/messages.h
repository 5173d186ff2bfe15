// What the nodes send to each other. How they look in Erlang: erlang_node.escript. Between two nodes of Ergon some are
// packed.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <type_traits>

#include <ergon/gen/pid.h>
#include <ergon/node/cereal.h>

namespace ergon::chaos {

// Values that this node has read in packed form. Relaxed: it is looked at when nothing comes any more.
inline std::atomic<std::uint64_t> read_packed{0};
template <class Archive>
void CountPacked() {
  if constexpr (std::is_same_v<Archive, dist::CerealReader>) {
    read_packed.fetch_add(1, std::memory_order_relaxed);
  }
}

// A numbered message of a session. Packed between nodes of Ergon once they know that of each other, before that a term.
struct Note {
  static constexpr const char* kTag = "note";
  std::string session;
  int number = 0;
  std::string padding;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(session, number, padding);
    CountPacked<Archive>();
  }
};
// The receiver watches the sender from now on.
struct Open {
  using Reply = gen::PID;  // of the receiver
  static constexpr const char* kTag = "open";
  std::string session;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(session);
  }
};
struct Close {
  using Reply = std::int64_t;  // the number of the last message
  static constexpr const char* kTag = "close";
  std::string session;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(session);
  }
};
// A value of the event that each node publishes.
struct Beat {
  static constexpr const char* kTag = "beat";
  int number = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number);
  }
};
// As Note.
struct Ask {
  using Reply = std::int64_t;  // the number
  static constexpr const char* kTag = "ask";
  std::string caller;
  int number = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(caller, number);
    CountPacked<Archive>();
  }
};
// The same between nodes of Ergon, with no other form than the packed one: who asks waits until the other node has said
// that it packs it.
struct PackedAsk : Ask {
  using Reply = std::int64_t;
};

}  // namespace ergon::chaos
