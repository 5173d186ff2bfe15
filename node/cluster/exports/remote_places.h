// How many processes of other nodes run here, and which of them run the calls of functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <ergon/gen/log.h>
#include <ergon/gen/log_limit.h>
#include <ergon/gen/pid.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/delivery/addresses.h>

namespace ergon::dist {

// Any thread.
class RemotePlaces {
 public:
  // `most`: ErlangOptions::max_remote_processes; outlives this.
  RemotePlaces(node::Addresses& addresses, gen::LogSink& log, const Changeable<std::size_t>& most)
      : addresses_(addresses), log_(log), most_(most) {}

  // Takes a place for one more process. Returns false if there is none.
  [[nodiscard]] bool TakePlace();
  // Gives a place back, and forgets the call with that number.
  void Return(std::uint64_t number);
  // Notes the process of a behaviour, which counts for as long as it lives. `had_place`: its job had taken a place.
  void NoteBehavior(gen::PID pid, bool had_place);

  // Notes which process runs the function for the caller with that number.
  void NoteCall(std::uint64_t number, gen::PID pid);
  // Returns that process, or an empty PID.
  [[nodiscard]] gen::PID FindCall(std::uint64_t number);

 private:
  // Forgets some of the behaviours that have ended. There is no notice of their ends, so this is called when a place is
  // needed. It looks at a few behaviours only, so that a caller that is refused costs little.
  void ForgetEnded();

  node::Addresses& addresses_;
  gen::LogSink& log_;
  const Changeable<std::size_t>& most_;
  std::mutex mutex_;
  // -- guarded by it --
  std::size_t places_ = 0;           // of functions, and of behaviours that are about to be started
  bool was_full_ = false;            // and the log said so
  gen::LogLimit full_lines_;         // of peers that stay at the edge
  std::vector<gen::PID> behaviors_;  // those that are alive, or were
  std::size_t next_look_ = 0;        // among them
  std::unordered_map<std::uint64_t, gen::PID> calls_;  // by the number of the caller's monitor
};

}  // namespace ergon::dist
