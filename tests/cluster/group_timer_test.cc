// When nodes are asked again for the members of their groups: by the order of what happens in one thread.
#include <ergon/node/cluster/groups/group_timer.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

namespace ergon::dist::group_timer_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

class NoMembers final : public node::RemoteMembers {
  std::vector<std::uint64_t> JoinFromAfar(gen::Atom, const std::vector<gen::PID>&) override {
    return {};
  }
  void LeaveFromAfar(gen::Atom, const std::vector<std::uint64_t>&) override {}
};

class NoLog final : public gen::LogSink {
  [[nodiscard]] gen::LogLevel Level() const override { return gen::LogLevel::kOff; }
  void Write(gen::LogLevel, std::string_view) override {}
};

TEST_CASE("group timer: after 100 ms, then twice as late each time, up to the longest pause") {
  asio::io_context context;
  NoMembers members;
  NoLog log;
  AtomBudget atoms(10);
  std::string happened;
  std::vector<std::unique_ptr<asio::steady_timer>> marks;
  const auto mark_after = [&](std::chrono::milliseconds pause, char mark) {
    marks.push_back(std::make_unique<asio::steady_timer>(context, pause));
    marks.back()->async_wait([&happened, mark](const asio::error_code& error) {
      if (!error) happened += mark;
    });
  };
  // Called just before a pause begins: a mark that is begun before it, and as long, comes before its end, and one that
  // is begun when this handler is done comes behind.
  std::deque<std::chrono::milliseconds> pauses;
  const auto expect_pause = [&] {
    if (pauses.empty()) return;
    const auto pause = pauses.front();
    pauses.pop_front();
    mark_after(pause, '<');
    asio::post(context, [&mark_after, pause] { mark_after(pause, '>'); });
  };
  ProcessGroups groups({.members = members,
                        .atoms = atoms,
                        .log = log,
                        .self = gen::PID{1, "here@127.0.0.1", 7},
                        .max_term_depth = 64,
                        .max_frame_bytes = 1024 * 1024,
                        .send =
                            [&](gen::Atom, const Signal&) {
                              happened += '?';
                              expect_pause();
                            },
                        .remind = [] {}});
  GroupTimer timer(context, groups, 300ms);
  groups.Connected("there@127.0.0.1");
  CHECK(happened == "?");
  pauses = {100ms, 200ms, 300ms, 300ms};
  expect_pause();
  timer.Start();
  while (happened.size() < 13) context.run_one();
  CHECK(happened == "?<?><?><?><?>");
  timer.Cancel();
}

}  // namespace
}  // namespace ergon::dist::group_timer_test
