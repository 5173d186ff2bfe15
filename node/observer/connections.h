// The open connections of an observer: how many there are, and which one gives way to a new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <ergon/gen/pid.h>

namespace ergon::node {

// Any thread.
class Connections {
 public:
  explicit Connections(std::size_t most) : most_(most) {}
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // What it does; those that may give way come first.
  enum class Activity : std::uint8_t {
    kWaits,   // for a request
    kReads,   // one that has begun to come
    kWrites,  // an answer, which its client has yet to take
    kAnswers,
  };

  // The place of one connection, which it leaves when it is destroyed. It must not outlive the others.
  class Place {
   public:
    explicit Place(Connections& all) : all_(all) {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();

    // Which process has it. False: the observer ends, and it may not go on.
    [[nodiscard]] bool SetOwner(gen::PID owner);
    void Set(Activity activity);

   private:
    friend class Connections;

    Connections& all_;
    gen::PID owner_;  // nobody's as long as its process has not begun
    Activity activity_ = Activity::kAnswers;
    std::uint64_t since_ = 0;  // the order of Set
  };

  // Null: there are as many as may be, or the observer ends.
  [[nodiscard]] std::shared_ptr<Place> Enter();
  // The process of the one that has waited longest for a request or, if none waits, has read longest at one or, if none
  // reads, has written longest at an answer: it has lost its place. None: all answer.
  [[nodiscard]] std::optional<gen::PID> TakeOldest();
  // From now on there is no place. Returns the processes that have one.
  [[nodiscard]] std::vector<gen::PID> Close();
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t CountOf(Activity activity) const;

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::vector<Place*> places_;
  std::uint64_t changes_ = 0;
  bool is_closed_ = false;
};

}  // namespace ergon::node
