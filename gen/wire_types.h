// The types of messages that can go to other nodes and come from there.
#pragma once

#include <memory>
#include <vector>

#include <ergon/gen/priority.h>

namespace ergon::dist {
struct WireType;
// How a type is written and read: node/erlang/archive.h.
template <class T>
struct WireTypeOf;
}  // namespace ergon::dist

namespace ergon::gen {

struct WireTypeOptions {
  // The priority of messages and requests of this type that come from other nodes, which send no priorities. Those of
  // kHigh and kMax overtake what waits, are handled by a pool itself, and are never refused by a full mailbox.
  MessagePriority priority = MessagePriority::kNormal;
};

// Types of the library (integers, double, bool, std::string, Atom, PID, dist::Term) need not be registered.
class WireTypes {
 public:
  // Registers T, which describes itself by `template <class Archive> void serialize(Archive& archive)`, in which it
  // gives the archive its fields; see <ergon/node/erlang.h>. Include that header where you call Register. Registering a
  // type twice has no effect; with two priorities the node does not start. node::Start returns what is wrong with a
  // type.
  //
  //   options.types.Register<Count>().Register<Resize>({.priority = gen::MessagePriority::kHigh});
  template <class T>
  WireTypes& Register(const WireTypeOptions& options = {}) {
    static_assert(
        requires { dist::WireTypeOf<T>::Describe(); },
        "a type for other nodes: #include <ergon/node/erlang.h> first");
    return Add(dist::WireTypeOf<T>::Describe(options));
  }

  [[nodiscard]] const std::vector<std::shared_ptr<const dist::WireType>>& All() const noexcept {
    return types_;
  }

 private:
  WireTypes& Add(std::shared_ptr<const dist::WireType> type) {
    types_.push_back(std::move(type));
    return *this;
  }

  std::vector<std::shared_ptr<const dist::WireType>> types_;
};

}  // namespace ergon::gen
