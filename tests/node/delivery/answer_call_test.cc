// The short way of an answer is for the process that waits for it, and for nobody else.
#include <ergon/node/delivery/answer_call.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ergon/node/runtime/runtime.h>

#include <node/subject.h>

namespace ergon::node::answer_call_test {
namespace {

// A callee that leaves each request open, and notes who has asked, and with which id.
struct Open {
  Open() {
    callee = t.Spawn({.call = [this](Subject&, gen::PID from, gen::Ref ref, gen::Message&) {
      refs.Add({from, ref});
      return gen::NoReply();
    }});
  }
  [[nodiscard]] std::pair<gen::PID, gen::Ref> Await(std::size_t number) {
    REQUIRE(kit::Eventually([&] { return refs.size() == number; }));
    return refs.All().back();
  }
  // Whether the answer was taken; else it must still be here.
  [[nodiscard]] bool Answer(gen::PID from, std::uint64_t id, int value) {
    core::EnvelopePtr answer = gen::detail::MakeResponse(value);
    const bool is_taken = AnswerCall(RuntimeOf(t.node, "test").addresses(), from, id, answer);
    CHECK((answer == nullptr) == is_taken);
    if (answer != nullptr) CHECK(*answer->ValueAs<int>() == value);
    return is_taken;
  }

  Notes<std::pair<gen::PID, gen::Ref>> refs;
  TestNode t;
  gen::PID callee;
};

TEST_CASE("answer call: the first answer with the id of the wait is taken, no other one") {
  Open open;
  const gen::PID caller = open.t.Spawn();
  for (const std::size_t number : {1u, 2u}) {
    std::atomic<int> got{0};
    open.t.Begin(
        caller, [&](Subject& self) { got = self.Call<int>(open.callee, Ask{}, kPatient).value(); });
    const auto [from, ref] = open.Await(number);
    CHECK(from == caller);
    CHECK_FALSE(open.Answer(from, ref.id + 1, 1));
    CHECK_FALSE(open.Answer(open.callee, ref.id, 2));  // it waits for nothing
    CHECK(open.Answer(from, ref.id, 3));               // schedules it
    CHECK(kit::Eventually([&] { return got == 3; }));
    CHECK_FALSE(open.Answer(from, ref.id, 4));  // too late
  }
}

TEST_CASE(
    "answer call: what is no process of this node that waits in a Call is left to the caller") {
  Open open;
  std::atomic<int> got{0};
  const gen::PID asker =
      open.t.Spawn({.response = [&](Subject&, gen::Ref, gen::Response& response) {
        got = *response.As<int>();
        return gen::Continue();
      }});
  CHECK(
      open.t.Run(asker, [&](Subject& self) { CHECK(self.Request(open.callee, Ask{}, kPatient)); }));
  // A request without a stack: the process has not to be resumed, but to get a message.
  const auto [from, ref] = open.Await(1);
  CHECK(from == asker);
  CHECK_FALSE(open.Answer(from, ref.id, 1));

  auto answer = open.t.node.CallAsync<int>(open.callee, Ask{}, kPatient);
  const auto of_thread = open.Await(2);
  CHECK_FALSE(open.Answer(of_thread.first, of_thread.second.id, 2));
  CHECK_FALSE(open.Answer({from.id, gen::Atom("other@localhost"), from.creation}, ref.id, 3));
  CHECK_FALSE(open.Answer({from.id | 0x00ffffff, from.node, from.creation}, ref.id, 4));

  // Who may answer in any way does so.
  CHECK(open.t.Run(open.callee, [&, from = from, ref = ref](Subject& self) {
    CHECK(self.SendResponse(from, ref, 5));
    CHECK(self.SendResponse(of_thread.first, of_thread.second, 6));
  }));
  CHECK(kit::Eventually([&] { return got == 5; }));
  CHECK(answer.get().value() == 6);
}

}  // namespace
}  // namespace ergon::node::answer_call_test
