#include <ergon/node/cluster/signals/text_head.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <thread>

#include <doctest/doctest.h>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist::text_head_test {
namespace {

std::string FrameOf(const gen::PID& from, const gen::PID& to, const std::string& text) {
  std::string frame;
  OpenMessage(frame, from, to);
  TermWriter(frame).Binary(text);
  CloseFrame(frame, 0);
  return frame;
}

void Check(const gen::PID& from, const gen::PID& to, const std::string& text) {
  CAPTURE(from);
  CAPTURE(to);
  CAPTURE(text.size());
  CHECK(std::string(TextHead(from, to, text.size())).append(text) == FrameOf(from, to, text));
}

}  // namespace

TEST_CASE("text_head: with its text it is the frame, whatever was made before") {
  const gen::PID own{1, gen::Atom("own@h"), 5};
  const gen::PID peer{2, gen::Atom("peer@h"), 7};
  for (const std::size_t size : {5, 0, 100'000, 255, 256, 1}) {
    Check(own, peer, std::string(size, 'x'));
  }
  for (const gen::PID& from : {gen::PID{3, own.node, 5}, gen::PID{1, gen::Atom("other@h"), 5},
                               gen::PID{1, own.node, 6}, gen::PID()}) {
    Check(from, peer, "text");
    Check(own, peer, "text");
  }
  for (const gen::PID& to : {gen::PID{3, peer.node, 7}, gen::PID{2, gen::Atom("other@h"), 7},
                             gen::PID{2, peer.node, 8}}) {
    Check(own, to, "text");
    Check(own, peer, "text");
  }
  const std::string longest(gen::Atom::kMaxBytes, 'n');
  Check({1, gen::Atom(longest), 5}, {2, gen::Atom(longest.substr(1) + "m"), 7}, "text");
}

TEST_CASE("text_head: each thread has its own") {
  const gen::PID own{1, gen::Atom("own@h"), 5};
  const gen::PID peer{2, gen::Atom("peer@h"), 7};
  const std::string_view head = TextHead(own, peer, 4);
  std::thread([&] { Check(peer, own, "of another thread"); }).join();
  CHECK(std::string(head).append("text") == FrameOf(own, peer, "text"));
}

}  // namespace ergon::dist::text_head_test
