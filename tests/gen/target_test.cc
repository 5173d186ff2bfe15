#include <ergon/gen/target.h>

#include <string>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

std::string Describe(const Target& target) { return target.ToString(); }

TEST_CASE("target: a pid") {
  const PID pid{std::uint64_t{1} << 32 | 5, Atom("demo@localhost"), 1};
  const Target target = pid;
  REQUIRE(target.AsPID() != nullptr);
  CHECK(*target.AsPID() == pid);
  CHECK(target.AsProcessID() == nullptr);
  CHECK(target.AsAlias() == nullptr);
  CHECK(Describe(pid) == "<demo@localhost.5.1>");
}

TEST_CASE("target: a name on this node, however it is spelled") {
  const std::string text = "printer";
  for (const Target& target : {Target("printer"), Target(text), Target(Atom("printer"))}) {
    REQUIRE(target.AsProcessID() != nullptr);
    CHECK(target.AsProcessID()->name == Atom("printer"));
    CHECK(target.AsProcessID()->node.empty());
    CHECK(target.AsPID() == nullptr);
  }
  CHECK(Describe("printer") == "<'printer'@>");
}

TEST_CASE("target: a name on another node") {
  const ProcessID id{"printer", "office@localhost"};
  const Target target = id;
  REQUIRE(target.AsProcessID() != nullptr);
  CHECK(*target.AsProcessID() == id);
  CHECK(Describe(id) == "<'printer'@office@localhost>");
}

TEST_CASE("target: an alias") {
  const Alias alias{17, Atom("demo@localhost"), 1};
  const Target target = alias;
  REQUIRE(target.AsAlias() != nullptr);
  CHECK(*target.AsAlias() == alias);
  CHECK(target.AsPID() == nullptr);
  CHECK(Describe(alias) == "Alias#<demo@localhost.17>");
}

}  // namespace
}  // namespace ergon::gen
