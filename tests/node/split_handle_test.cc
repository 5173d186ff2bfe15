#include <ergon/act/pool.h>

#include <node/subject.h>

namespace ergon::node {
namespace {

struct OddSized {  // of an alignment and a size of its own
  alignas(32) char text[33] = "odd";
};

// Answers and notes how it was addressed.
class Split : public act::Actor {
 public:
  explicit Split(Notes<std::string>* notes) : notes_(*notes) {}
  using Actor::CreateAlias;
  using Actor::SetSplitHandle;

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (auto* work = message.As<std::function<void(Split&)>>()) {
      (*work)(*this);
    } else {
      notes_.Add("pid");
    }
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    return gen::Reply(std::string("pid"));
  }
  gen::Status HandleMessageName(gen::Atom name, gen::PID from, gen::Message& message) override {
    if (message.Is<std::function<void(Split&)>>()) return HandleMessage(from, message);
    notes_.Add("name " + name.ToString());
    return gen::Continue();
  }
  gen::Status HandleMessageAlias(gen::Alias alias, gen::PID, gen::Message& message) override {
    if (const auto* odd = message.As<OddSized>()) CHECK(std::string(odd->text) == "odd");
    notes_.Add("alias " + alias.ToString());
    return gen::Continue();
  }
  gen::CallResult HandleCallName(gen::Atom name, gen::PID, gen::Ref, gen::Message&) override {
    return gen::Reply("name " + name.ToString());
  }
  gen::CallResult HandleCallAlias(gen::Alias alias, gen::PID, gen::Ref, gen::Message&) override {
    return gen::Reply("alias " + alias.ToString());
  }

  Notes<std::string>& notes_;
};

using Work = std::function<void(Split&)>;

TEST_CASE("split handle: by name, by alias, by pid; messages, requests and delayed sends") {
  Notes<std::string> notes;
  TestNode t;
  const gen::PID pid = t.node.SpawnRegister("split", gen::Factory<Split>(&notes)).value();
  std::vector<gen::Alias> aliases;
  auto run = [&](Work work) {
    CHECK(t.node.Send(pid, std::move(work)));
    CHECK(t.node.Call<std::string>(pid, 0));
  };
  run([&](Split& self) {
    for (int i = 0; i < 2; ++i) aliases.push_back(self.CreateAlias().value());
  });
  auto send_all = [&] {
    CHECK(t.node.Send(pid, 1));
    CHECK(t.node.Send("split", 1));
    CHECK(t.node.Send(gen::ProcessID{"split", t.node.Name()}, std::string("text")));
    CHECK(t.node.Send(aliases[0], OddSized{}));
    CHECK(t.node.SendImportant(aliases[1], 'c'));
    CHECK(t.node.Call<std::string>(pid, 1) == "pid");
  };
  send_all();
  CHECK(notes.All() == std::vector<std::string>(5, "pid"));  // it is off
  run([](Split& self) { self.SetSplitHandle(true); });
  send_all();
  auto all = notes.All();
  CHECK(std::vector<std::string>(all.begin() + 5, all.end()) ==
        std::vector<std::string>{"pid", "name split", "name split",
                                 "alias " + aliases[0].ToString(),
                                 "alias " + aliases[1].ToString()});
  CHECK(t.node.Call<std::string>("split", 1) == "name split");
  CHECK(t.node.Call<std::string>(aliases[0], 1, {.timeout = gen::kInfinite}) ==
        "alias " + aliases[0].ToString());
  CHECK(t.node.SendAfter(aliases[1], 1, 0ns));
  CHECK(kit::Eventually([&] { return notes.size() == 11; }));
  CHECK(notes.All().back() == "alias " + aliases[1].ToString());
  const gen::TimerHandle every = t.node.SendEvery("split", 1, 1ms).value();
  CHECK(kit::Eventually([&] { return notes.size() >= 12; }));
  CHECK(every.Cancel());
  CHECK(notes.All()[11] == "name split");
}

TEST_CASE("split handle: what was passed on was not addressed to its receiver") {
  Notes<std::string> notes;
  TestNode t;
  const gen::PID pid = t.node.Spawn(gen::Factory<Split>(&notes)).value();
  CHECK(t.node.Send(pid, Work([](Split& self) { self.SetSplitHandle(true); })));
  const gen::PID forwards =
      t.node
          .SpawnRegister(
              "forwards",
              Make({.message =
                        [&](Subject& self, gen::PID, gen::Message& message) {
                          CHECK(self.Forward(pid, message));
                          return gen::Continue();
                        },
                    .call = [&](Subject& self, gen::PID, gen::Ref,
                                gen::Message& request) { return self.Delegate(pid, request); }}))
          .value();
  CHECK(forwards);
  CHECK(t.node.Send("forwards", 1));
  CHECK(t.node.Call<std::string>("forwards", 1) == "pid");
  CHECK(notes.All() == std::vector<std::string>{"pid"});
}

class Plain : public act::Actor {
  gen::Status Init(const gen::Args&) override {
    SetSplitHandle(true);
    CHECK(SplitHandle());
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    Become({.call = [this](gen::PID, gen::Ref, gen::Message&) {
      Unbecome();
      return gen::Reply(2);
    }});
    return gen::Reply(1);
  }
  gen::CallResult HandleCallName(gen::Atom name, gen::PID from, gen::Ref ref,
                                 gen::Message& request) override {
    if (request.Is<char>()) return gen::Reply(3);
    return Actor::HandleCallName(name, from, ref, request);
  }
};
class Plains : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 1, .worker_factory = gen::Factory<Plain>()};
  }
};

TEST_CASE("split handle: its defaults, below Become, and for a pool's workers") {
  TestNode t;
  CHECK(t.node.SpawnRegister("plain", gen::Factory<Plain>()));
  CHECK(t.node.Call<int>("plain", 0) == 1);
  CHECK(t.node.Call<int>("plain", 'c') == 2);  // the set has one for all
  CHECK(t.node.Call<int>("plain", 'c') == 3);
  CHECK(t.node.SpawnRegister("plains", gen::Factory<Plains>()));
  CHECK(t.node.Call<int>("plains", 'c') == 1);  // the name was the pool's
}

}  // namespace
}  // namespace ergon::node
