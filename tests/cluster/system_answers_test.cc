// What Erlang's module sys is told: the terms.
#include <ergon/node/cluster/tools/system_answers.h>

#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/node/erlang/term.h>

#include <cluster/terms.h>

namespace ergon::dist::system_answers_test {
namespace {

using AnswerForm = PeerState::AnswerForm;
using terms::Binary;
using terms::SmallAtom;
using terms::Tuple;

std::string AnswerOf(AnswerForm form, const gen::Inspection* inspection) {
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
  CHECK(AnswerOf(AnswerForm::kState, &inspection) ==
        Tuple({SmallAtom("ok"), terms::Map({Binary("lines"), Binary("7")})}));
  CHECK(AnswerOf(AnswerForm::kState, nullptr) == Tuple({SmallAtom("ok"), terms::Map({})}));
}

TEST_CASE("system answers: a status has the state as the last of its parts") {
  const gen::Inspection inspection{{"lines", "7"}};
  const std::string pid = terms::Pid("own@h", 12, 0, 7);
  CHECK(AnswerOf(AnswerForm::kStatus, &inspection) ==
        Tuple({SmallAtom("status"), pid, Tuple({SmallAtom("module"), SmallAtom("ergon")}),
               terms::List({terms::kNil, SmallAtom("running"), pid, terms::kNil,
                            terms::List({terms::Map({Binary("lines"), Binary("7")})})})}));
}

TEST_CASE("system answers: statistics are there at any time") {
  const auto read = [](const std::vector<std::string>& words) {
    std::vector<std::string> atoms;
    for (const std::string& word : words) atoms.push_back(SmallAtom(word));
    return ReadStatisticsRequest(Tuple({SmallAtom("debug"), Tuple(atoms)}), 100);
  };
  CHECK(read({"statistics", "get"}) == StatisticsRequest::kGet);
  CHECK(read({"statistics", "true"}) == StatisticsRequest::kSwitch);
  CHECK(read({"statistics", "false"}) == StatisticsRequest::kSwitch);
  CHECK(read({"statistics", "other"}) == StatisticsRequest::kNone);
  CHECK(read({"trace", "true"}) == StatisticsRequest::kNone);
  CHECK(ReadStatisticsRequest(SmallAtom("get_state"), 100) == StatisticsRequest::kNone);
  std::string term;
  AppendStatistics(term, {.uptime = std::chrono::seconds(5), .messages_in = 7, .messages_out = 3},
                   1'000'000'000);
  const Term statistics = Term::FromChecked(term);
  CHECK(statistics[0] == Term::Atom("ok"));
  CHECK(statistics[1].size() == 5);
  CHECK(statistics[1][0][1][0].size() == 3);
  CHECK(statistics[1][0] != statistics[1][1]);
  CHECK(statistics[1][3].ToString() == "{messages_in,7}");
  CHECK(statistics[1][4].ToString() == "{messages_out,3}");
}

TEST_CASE("system answers: suspend and resume are answered with ok") {
  CHECK(AnswerOf(AnswerForm::kOk, nullptr) == SmallAtom("ok"));
}

}  // namespace ergon::dist::system_answers_test
