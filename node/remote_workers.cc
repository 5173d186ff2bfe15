#include <ergon/node/remote_workers.h>

#include <memory>
#include <utility>

#include <ergon/node/cluster/workers/remote_worker.h>
#include <ergon/node/cluster/workers/worker_places.h>

namespace ergon::dist {

gen::ProcessFactory RemoteWorkers(RemoteWorkersOptions options) {
  auto places = std::make_shared<WorkerPlaces>(options.nodes);
  return gen::Factory<RemoteWorker>(
      std::make_shared<const RemoteWorkersOptions>(std::move(options)), std::move(places));
}

}  // namespace ergon::dist
