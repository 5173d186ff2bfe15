// Handlers by name and by alias (act::Actor::SetSplitHandle) get what comes from another node, too.
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <cluster/cluster.h>

namespace ergon::dist {
namespace {

class SplitHandler : public act::Actor {
 public:
  struct State {
    std::mutex mutex;
    gen::Alias alias;
    std::vector<std::string> notes;
    std::vector<std::string> Notes() {
      std::lock_guard lock(mutex);
      return notes;
    }
    gen::Status Note(const std::string& way, const gen::Message& message) {
      std::lock_guard lock(mutex);
      const Line* const line = message.As<Line>();
      notes.push_back(way + " " +
                      (line != nullptr              ? line->text
                       : message.Is<std::string>()  ? "text"
                       : message.Is<std::int64_t>() ? "integer"
                                                    : "something else"));
      return gen::Continue();
    }
  };
  explicit SplitHandler(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  gen::Status Init(const gen::Args&) override {
    SetSplitHandle(true);
    state_->alias = CreateAlias().value();
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    return state_->Note("pid", message);
  }
  gen::Status HandleMessageName(gen::Atom name, gen::PID, gen::Message& message) override {
    return state_->Note(name.ToString(), message);
  }
  gen::Status HandleMessageAlias(gen::Alias alias, gen::PID, gen::Message& message) override {
    return state_->Note(alias == state_->alias ? "alias" : "another alias", message);
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    return gen::Reply(gen::Atom("pid"));
  }
  gen::CallResult HandleCallName(gen::Atom name, gen::PID, gen::Ref, gen::Message&) override {
    return gen::Reply(name);
  }
  gen::CallResult HandleCallAlias(gen::Alias alias, gen::PID, gen::Ref, gen::Message&) override {
    return gen::Reply(gen::Atom(alias == state_->alias ? "alias" : "another alias"));
  }
  const std::shared_ptr<State> state_;
};

}  // namespace

TEST_CASE("split handle: messages and requests of another node by name, by alias and by PID") {
  Cluster cluster("split_handle");
  const auto state = std::make_shared<SplitHandler::State>();
  const gen::PID pid = cluster.b.SpawnRegister("split", gen::Factory<SplitHandler>(state)).value();
  const gen::ProcessID name{"split", cluster.b.Name()};
  const gen::Alias alias = state->alias;
  InProcess(cluster.a, [&](gen::Process& self) {
    CHECK(self.Send(pid, Line{1, "sent"}));
    CHECK(self.Send(name, Line{2, "sent"}));
    CHECK(self.Send(alias, Line{3, "sent"}));
    CHECK(self.SendImportant(pid, Line{4, "confirmed"}));
    CHECK(self.SendImportant(name, Line{5, "confirmed"}));
    CHECK(self.SendImportant(alias, Line{6, "confirmed"}));
    CHECK(self.Send(name, std::string("of no registered type")));
    CHECK(self.Send(alias, 7));
  });
  REQUIRE(kit::Eventually([&] { return state->Notes().size() == 8; }));
  CHECK(state->Notes() == std::vector<std::string>{
                              "pid sent", "split sent", "alias sent", "pid confirmed",
                              "split confirmed", "alias confirmed", "split text", "alias integer"});
  CHECK(cluster.a.Call<gen::Atom>(pid, 1) == gen::Atom("pid"));
  CHECK(cluster.a.Call<gen::Atom>(name, 1) == gen::Atom("split"));
  CHECK(cluster.a.Call<gen::Atom>(alias, 1) == gen::Atom("alias"));
}

}  // namespace ergon::dist
