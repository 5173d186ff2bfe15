#include <ergon/gen/process_id.h>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

TEST_CASE("process id: a name on a node") {
  const ProcessID id{"divider", "demo@localhost"};
  CHECK(id == ProcessID{"divider", "demo@localhost"});
  CHECK(id != ProcessID{"divider", {}});
  CHECK(id != ProcessID{"adder", "demo@localhost"});
  CHECK((id < ProcessID{"divider", {}}) != (ProcessID{"divider", {}} < id));
}

TEST_CASE("process id: as text") {
  const ProcessID id{"divider", "demo@localhost"};
  CHECK(id.ToString() == "<'divider'@demo@localhost>");
  CHECK(fmt::format("{}", id) == id.ToString());
  CHECK(ProcessID{"divider", {}}.ToString() == "'divider'");
}

}  // namespace
}  // namespace ergon::gen
