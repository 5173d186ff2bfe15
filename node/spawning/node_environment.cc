#include <ergon/node/spawning/node_environment.h>

#include <memory>
#include <utility>

namespace ergon::node {

NodeEnvironment::NodeEnvironment(const gen::Environment& values)
    : used_(!values.empty()), values_(std::make_shared<const gen::Environment>(values)) {}

SharedEnvironment NodeEnvironment::Get() const {
  std::lock_guard lock(mutex_);
  return values_;
}

gen::AnyValue NodeEnvironment::Find(std::string_view name) const { return ValueOf(Get(), name); }

void NodeEnvironment::Set(std::string_view name, gen::AnyValue value) {
  SharedEnvironment former;  // goes, with what is the user's, after the lock
  std::lock_guard lock(mutex_);
  NoteUse();
  former = std::exchange(values_, WithValue(values_, name, std::move(value)));
}

}  // namespace ergon::node
