#include <array>
#include <cstring>
#include <string>
#include <typeinfo>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include <ergon/core/foundations/demangle.h>
#include <ergon/core/foundations/signal_text.h>
#include <ergon/core/messages/type_descriptor.h>

namespace ergon::core::signal_text_test {

struct Outer {
  struct Inner {};
};

namespace {

struct Hidden {};

template <class T>
std::string Name() {
  SignalText text;
  text.AddType(typeid(T).name());
  return std::string(text.View());
}

TEST_CASE("signal text: numbers and texts") {
  SignalText text;
  text << "a " << std::uint64_t{0} << " b " << std::uint64_t{256} << " " << ~std::uint64_t{0};
  CHECK(text.View() == "a 0 b 256 18446744073709551615");
}

TEST_CASE("signal text: types have the names that the demangler gives them") {
  CHECK(Name<Outer>() == "ergon::core::signal_text_test::Outer");
  CHECK(Name<Outer::Inner>() == Demangle(typeid(Outer::Inner).name()));
  CHECK(Name<Hidden>() == "ergon::core::signal_text_test::(anonymous namespace)::Hidden");
  CHECK(Name<Hidden>() == Demangle(typeid(Hidden).name()));
  CHECK(Name<std::bad_cast>() == "std::bad_cast");
  CHECK(Name<doctest::TestRunStats>() == "doctest::TestRunStats");
  CHECK(Name<int>() == "int");
  CHECK(Name<std::uint64_t>() == "unsigned long");
  // What it cannot read stays as it is.
  struct Local {};
  CHECK(Name<Local>() == typeid(Local).name());
  CHECK(Name<std::vector<int>>() == typeid(std::vector<int>).name());
  CHECK(Name<int*>() == "Pi");
  for (const char* broken : {"", "N", "NSt", "3ab", "0", "N3abc", "N3abcE1",
                             "99999999999999999999a", "ii", "St", "3abc4def"}) {
    CAPTURE(broken);
    SignalText text;
    text.AddType(broken);
    CHECK(text.View() == broken);
  }
}

TEST_CASE("signal text: what does not fit is left out") {
  SignalText text;
  for (int i = 0; i < 300; ++i) text << "12345678" << std::uint64_t{9};
  CHECK(text.View().size() == 1000);
  CHECK(text.View().substr(990) == "1234567891");
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  text.WriteLine(ends[1]);
  std::array<char, 2000> read_back{};
  CHECK(read(ends[0], read_back.data(), read_back.size()) == 1001);
  CHECK(read_back[1000] == '\n');
  close(ends[0]);
  close(ends[1]);
  text.WriteLine(-1);  // in vain
}

}  // namespace
}  // namespace ergon::core::signal_text_test
