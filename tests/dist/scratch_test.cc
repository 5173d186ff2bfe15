#include <ergon/node/dist/scratch.h>

#include <memory>
#include <string>
#include <thread>

#include <doctest/doctest.h>

namespace ergon::dist {

TEST_CASE(
    "scratch: empty, the same memory again, and another one for whoever needs one meanwhile") {
  const char* memory = nullptr;
  {
    Scratch first;
    CHECK(first.bytes().empty());
    first.bytes().assign(1000, 'x');
    memory = first.bytes().data();
    Scratch second;
    CHECK(second.bytes().empty());
    second.bytes() = "second";
    CHECK(first.bytes() == std::string(1000, 'x'));
  }
  Scratch again;
  CHECK(again.bytes().empty());
  CHECK(again.bytes().data() == memory);
}

TEST_CASE("scratch: what another thread has given back is used again") {
  auto lent = std::make_unique<Scratch>();
  lent->bytes().assign(1000, 'x');
  const char* const memory = lent->bytes().data();
  std::thread([&] { lent.reset(); }).join();
  Scratch again;
  CHECK(again.bytes().data() == memory);
}

TEST_CASE("scratch: a large one is not kept") {
  {
    Scratch large;
    large.bytes().reserve(16 * 1024 * 1024);
  }
  Scratch again;
  CHECK(again.bytes().capacity() < 1024 * 1024);
}

}  // namespace ergon::dist
