#include <ergon/gen/pid.h>

#include <type_traits>
#include <unordered_set>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

static_assert(std::is_trivially_copyable_v<PID>);
static_assert(sizeof(PID) == 16);

PID Make(std::uint64_t slot, std::uint64_t generation) {
  return {generation << 32 | slot, Atom("demo@localhost"), 7};
}

TEST_CASE("pid: nobody's") {
  CHECK_FALSE(PID());
  CHECK(PID() == PID());
  CHECK(bool(Make(0, 1)));
}

TEST_CASE("pid: every field counts") {
  const PID pid = Make(12, 1);
  CHECK(pid == Make(12, 1));
  CHECK(pid != Make(13, 1));
  CHECK(pid != Make(12, 2));
  PID other = pid;
  other.node = Atom("other@localhost");
  CHECK(pid != other);
  other = pid;
  other.creation = 8;
  CHECK(pid != other);
  CHECK(pid < other);
}

TEST_CASE("pid: as text") {
  CHECK(Make(12, 1).ToString() == "<demo@localhost.12.1>");
  CHECK(Make(0xffffffff, 0xffffffff).ToString() == "<demo@localhost.4294967295.4294967295>");
  CHECK(fmt::format("{}", Make(3, 4)) == "<demo@localhost.3.4>");
  CHECK(PID().ToString() == "<.0.0>");
}

TEST_CASE("pid: to the layer below and back") {
  const PID pid = Make(12, 3);
  const core::Address address = pid.ToAddress();
  CHECK(address.id == pid.id);
  CHECK(address.node == pid.node.Index());
  CHECK(address.creation == 7);
  CHECK(PID::FromAddress(address) == pid);
  CHECK(PID::FromAddress(core::Address{}) == PID());
}

TEST_CASE("pid: as a key") {
  std::unordered_set<PID> set;
  for (std::uint64_t slot = 0; slot < 100; ++slot) {
    for (std::uint64_t generation = 1; generation <= 10; ++generation) {
      set.insert(Make(slot, generation));
    }
  }
  CHECK(set.size() == 1000);
  CHECK(set.count(Make(99, 10)) == 1);
  CHECK(set.count(Make(99, 11)) == 0);
}

}  // namespace
}  // namespace ergon::gen
