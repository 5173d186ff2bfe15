// Spawns the workers of a pool.
#pragma once

#include <vector>

#include <ergon/act/pool_options.h>
#include <ergon/gen/host/pool_host.h>

namespace ergon::act {

class PoolSpawner {
 public:
  PoolSpawner(gen::PoolHost& host, const PoolOptions& options);

  // Starts `count` workers and returns when all have finished their Init. If one fails, the others
  // are killed and its error is returned; the text says which worker it was.
  gen::Result<std::vector<gen::PID>> SpawnAll(int count);
  // Starts one worker without waiting for its Init; see PoolHost::SpawnWorkerAsync.
  gen::Result<gen::PID> SpawnReplacement();
  // Takes the mailbox's size and kind from `options` for workers that are started from now on.
  void SetMailbox(const PoolOptions& options);

 private:
  gen::PoolHost& host_;
  const gen::ProcessFactory factory_;
  gen::ProcessOptions options_;
  const gen::Args args_;
};

}  // namespace ergon::act
