// On which node the next worker of a pool is started: pure policy, without network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <ergon/gen/atom.h>

namespace ergon::dist {

// The nodes of the workers of one pool, and how many workers each has. Any thread. Times are nanoseconds of one clock.
class WorkerPlaces : public std::enable_shared_from_this<WorkerPlaces> {
 public:
  // A node that could not be reached is passed by for so long, then for twice as long, up to the maximum.
  static constexpr std::int64_t kFirstPause = 100'000'000;
  static constexpr std::int64_t kLongestPause = 10'000'000'000;

  // A worker on a node, or one that is about to be started there; given back when it is destroyed.
  class Place {
   public:
    Place(std::shared_ptr<WorkerPlaces> places, std::size_t index);
    Place(Place&& other) noexcept = default;
    Place& operator=(Place&& other) noexcept = delete;
    ~Place();

    [[nodiscard]] gen::Atom node() const;
    // The node was reached, or not.
    void Reached();
    void NotReached(std::int64_t now);

   private:
    std::shared_ptr<WorkerPlaces> places_;  // null: moved from
    std::size_t index_;
  };

  explicit WorkerPlaces(const std::vector<gen::Atom>& nodes);

  // Returns a place on the node with the fewest workers among those that are not in `tried`, and notes the node there.
  // A node that could not be reached is left out until its pause is over. If all are left out, and nothing has been
  // tried yet, it is the node whose pause ends first. Returns nothing if no node is left.
  std::optional<Place> TakeBest(std::vector<bool>& tried, std::int64_t now);

 private:
  struct Node {
    gen::Atom name;
    int workers = 0;
    std::int64_t pause = 0;
    std::int64_t paused_until = 0;
  };

  std::mutex mutex_;
  std::vector<Node> nodes_;  // guarded by it, but for their number and names
};

}  // namespace ergon::dist
