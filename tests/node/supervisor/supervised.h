// Supervisors on a node, with children that do nothing.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/act/supervisor.h>

#include <kit/supervisor.h>

#include <node/subject.h>

namespace ergon::node {

// Children a, b, c, ... that do nothing.
inline std::vector<act::SupervisorChildSpec> Children(int count, const Handlers& handlers = {}) {
  std::vector<act::SupervisorChildSpec> children;
  for (int i = 0; i < count; ++i) {
    children.push_back(
        {.name = std::string(1, static_cast<char>('a' + i)), .factory = Make(handlers)});
  }
  return children;
}

// A node whose supervisors write into a diary.
struct Supervised : TestNode {
  using TestNode::TestNode;

  gen::PID Start(act::SupervisorSpec spec) {
    return node.Spawn(kit::MakeSupervisor(std::move(spec), &diary)).value();
  }
  gen::PID Child(gen::Atom name) { return node.Resolve(name).value_or(gen::PID()); }
  // Ends a child and waits for it.
  void EndChild(gen::PID pid, gen::Reason reason) {
    node.Send(pid, End{std::move(reason)}).value();
    REQUIRE(Ended(pid));
  }
  bool EventuallyLines(const std::vector<std::string>& lines) {
    return kit::Eventually([&] { return diary.Lines() == lines; });
  }
  template <class R, class T>
  gen::Result<R> Ask(gen::PID supervisor, T request) {
    return node.Call<R>(supervisor, std::move(request),
                        {.timeout = kit::kDeadline, .priority = gen::MessagePriority::kHigh});
  }
  void In(gen::PID supervisor, std::function<void(kit::SpecSupervisor&)> function) {
    REQUIRE(node.Call<bool>(supervisor, kit::ManageChildren{std::move(function)},
                            {.timeout = kit::kDeadline}));
  }

  kit::Diary diary;  // used by supervisors until `node` has stopped: see ~Supervised
  ~Supervised() { node.Stop(); }
};

inline const gen::Reason kFailure = gen::Reason::Error("failure");

}  // namespace ergon::node
