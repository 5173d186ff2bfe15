// What Erlang's tools are told of a process, of a name of C++, and of a node: the terms.
#include <ergon/node/cluster/tools/process_answers.h>

#include <string>

#include <doctest/doctest.h>

#include <ergon/node/cluster/tools/node_answers.h>
#include <ergon/node/cluster/tools/observer_terms.h>

namespace ergon::dist::process_answers_test {
namespace {

gen::ProcessInfo SomeProcess() {
  gen::ProcessInfo info;
  info.pid = {12, gen::Atom("some@h"), 7};
  info.parent = {1, gen::Atom("some@h"), 7};
  info.leader = info.pid;
  info.behavior = "(anonymous namespace)::Worker<shop::Order>";
  info.state = gen::ProcessState::kRunning;
  info.handles = "shop::Order";
  info.messages_queued = 3;
  info.messages_handled = 40;
  info.links = {info.parent};
  info.monitors = {info.parent};
  return info;
}

std::string ItemOf(const gen::ProcessInfo& info, const Term& item, bool is_one_of_several = false) {
  std::string bytes;
  TermWriter writer(bytes);
  if (!WriteProcessItem(writer, info, item, is_one_of_several)) return "";
  return Term::FromChecked(bytes).ToString();
}

}  // namespace

TEST_CASE("process answers: of a name of C++ the last part is the name for tools") {
  CHECK(ShortName("Worker") == "Worker");
  CHECK(ShortName("(anonymous namespace)::Worker") == "Worker");
  CHECK(ShortName("shop::Pool<shop::Order>") == "Pool<shop::Order>");
  CHECK(ShortName("main::{lambda(ergon::gen::Process&)#1}") == "main::{lambda}");
  CHECK(ShortName("shop::Start(shop::Order<int> const&)::{lambda(ergon::gen::Process&)#2}") ==
        "Start::{lambda}");
  CHECK(ShortName("{lambda(int)#1}") == "{lambda(int)#1}");
  CHECK(ShortName("void (*)(ergon::gen::Process&)") == "function");
  CHECK(ShortName("").empty());
}

TEST_CASE("process answers: what is no atom of Erlang is cut, or replaced") {
  const auto name = [](std::string_view text) {
    return MakeTerm([&](TermWriter& writer) { WriteName(writer, text); }).AsAtomText().value();
  };
  CHECK(name("words") == "words");
  CHECK(name(std::string(300, 'x')) == std::string(255, 'x'));
  CHECK(name("\xff") == "not_utf8");
}

TEST_CASE("process answers: the items of process_info") {
  gen::ProcessInfo info = SomeProcess();
  const auto item = [&](const char* name) { return ItemOf(info, Term::Atom(name)); };
  CHECK(item("initial_call") == "{initial_call,{'Worker<shop::Order>',init,1}}");
  CHECK(item("current_function") == "{current_function,{'Worker<shop::Order>','Order',1}}");
  CHECK(item("current_stacktrace") ==
        "{current_stacktrace,[{'Worker<shop::Order>','Order',1,[]}]}");
  CHECK(item("message_queue_len") == "{message_queue_len,3}");
  CHECK(item("reductions") == "{reductions,40}");
  CHECK(item("links") == "{links,[<some@h.1.0>]}");
  CHECK(item("monitors") == "{monitors,[{process,<some@h.1.0>}]}");
  CHECK(item("status") == "{status,running}");
  CHECK(item("trap_exit") == "{trap_exit,false}");
  CHECK(item("nonsense").empty());
  CHECK(ItemOf(info, Term(3)).empty());
  const Term of_dictionary = Term::Tuple({Term::Atom("dictionary"), Term::Atom("$process_label")});
  CHECK(ItemOf(info, of_dictionary) == "{{dictionary,'$process_label'},undefined}");
  CHECK(item("dictionary").find("{behavior,<<\"(anonymous namespace)::Worker<shop::Order>\">>}") !=
        std::string::npos);

  info.handles.clear();
  info.state = gen::ProcessState::kIdle;
  CHECK(item("current_function") == "{current_function,{'Worker<shop::Order>',idle,0}}");
  CHECK(item("status") == "{status,waiting}");
  info.suspended = true;
  CHECK(item("status") == "{status,suspended}");
  // Erlang has an empty list for a name that is not there, but for one of several items.
  CHECK(item("registered_name") == "[]");
  CHECK(ItemOf(info, Term::Atom("registered_name"), true) == "{registered_name,[]}");
  CHECK(!UsualProcessItems(info).Elements().empty());
  CHECK(UsualProcessItems(info).Elements().front()[0] == Term::Atom("current_function"));
  info.name = "told";
  CHECK(item("registered_name") == "{registered_name,told}");
  CHECK(UsualProcessItems(info).Elements().front()[1] == Term::Atom("told"));
}

TEST_CASE("process answers: the record of etop") {
  gen::ProcessInfo info = SomeProcess();
  const auto record = [&] {
    return MakeTerm([&](TermWriter& writer) { WriteEtopProcess(writer, info); }).ToString();
  };
  CHECK(record() ==
        "{etop_proc_info,<some@h.12.0>,0,40,{'Worker<shop::Order>',init,1},0,"
        "{'Worker<shop::Order>','Order',1},3}");
  info.name = "told";
  CHECK(record().find(",40,told,0,") != std::string::npos);
}

TEST_CASE("process answers: kinds of memory, in bytes") {
  CHECK(MemoryOf(Term::Atom("total"))->AsInteger().value() > 1'000'000);
  CHECK(MemoryOf(Term::Atom("ets"))->AsInteger() == 0);
  CHECK(MemoryOf(Term::Atom("nonsense")).error().AsAtom() == gen::Atom("badarg"));
  CHECK(Memory().size() == 9);
}

}  // namespace ergon::dist::process_answers_test
