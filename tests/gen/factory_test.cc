#include <ergon/gen/factory.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace factory_test {

class Counter : public ProcessBehavior {
 public:
  Counter() = default;
  Counter(std::string name_given, int start_given)
      : name(std::move(name_given)), start(start_given) {}
  Status ProcessInit(ProcessHost&, const Args&) override { return Continue(); }
  Status ProcessMessage(core::Envelope&) override { return Continue(); }
  void ProcessTerminate(const Reason&) override {}

  std::string name;
  int start = 0;
};

class Failing final : public Counter {
 public:
  explicit Failing(const std::string& why) { throw std::runtime_error(why); }
};

Counter& AsCounter(const std::unique_ptr<ProcessBehavior>& behavior) {
  return dynamic_cast<Counter&>(*behavior);
}

TEST_CASE("factory: empty") {
  const ProcessFactory factory;
  CHECK_FALSE(factory);
  CHECK(factory.TypeName() == "");
}

TEST_CASE("factory: makes a new behaviour each time, from the same arguments") {
  std::string name = "one";
  const ProcessFactory factory = Factory<Counter>(name, 5);
  name = "changed";
  CHECK(bool(factory));
  const auto first = factory.Make();
  AsCounter(first).name = "spoilt";
  const auto second = factory.Make();
  CHECK(first != second);
  CHECK(AsCounter(second).name == "one");
  CHECK(AsCounter(second).start == 5);
}

TEST_CASE("factory: without arguments, and from literals") {
  CHECK(AsCounter(Factory<Counter>().Make()).start == 0);
  CHECK(AsCounter(Factory<Counter>("literal", 1).Make()).name == "literal");
}

TEST_CASE("factory: keeps the text that a pointer points to") {
  std::string text = "a name that is too long for a short string";
  const std::string before = text;
  const ProcessFactory factory = Factory<Counter>(text.c_str(), 1);
  text.assign(text.size(), 'x');
  CHECK(AsCounter(factory.Make()).name == before);
  int counted = 7;
  class Counting : public Counter {
   public:
    explicit Counting(int& count) { ++count; }
  };
  const ProcessFactory counts = Factory<Counting>(std::ref(counted));
  (void)counts.Make();
  CHECK(counted == 8);
}

TEST_CASE("factory: copies outlive the original") {
  ProcessFactory copy;
  {
    const ProcessFactory factory = Factory<Counter>(std::string("copied"), 2);
    copy = factory;
  }
  CHECK(AsCounter(copy.Make()).name == "copied");
}

TEST_CASE("factory: names the behaviour") {
  CHECK(Factory<Counter>().TypeName() == "ergon::gen::factory_test::Counter");
  CHECK(Factory<Counter>().Make()->BehaviorName() == "ergon::gen::factory_test::Counter");
}

TEST_CASE("factory: a constructor that throws") {
  const ProcessFactory factory = Factory<Failing>("not today");
  CHECK_THROWS_WITH_AS((void)factory.Make(), "not today", std::runtime_error);
}

TEST_CASE("factory: any function, with or without a type") {
  const ProcessFactory named([] { return std::make_unique<Counter>("made", 9); }, &typeid(Counter));
  CHECK(AsCounter(named.Make()).start == 9);
  CHECK(named.TypeName() == "ergon::gen::factory_test::Counter");
  const ProcessFactory nameless([] { return std::make_unique<Counter>(); }, nullptr);
  CHECK(nameless.TypeName() == "");
  CHECK(bool(nameless));
}

TEST_CASE("factory: a behaviour stops when it is asked to") {
  const Status status = Counter().ProcessStop(Reason::Shutdown());
  CHECK(status.stops());
  CHECK(status.reason() == Reason::Shutdown());
}

}  // namespace factory_test
}  // namespace ergon::gen
