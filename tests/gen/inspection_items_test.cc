#include <ergon/gen/inspection_items.h>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

TEST_CASE("inspection items: none ask for everything, one for itself and what belongs to it") {
  CHECK(IsAskedFor("worker.1", {}));
  CHECK(IsAskedFor("worker.1", {"worker"}));
  CHECK(IsAskedFor("worker.1", {"worker.1"}));
  CHECK(IsAskedFor("child:store:2", {"child"}));
  CHECK(IsAskedFor("child:store:2", {"child:store"}));
  CHECK(IsAskedFor("state", {"color", "state"}));
  CHECK_FALSE(IsAskedFor("workers", {"worker"}));
  CHECK_FALSE(IsAskedFor("worker.12", {"worker.1"}));
  CHECK_FALSE(IsAskedFor("worker", {"worker.1"}));
  CHECK_FALSE(IsAskedFor("state", {""}));
}

TEST_CASE("inspection items: what is not asked for is taken out") {
  const Inspection all = {{"child:a", "1"}, {"state", "2"}, {"worker.1", "3"}};
  Inspection some = all;
  KeepAskedFor(some, {});
  CHECK(some == all);
  KeepAskedFor(some, {"child", "worker"});
  CHECK(some == Inspection{{"child:a", "1"}, {"worker.1", "3"}});
  KeepAskedFor(some, {"none"});
  CHECK(some.empty());
}

}  // namespace
}  // namespace ergon::gen
