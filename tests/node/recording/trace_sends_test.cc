// What a recording has of messages and requests.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <ergon/gen/trace.h>
#include <ergon/node/trace_file.h>

#include <node/recording/trace_reader.h>
#include <node/subject.h>

namespace ergon::node::trace_file_test {

TEST_CASE("trace file: what processes send, within what they handle") {
  const Path path;
  const auto hooks = std::make_shared<Counting>();
  TestNode t({.hooks = hooks});
  const Handlers takes_all{
      .message = [](Subject&, gen::PID, gen::Message&) { return gen::Continue(); },
      .call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::Reply(7); },
      .response = [](Subject&, gen::Ref, gen::Response&) { return gen::Continue(); }};
  const gen::PID receiver = t.Spawn(takes_all);
  const gen::PID sender = t.Spawn(takes_all);
  REQUIRE(t.node.JoinGroup("readers", receiver));
  const auto send = [&](Subject& self) {
    CHECK(self.Send(receiver, 1));
    CHECK(self.SendTraced(receiver, 2, 0xabc));
    CHECK(self.SendOrWait(receiver, 3, kit::kDeadline));
    CHECK(self.SendToGroup("readers", 4).value() == 1);
    CHECK(self.Call<int>(receiver, 5, kPatient).value() == 7);
    CHECK(self.Request(receiver, 6, kPatient));
  };
  const auto record = [&](const TraceFileOptions& options) {
    for (const gen::PID pid : {receiver, sender}) CHECK(t.Run(pid, [](Subject&) {}));
    CHECK(hooks->EventuallyQuiet());  // a turn that has begun before is not recorded
    const auto file = TraceTo(t.node, path.text(), options).value();
    CHECK(t.Run(sender, send));
    CHECK(t.node.Send(receiver, 7));  // of a thread, not of a process
    CHECK(hooks->EventuallyQuiet());
    CHECK(file->End()->left_out == 0);
    return path.Events();
  };
  const auto events = record({.duration = gen::kInfinite});
  const auto moments = Moments(events);
  REQUIRE(moments.size() == 6);
  const std::string trace = gen::TraceText(0xabc);
  const std::string to = receiver.ToString();
  const std::vector<std::vector<std::string>> expected{
      {"sends int", to, ""},        {"sends int", to, trace}, {"sends int", to, ""},
      {"sends int", "a group", ""}, {"calls int", to, ""},    {"calls int", to, ""}};
  const auto slices = Slices(events);
  CheckNesting(slices);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Moment& moment = moments[i];
    CHECK(std::vector<std::string>{moment.name, moment.to, moment.trace} == expected[i]);
    CHECK(Labels(events, 2).at(moment.track).starts_with(sender.ToString()));
    CHECK(std::any_of(slices.begin(), slices.end(), [&](const Slice& slice) {
      return slice.category == "handles" && slice.track == moment.track &&
             slice.begin <= moment.at + kRounding && moment.at <= slice.end + kRounding;
    }));
  }
  CHECK(t.Run(sender, send));  // nobody notes it
  CHECK(Moments(record({.duration = gen::kInfinite, .process = receiver})).empty());
  CHECK(Moments(record({.duration = gen::kInfinite, .sends = false})).empty());
  CHECK(Moments(record({.duration = gen::kInfinite, .process = sender})).size() == 6);
}

TEST_CASE("trace file: however much is sent, it is told or counted, and turns have room") {
  constexpr int kSends = kit::Scaled(20'000, 4);
  constexpr std::uint64_t kMaxBytes = kit::Scaled(1 << 20, 4);
  const Path path;
  const auto hooks = std::make_shared<Counting>();
  TestNode t({.hooks = hooks});
  const gen::PID receiver =
      t.Spawn({.message = [](Subject&, gen::PID, gen::Message&) { return gen::Continue(); }});
  const gen::PID sender = t.Spawn();
  for (const gen::PID pid : {receiver, sender}) CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(hooks->EventuallyQuiet());
  // Of the sender alone, so that nothing but sends is left out: what half of the file has no room for, at least.
  const auto file = TraceTo(t.node, path.text(),
                            {.duration = gen::kInfinite, .process = sender, .max_bytes = kMaxBytes})
                        .value();
  CHECK(t.Run(sender, [&](Subject& self) {
    for (int i = 0; i < kSends; ++i) (void)self.Send(receiver, i);
  }));
  CHECK(hooks->EventuallyQuiet());
  const auto summary = file->End().value();
  const auto events = path.Events();
  CHECK(!summary.is_full);
  CHECK(summary.left_out > kSends / 2);
  CHECK(Moments(events).size() + summary.left_out == kSends);
  const auto slices = Slices(events);
  CHECK(std::any_of(slices.begin(), slices.end(), [&](const Slice& slice) {
    return slice.category == "turn" && slice.name.starts_with(sender.ToString());
  }));
}

}  // namespace ergon::node::trace_file_test
