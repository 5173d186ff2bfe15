// What Erlang's module sys is told: the terms.
#include <ergon/node/dist/system_answers.h>

#include <string>

#include <doctest/doctest.h>

#include <dist/terms.h>

namespace ergon::dist {
namespace {

using Form = PeerState::AnswerForm;
using terms::Binary;
using terms::SmallAtom;
using terms::Tuple;

std::string AnswerOf(Form form, const gen::Inspection* inspection) {
  PeerState::Request request;
  request.asked = {12, gen::Atom("own@h"), 7};
  request.answer = form;
  std::string term;
  AppendSystemAnswer(term, request, inspection);
  return term;
}

}  // namespace

TEST_CASE("system answers: a state is told as OTP 26.1 and later want it") {
  const gen::Inspection inspection{{"lines", "7"}};
  CHECK(AnswerOf(Form::kState, &inspection) ==
        Tuple({SmallAtom("ok"), terms::Map({Binary("lines"), Binary("7")})}));
  CHECK(AnswerOf(Form::kState, nullptr) == Tuple({SmallAtom("ok"), terms::Map({})}));
}

TEST_CASE("system answers: a status has the state as the last of its parts") {
  const gen::Inspection inspection{{"lines", "7"}};
  const std::string pid = terms::Pid("own@h", 12, 0, 7);
  CHECK(AnswerOf(Form::kStatus, &inspection) ==
        Tuple({SmallAtom("status"), pid, Tuple({SmallAtom("module"), SmallAtom("ergon")}),
               terms::List({terms::kNil, SmallAtom("running"), pid, terms::kNil,
                            terms::List({terms::Map({Binary("lines"), Binary("7")})})})}));
}

TEST_CASE("system answers: suspend and resume are answered with ok") {
  CHECK(AnswerOf(Form::kOk, nullptr) == SmallAtom("ok"));
}

}  // namespace ergon::dist
