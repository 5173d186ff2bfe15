// What CallAsync's future gets.
#include <atomic>
#include <exception>
#include <future>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "subject.h"

namespace ergon::node {
namespace {

// Throws when it is moved once too often, and says on which thread.
struct Fragile {
  explicit Fragile(int moves_in) : moves(moves_in) {}
  Fragile(Fragile&& other) noexcept(false) : moves(other.moves - 1) {
    if (moves >= 0) return;
    std::ostringstream thread;
    thread << std::this_thread::get_id();
    throw std::runtime_error(thread.str());
  }
  int moves;
};

TEST_CASE("call async: what the answer's move constructor throws is in the future") {
  // Let go of when the node's threads have ended: the count of an exception's owners is in a library that is not
  // instrumented, so that to the thread sanitizer the last of them frees what another still reads.
  std::vector<std::exception_ptr> exceptions;
  TestNode t;
  std::ostringstream own;
  own << std::this_thread::get_id();
  int thrown_elsewhere = 0;
  bool arrived = false;
  for (int moves = 0; moves < 20 && !arrived; ++moves) {
    CAPTURE(moves);
    const gen::PID pid = t.Spawn({.call = [moves](Subject&, gen::PID, gen::Ref, gen::Message&) {
      return gen::Reply(Fragile(moves));
    }});
    auto call = t.node.CallAsync<Fragile>(pid, Ask{}, kPatient);
    bool ended = false;
    try {
      const auto answer = call.get();
      arrived = answer.has_value();
      // With too few moves for its own handler, the callee fails.
      ended = !arrived;
      if (ended) CHECK(answer.error() == gen::ErrProcessTerminated);
    } catch (const std::runtime_error& error) {
      exceptions.push_back(std::current_exception());
      thrown_elsewhere += error.what() != own.str() ? 1 : 0;
    }
    if (ended) continue;
    // It is no business of the one who has answered.
    CHECK(t.Run(pid, [](Subject&) {}));
  }
  CHECK(arrived);
  CHECK(thrown_elsewhere > 0);
}

}  // namespace
}  // namespace ergon::node
