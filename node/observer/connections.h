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

  // The place of one connection, which it leaves when it is destroyed. It must not outlive the others.
  class Place {
   public:
    explicit Place(Connections& all) : all_(all) {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();

    // Which process has it. False: the observer ends, and it may not go on.
    [[nodiscard]] bool SetOwner(gen::PID owner);
    // It waits for a request, or no longer.
    void SetIdle(bool idle);

   private:
    friend class Connections;

    Connections& all_;
    gen::PID owner_;                // nobody's as long as its process has not begun
    std::uint64_t idle_since_ = 0;  // the order of becoming idle; 0: it is not
  };

  // Null: there are as many as may be, or the observer ends.
  [[nodiscard]] std::shared_ptr<Place> Enter();
  // The process of the one that has waited longest for a request, which has lost its place. None: none waits.
  [[nodiscard]] std::optional<gen::PID> TakeOldestIdle();
  // From now on there is no place. Returns the processes that have one.
  [[nodiscard]] std::vector<gen::PID> Close();
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t idle() const;  // of those, the ones that wait for a request

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::vector<Place*> places_;
  std::uint64_t idle_count_ = 0;
  bool is_closed_ = false;
};

}  // namespace ergon::node
