// What the nodes send to each other. How they look in Erlang: erlang_node.escript.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/gen/pid.h>

namespace ergon::chaos {

// A numbered message of a session.
struct Note {
  static constexpr const char* kTag = "note";
  std::string session;
  int number = 0;
  std::string padding;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(session, number, padding);
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
struct Ask {
  using Reply = std::int64_t;  // the number
  static constexpr const char* kTag = "ask";
  std::string caller;
  int number = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(caller, number);
  }
};

}  // namespace ergon::chaos
