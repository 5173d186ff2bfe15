// What other nodes may run here: how it is registered. What they see of it: cluster_test.escript.
#include <future>
#include <string>
#include <vector>

#include <dist/cluster.h>

namespace ergon::dist {
namespace {

// Runs the only function that is registered, in a process of a node.
gen::Result<Term> RunOnce(const RemoteFunctions& functions, const std::vector<Term>& arguments) {
  std::promise<gen::Result<Term>> outcome;
  auto* const told = &outcome;
  auto node = node::Start("code@localhost").value();
  node.Spawn([&functions, &arguments, told](gen::Process& self) {
        told->set_value(functions.All().front().run(self, arguments));
      })
      .value();
  return outcome.get_future().get();
}

// The error of a node that is started with these options.
std::string StartError(const ErlangOptions& options) {
  kit::LogCapture log;
  const auto node = TryStart("refused_code@127.0.0.1", log, options);
  return node ? std::string() : node.error().ToString();
}

class Idle : public act::Actor {};

}  // namespace

TEST_CASE("remote code: arguments and results are values as in messages") {
  RemoteFunctions functions;
  functions.Register("m", "f", [](const std::string& text, std::vector<int> numbers, Line line) {
    return std::vector<std::string>{text, line.text, std::to_string(numbers.at(1))};
  });
  CHECK(functions.All().front().arity == 3);
  const auto result =
      RunOnce(functions, {Term::Of("a"), Term::List({1, 2}), Term::Of(Line{1, "text"})});
  CHECK(result.value().ToString() == R"([<<"a">>,<<"text">>,<<"2">>])");
}

TEST_CASE("remote code: an argument that does not fit is named") {
  RemoteFunctions functions;
  functions.Register("m", "f", [](int, const Line&) { return 1; });
  CHECK(RunOnce(functions, {Term::Atom("x"), Term::Atom("y")}).error().detail() ==
        "argument 1: expected an integer of -2147483648..2147483647, found x");
  const auto second = RunOnce(functions, {1, Term::Tuple({Term::Atom("line"), 1, 2})});
  CHECK(second.error() == gen::ErrIncorrect);
  CHECK(second.error().detail() == "argument 2: line.2: expected a binary, found 2");
}

TEST_CASE(
    "remote code: a function may return nothing, a result, a term; and it knows its process") {
  RemoteFunctions nothing;
  nothing.Register("m", "f", [] {});
  CHECK(RunOnce(nothing, {}).value() == Term::Atom("ok"));
  RemoteFunctions fails;
  fails.Register("m", "f", []() -> gen::Result<void> { return gen::ErrTimeout; });
  CHECK(RunOnce(fails, {}).error() == gen::ErrTimeout);
  RemoteFunctions term;
  term.Register("m", "f", [](const Term& any) -> gen::Result<Term> { return any; });
  CHECK(RunOnce(term, {Term::List({1})}).value() == Term::List({1}));
  RemoteFunctions self;
  self.Register("m", "f",
                [](gen::Process& process, int add) { return process.Sleep(1ms) ? add + 1 : 0; });
  CHECK(self.All().front().arity == 1);
  CHECK(RunOnce(self, {41}).value() == Term(42));
  RemoteFunctions infinite;
  infinite.Register("m", "f", [] { return 1e308 * 10; });
  CHECK(RunOnce(infinite, {}).error().detail().starts_with("result: "));
}

TEST_CASE("remote code: what is wrong with it is told when the node starts") {
  ErlangOptions twice = ClusterOptions();
  twice.functions.Register("m", "f", [](int) {}).Register("m", "f", [](int, int) {});
  CHECK(StartError(twice).empty());
  twice.functions.Register("m", "f", [](const std::string&) {});
  CHECK(StartError(twice).find("functions: m:f of the same arguments twice") != std::string::npos);

  ErlangOptions nameless = ClusterOptions();
  nameless.functions.Register("m", "", [] {});
  CHECK(StartError(nameless).find("functions: 'm:' has an empty name") != std::string::npos);
  ErlangOptions long_name = ClusterOptions();
  long_name.functions.Register(std::string(256, 'x'), "f", [] {});
  CHECK(StartError(long_name).find("functions: xxx") != std::string::npos);
  ErlangOptions empty_function = ClusterOptions();
  empty_function.functions.RegisterAny("m", "f", nullptr);
  CHECK(StartError(empty_function).find("functions: m:f is empty") != std::string::npos);

  ErlangOptions same = ClusterOptions();
  same.behaviors.Register("m", "f", gen::Factory<Idle>()).Register("m", "f", gen::Factory<Idle>());
  CHECK(StartError(same).find("behaviors: m:f twice") != std::string::npos);
  ErlangOptions empty_factory = ClusterOptions();
  empty_factory.behaviors.Register("m", "f", gen::ProcessFactory());
  CHECK(StartError(empty_factory).find("behaviors: m:f is empty") != std::string::npos);
  ErlangOptions none = ClusterOptions();
  none.max_remote_processes = 0;
  CHECK(StartError(none).find("max_remote_processes") != std::string::npos);
}

}  // namespace ergon::dist
