#include <ergon/node/observer.h>

#include <utility>

#include <ergon/node/observer/observer_process.h>

namespace ergon::node {

gen::ProcessFactory ObserverFactory(ObserverOptions options) {
  return gen::Factory<ObserverProcess>(std::move(options));
}

}  // namespace ergon::node
