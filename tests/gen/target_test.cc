#include <ergon/gen/target.h>

#include <optional>
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
  const Atom printer("printer");
  const std::string text = "printer";
  for (const Target& target : {Target("printer"), Target(text), Target(Atom("printer"))}) {
    REQUIRE(target.AsProcessID() != nullptr);
    CHECK(target.AsProcessID()->name == Atom("printer"));
    CHECK(target.AsProcessID()->node.empty());
    CHECK(target.AsPID() == nullptr);
  }
  CHECK(Describe("printer") == "'printer'");
}

TEST_CASE("target: a text that is no atom stays one") {
  const std::string text = "target test: nobody";
  const Target target(text);
  REQUIRE(target.AsUnknownName() != nullptr);
  CHECK(*target.AsUnknownName() == text);
  CHECK(target.AsPID() == nullptr);
  CHECK(target.AsProcessID() == nullptr);
  CHECK(target.AsAlias() == nullptr);
  CHECK(target.Tag() == 0);
  CHECK(Describe(target) == "'target test: nobody'");
  CHECK(target.Check());
  const Target copy = target;
  CHECK(*copy.AsUnknownName() == text);
  CHECK(Atom::Find(text) == std::nullopt);
  // Until somebody makes it one.
  const Target kept = target.Kept().value();
  REQUIRE(kept.AsProcessID() != nullptr);
  CHECK(kept.AsProcessID()->name.Text() == text);
  CHECK(target.Tag() == kept.Tag());
  CHECK(kept.Tag() != 0);
}

TEST_CASE("target: a text that is too long to be a name") {
  const Target target(std::string(Atom::kMaxBytes + 1, 'x'));
  const std::string problem =
      "name: 256 bytes, at most 255 are possible: " + std::string(40, 'x') + "...";
  REQUIRE_FALSE(target.Check());
  CHECK(target.Check().error() == ErrIncorrect);
  CHECK(target.Check().error().detail() == problem);
  REQUIRE_FALSE(target.Kept());
  CHECK(target.Kept().error().detail() == problem);
  CHECK(target.Tag() == 0);
  CHECK(Target(std::string(Atom::kMaxBytes, 'y')).Check());
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
