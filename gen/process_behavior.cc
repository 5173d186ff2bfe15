#include <ergon/core/foundations/demangle.h>
#include <ergon/core/foundations/tell_thrown.h>
#include <ergon/core/messages/envelope_pool.h>
#include <ergon/core/messages/envelope_sizes.h>
#include <ergon/gen/process_behavior.h>

#include <cstdint>
#include <optional>
#include <typeinfo>
#include <utility>

namespace ergon::gen {

void* ProcessBehavior::operator new(std::size_t bytes) {
  std::uint8_t size_class = 0;  // EnvelopeClassOf(bytes), which `delete` knows, too
  return core::AllocateEnvelope(bytes, size_class);
}

void ProcessBehavior::operator delete(void* memory, std::size_t bytes) noexcept {
  core::FreeEnvelope(memory, core::EnvelopeClassOf(bytes));
}

std::string ProcessBehavior::BehaviorName() const {
  const ProcessBehavior& self = *this;
  return core::Demangle(typeid(self).name());
}

std::string BehaviorNameOf(const ProcessBehavior& behavior) {
  std::optional<std::string> name;
  core::CallUser("BehaviorName", [&] { name = behavior.BehaviorName(); });
  return name ? std::move(*name) : core::Demangle(typeid(behavior).name());
}

}  // namespace ergon::gen
