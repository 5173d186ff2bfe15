// The types of messages that can go to other nodes and come from there.
#pragma once

#include <memory>
#include <vector>

namespace ergon::dist {
struct WireType;
// How a type is written and read: node/erlang/archive.h.
template <class T>
struct WireTypeOf;
}  // namespace ergon::dist

namespace ergon::gen {

// Types of the library (integers, double, bool, std::string, Atom, PID, dist::Term) need not be registered.
class WireTypes {
 public:
  // T is described by `template <class Archive> void serialize(Archive& archive)`, in which it gives the archive its
  // fields; see <ergon/node/erlang.h>, to be included here. Again: nothing. What is wrong is told by the node's start.
  template <class T>
  WireTypes& Register() {
    static_assert(
        requires { dist::WireTypeOf<T>::Describe(); },
        "a type for other nodes: #include <ergon/node/erlang.h> first");
    return Add(dist::WireTypeOf<T>::Describe());
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
