#include <ergon/core/foundations/number_text.h>

#include <chrono>

#include <doctest/doctest.h>

namespace ergon::core::number_text_test {

using namespace std::chrono_literals;

TEST_CASE("number text: an exact time is in the largest unit that leaves no rest") {
  CHECK(ExactTime(0ns) == "0");
  CHECK(ExactTime(-1ns) == "-1ns");
  CHECK(ExactTime(20us) == "20us");
  CHECK(ExactTime(1500ms) == "1500ms");
  CHECK(ExactTime(2s) == "2s");
  CHECK(ExactTime(90min) == "90min");
  CHECK(ExactTime(1h + 1ns) == "3600000000001ns");
  CHECK(ExactTime(std::chrono::nanoseconds::max()) == "infinite");
}

TEST_CASE("number text: a round time has three digits, however long it is") {
  CHECK(RoundTime(0ns) == "0 ms");
  CHECK(RoundTime(7ns) == "7 ns");
  CHECK(RoundTime(46'250ns) == "46.2 us");
  CHECK(RoundTime(35ms) == "35 ms");
  CHECK(RoundTime(999'700us) == "1 s");
  CHECK(RoundTime(1500ms) == "1.5 s");
  CHECK(RoundTime(12'340ms) == "12.3 s");
  CHECK(RoundTime(1h + 400ms) == "3600 s");
  CHECK(RoundTime(-20ms) == "-20 ms");
}

TEST_CASE("number text: what is counted is named as one or as many") {
  CHECK(Counted(0, "process", "processes") == "0 processes");
  CHECK(Counted(1, "process", "processes") == "1 process");
  CHECK(Counted(2, "process", "processes") == "2 processes");
}

}  // namespace ergon::core::number_text_test
