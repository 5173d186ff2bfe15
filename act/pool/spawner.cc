#include <ergon/act/pool/spawner.h>

#include <fmt/core.h>

#include <ergon/gen/host/start_error.h>

namespace ergon::act {
namespace {

gen::ProcessOptions WorkerProcess(const PoolOptions& options) {
  gen::ProcessOptions process;
  process.mailbox_size = options.worker_mailbox_size;
  process.mailbox = options.worker_mailbox;
  process.link_parent = true;
  process.detached = options.worker_detached;
  process.init_timeout = options.worker_init_timeout;
  return process;
}

}  // namespace

PoolSpawner::PoolSpawner(gen::PoolHost& host, const PoolOptions& options)
    : host_(host),
      factory_(options.worker_factory),
      options_(WorkerProcess(options)),
      args_(options.worker_args) {}

void PoolSpawner::SetMailbox(const PoolOptions& options) {
  options_.mailbox_size = options.worker_mailbox_size;
  options_.mailbox = options.worker_mailbox;
}

gen::Result<std::vector<gen::PID>> PoolSpawner::SpawnAll(int count) {
  std::vector<gen::PID> workers;
  for (int i = 1; i <= count; ++i) {
    auto worker = host_.SpawnWorker(factory_, options_, args_);
    if (worker) {
      workers.push_back(*worker);
      continue;
    }
    // Nobody knows the others yet, so nothing waits at them.
    for (const gen::PID pid : workers) (void)host_.Kill(pid);
    return gen::StartErrorOf(fmt::format("worker {} of {}", i, count), worker.error());
  }
  return workers;
}

gen::Result<gen::PID> PoolSpawner::SpawnReplacement() {
  return host_.SpawnWorkerAsync(factory_, options_, args_);
}

}  // namespace ergon::act
