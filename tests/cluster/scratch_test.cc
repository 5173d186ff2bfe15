#include <ergon/node/cluster/signals/scratch.h>

#include <memory>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/cluster/signals/signal_codec.h>

namespace ergon::dist {

TEST_CASE(
    "scratch: empty, the same memory again, and another one for whoever needs one meanwhile") {
  const char* memory = nullptr;
  {
    Scratch first;
    std::string& bytes = first.Empty();
    CHECK(bytes.empty());
    bytes.assign(1000, 'x');
    memory = bytes.data();
    Scratch second;
    std::string& others = second.Empty();
    CHECK(others.empty());
    others = "second";
    CHECK(bytes == std::string(1000, 'x'));
  }
  Scratch again;
  CHECK(again.Empty().empty());
  CHECK(again.Empty().data() == memory);
}

TEST_CASE("scratch: what another thread has given back is used again") {
  auto lent = std::make_unique<Scratch>();
  lent->Empty().assign(1000, 'x');
  const char* const memory = lent->Empty().data();
  std::thread([&] { lent.reset(); }).join();
  Scratch again;
  CHECK(again.Empty().data() == memory);
}

TEST_CASE("scratch: a large one is not kept") {
  {
    Scratch large;
    large.Empty().reserve(16 * 1024 * 1024);
  }
  Scratch again;
  CHECK(again.Empty().capacity() < 1024 * 1024);
}

TEST_CASE("scratch: the head of a message is that of its processes, whatever was made before") {
  const gen::PID own{1, gen::Atom("own@h"), 5};
  const gen::PID peer{2, gen::Atom("peer@h"), 7};
  const auto check = [](gen::PID from, gen::PID to) {
    CAPTURE(from);
    CAPTURE(to);
    std::string expected;
    OpenMessage(expected, from, to);
    Scratch scratch;
    std::string& bytes = scratch.OfMessage(from, to);
    // The length may be that of a former frame.
    CloseFrame(expected, 0);
    CloseFrame(bytes, 0);
    CHECK(bytes == expected);
    bytes += "a payload";
  };
  check(own, peer);
  check(own, peer);
  for (const gen::PID& from : {gen::PID{3, own.node, 5}, gen::PID{1, gen::Atom("other@h"), 5},
                               gen::PID{1, own.node, 6}, gen::PID()}) {
    check(from, peer);
    check(from, peer);
    check(own, peer);
  }
  for (const gen::PID& to : {gen::PID{3, peer.node, 7}, gen::PID{2, gen::Atom("other@h"), 7},
                             gen::PID{2, peer.node, 8}}) {
    check(own, to);
    check(own, to);
    check(own, peer);
  }
  SUBCASE("something else") {
    Scratch scratch;
    scratch.Empty() = "something else";
  }
  SUBCASE("a large frame") {
    Scratch scratch;
    scratch.OfMessage(own, peer).resize(16 * 1024 * 1024);
  }
  SUBCASE("meanwhile") {
    Scratch outer;
    const std::string before = outer.OfMessage(own, peer);
    check(peer, own);
    CHECK(outer.OfMessage(own, peer) == before);
  }
  check(own, peer);
}

TEST_CASE("scratch: the frames of messages that follow each other, each with its own length") {
  const gen::PID own{1, gen::Atom("own@h"), 5};
  const gen::PID peer{2, gen::Atom("peer@h"), 7};
  for (const std::string& payload :
       {std::string("first"), std::string(1000, 'x'), std::string(), std::string("last")}) {
    CAPTURE(payload);
    std::string expected;
    OpenMessage(expected, own, peer);
    expected += payload;
    CloseFrame(expected, 0);
    Scratch scratch;
    std::string& frame = scratch.OfMessage(own, peer);
    frame += payload;
    CloseFrame(frame, 0);
    CHECK(frame == expected);
  }
}

}  // namespace ergon::dist
