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
class OpenConnections {
 public:
  explicit OpenConnections(std::size_t most) : most_(most) {}
  OpenConnections(const OpenConnections&) = delete;
  OpenConnections& operator=(const OpenConnections&) = delete;

  // What a connection does; those that may give way come first.
  enum class Activity : std::uint8_t {
    kWaits,   // for a request
    kReads,   // one that has begun to come
    kWrites,  // an answer, which its client has yet to take
    kAnswers,
  };

  // The place of one connection, which it leaves when it is destroyed. It must not outlive the others.
  class Place {
   public:
    explicit Place(OpenConnections& all) : all_(all) {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();

    // Sets the process of the connection. Returns false if the observer ends, and the connection may not go on.
    [[nodiscard]] bool SetOwner(gen::PID owner);
    void Set(Activity activity);

   private:
    friend class OpenConnections;

    OpenConnections& all_;
    gen::PID owner_;  // the empty PID until its process has begun
    Activity activity_ = Activity::kAnswers;
    std::uint64_t since_ = 0;  // the order of Set
  };

  // Returns a place; null if there are as many as may be, or the observer ends.
  [[nodiscard]] std::shared_ptr<Place> Enter();
  // Takes the place of the connection that has waited longest for a request; else of the one that has read a request
  // for longest; else of the one that has written an answer for longest. Returns its process; std::nullopt if the
  // observer is making the answers of all.
  [[nodiscard]] std::optional<gen::PID> TakeOldest();
  // Refuses new connections from now on. Returns the processes that have a place.
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
