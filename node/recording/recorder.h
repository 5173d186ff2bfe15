// Records what processes do, while a recording runs: the hooks of the turns, and the thread that writes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ergon/core/dispatcher.h>
#include <ergon/core/threaded_dispatcher.h>
#include <ergon/gen/result.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/diagnosis/node_log.h>
#include <ergon/node/process/send_recorder.h>
#include <ergon/node/recording/event_file.h>
#include <ergon/node/recording/trace_file.h>
#include <ergon/node/recording/tracks.h>
#include <ergon/node/spawning/fork_guard.h>

namespace ergon::node {

// The recorder of a node. It outlives the threads of the dispatcher, which may call the hooks after the end of a
// recording. Any thread.
class Recorder final : public core::DispatcherHooks, public SendRecorder {
 public:
  // `others`: the hooks of the node's dispatcher, or null.
  Recorder(const Addresses& addresses, NodeLog& log, const ForkGuard& fork_guard,
           core::DispatcherHooks* others);
  ~Recorder() override;

  // Begins a recording, see TraceTo. `has_own_clock`: the node has a NodeOptions::clock.
  gen::Result<std::shared_ptr<TraceFile>> Begin(core::Dispatcher& dispatcher, bool has_own_clock,
                                                const std::string& path,
                                                const TraceFileOptions& options);
  // Completes the file, if there is one. No recording can begin afterwards.
  void End();

  // -- core::DispatcherHooks: around those of the dispatcher --
  void BeforeTurn(core::Schedulable& schedulable, int worker) override;
  void AfterTurn(core::Schedulable& schedulable, int worker, core::TurnEnd end) override;
  void AfterCompletion(core::Schedulable& schedulable, int worker) override;
  // -- SendRecorder --
  [[nodiscard]] bool NoteSend(const ProcessSlot& from, gen::PID to,
                              const core::Envelope& envelope) override {
    return tracks_.NoteSend(from, to, envelope);
  }

 private:
  class Recording;

  gen::Result<std::uint64_t> CheckProcess(gen::PID pid) const;
  // With mutex_. Throws std::bad_alloc without having begun.
  gen::Result<std::shared_ptr<TraceFile>> BeginRecording(core::ThreadedDispatcher& dispatcher,
                                                         std::uint64_t only,
                                                         const std::string& path,
                                                         const TraceFileOptions& options);
  // `events`: none, with room for those that come together.
  void Run(Recording& recording, std::vector<RecordedEvent> events);
  // Writes and removes the events. Returns false if the file has no room for all of them.
  static bool Write(Recording& recording, std::vector<RecordedEvent>& events,
                    std::uint64_t& left_out);
  void Finish(Recording& recording, std::uint64_t left_out, bool is_full);

  const Addresses& addresses_;
  NodeLog& log_;
  const ForkGuard& fork_guard_;
  core::DispatcherHooks* const others_;
  std::mutex mutex_;
  bool is_ended_ = false;                 // guarded by it
  std::shared_ptr<Recording> recording_;  // guarded by it; the last one
  std::thread writer_;                    // guarded by it
  Tracks tracks_;
};

}  // namespace ergon::node
