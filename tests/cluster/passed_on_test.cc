// What a process of one node passes on of what it gets from another node: messages, but no requests.
#include <atomic>
#include <future>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include <ergon/node/erlang/term.h>

#include <cluster/client.h>
#include <cluster/cluster.h>
#include <cluster/erlang_peer.h>

namespace ergon::dist {
namespace {

constexpr int kDeepest = static_cast<int>(Term::kUsualDepth);

Term ListsInEachOther(int depth) {
  Term term = 1;
  for (; depth > 0; --depth) term = Term::List({term});
  return term;
}

// Counts the terms that it gets, and answers with those it is asked.
class TermKeeper : public act::Actor {
 public:
  explicit TermKeeper(std::atomic<int>* kept) : kept_(kept) {}

 private:
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const auto* const term = message.As<Term>();
    if (term == nullptr) return Actor::HandleMessage(from, message);
    CHECK(*term == ListsInEachOther(kDeepest));
    ++*kept_;
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    auto* const term = request.As<Term>();
    if (term == nullptr) return Actor::HandleCall(from, ref, request);
    return gen::Reply(std::move(*term));
  }
  std::atomic<int>* const kept_;
};

// Passes on all that it gets, but answers a request with numbers itself if that is refused.
class Passer : public act::Actor {
 public:
  explicit Passer(gen::Target to) : to_(std::move(to)) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    CHECK(Forward(to_, message));
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    if (request.As<Sum>()->numbers.empty()) return Delegate(to_, request);
    const auto passed = Forward(to_, request);
    if (passed) return gen::NoReply();
    CHECK(passed.error() == gen::ErrUnsupported);
    const auto* const sum = request.As<Sum>();
    REQUIRE(sum != nullptr);
    return gen::Reply(std::accumulate(sum->numbers.begin(), sum->numbers.end(), std::int64_t{0}));
  }

  const gen::Target to_;
};

}  // namespace

TEST_CASE("passed on: a request for a third node is refused at once, a message arrives there") {
  Cluster cluster("passed_on");
  kit::LogCapture log_c;
  node::Node c = Cluster::Start("passed_onc@127.0.0.1", log_c, ClusterOptions());
  std::promise<gen::Alias> alias;
  std::atomic<bool> has_line{false};
  const auto there = [&](gen::Process& self) {
    alias.set_value(self.CreateAlias().value());
    const auto line = self.Receive<Line>(20s);
    if (line && line->number == 7) has_line = true;
  };
  std::optional<gen::Target> to;
  SUBCASE("to its PID") { to.emplace(c.Spawn(there).value()); }
  SUBCASE("to its name") {
    CHECK(c.SpawnRegister("there", there));
    to.emplace(gen::ProcessID{"there", c.Name()});
  }
  SUBCASE("to its alias") {
    CHECK(c.Spawn(there));
    to.emplace(alias.get_future().get());
  }
  SUBCASE("to the PID of a process of the caller's node") {
    to.emplace(cluster.a.Spawn(there).value());
  }
  const gen::PID passer = cluster.b.Spawn(gen::Factory<Passer>(*to)).value();

  // Of the connection with the third node, a process hears when it is lost.
  const gen::PID watched = c.Spawn([](gen::Process& self) { self.Sleep(1h); }).value();
  std::atomic<bool> watches{false};
  std::atomic<bool> asked{false};
  std::atomic<int> lost{-1};
  CHECK(cluster.b.Spawn([&](gen::Process& self) {
    self.Monitor(watched).value();
    CHECK(Ping(self, c.Name()));
    watches = true;
    while (!asked) self.Sleep(1ms);
    CHECK(Ping(self, c.Name()));
    lost = self.Receive<gen::MessageDownPID>(0ns) ? 1 : 0;
  }));
  CHECK(kit::Eventually([&] { return watches.load(); }));

  InProcess(cluster.a, [&](gen::Process& self) {
    const gen::CallOptions patient{.timeout = kit::kDeadline};
    const auto refused = self.Call(passer, Sum{}, patient);
    CHECK(refused.error() == gen::ErrUnsupported);
    {
      const std::string why = refused.error().ToString();
      CAPTURE(why);  // of this thread: it ends before the process waits, and goes on on another one
      CHECK(why.find("a request of " + self.Self().ToString()) != std::string::npos);
      CHECK(why.find("a request of your own") != std::string::npos);
    }
    const auto sum = self.Call(passer, Sum{{1, 2, 39}}, patient);
    CHECK((sum && *sum == 42));
    CHECK(self.Send(passer, Line{7, "a message"}));
  });
  CHECK(cluster.a.Call(passer, Sum{}, {.timeout = kit::kDeadline}).error() == gen::ErrUnsupported);
  CHECK(kit::Eventually([&] { return has_line.load(); }));
  asked = true;
  CHECK(kit::Eventually([&] { return lost != -1; }));
  CHECK(lost == 0);
  CHECK(c.Kill(watched));  // else the node waits for it
  c.Stop();
  kit::CheckBalance(c);
}

TEST_CASE("passed on: a term as deep as may be arrives by each way, and the connection stays") {
  ErlangOptions options = ClusterOptions();
  options.functions.Register("terms", "echo", [](const Term& term) { return term; });
  std::atomic<int> kept{0};
  options.behaviors.Register("terms", "keep", gen::Factory<TermKeeper>(&kept));
  Cluster cluster("deep_terms", options);
  const gen::PID keeper = cluster.b.Spawn(gen::Factory<TermKeeper>(&kept)).value();
  InProcess(cluster.a, [&](gen::Process& self) {
    const Term deepest = ListsInEachOther(kDeepest);
    REQUIRE(self.Monitor(keeper));
    CHECK(self.Send(keeper, deepest));
    CHECK(self.SendImportant(keeper, deepest));
    const auto answer = self.Call<Term>(keeper, deepest, {.timeout = kit::kDeadline});
    CHECK((answer && *answer == deepest));
    const auto result = Rpc(self, cluster.b.Name(), "terms", "echo", {deepest});
    CHECK((result && *result == deepest));
    CHECK(Spawn(self, cluster.b.Name(), "terms", "keep", {deepest}));
    CHECK(Ping(self, cluster.b.Name()));
    CHECK(self.Receive<gen::MessageDownPID>(0ns).error() == gen::ErrTimeout);
  });
  CHECK(kept == 2);
}

TEST_CASE("passed on: a message of nobody arrives, and the connection stays") {
  NodeForPeers there("nobodys");
  kit::LogCapture log;
  node::Node other = Cluster::Start("nobodys_b@127.0.0.1", log, ClusterOptions());
  std::promise<gen::Alias> alias;
  std::atomic<int> lines{0};
  CHECK(other.SpawnRegister("there", [&](gen::Process& self) {
    alias.set_value(self.CreateAlias().value());
    for (int i = 0; i < 2; ++i) lines += self.Receive<Line>(20s) ? 1 : 0;
  }));
  std::optional<gen::Target> to;
  SUBCASE("to a name") { to.emplace(gen::ProcessID{"there", other.Name()}); }
  SUBCASE("to an alias") { to.emplace(alias.get_future().get()); }
  const gen::PID passer = there.node.Spawn(gen::Factory<Passer>(*to)).value();
  ErlangPeer liar(there.node, "liar@127.0.0.1", there.port());
  const gen::PID third{3, "third@127.0.0.1", 9};  // a peer may not speak for that node
  liar.SendLine(third, passer, 7).SendLine(third, passer, 8).FlushAndWait();
  CHECK(kit::Eventually([&] { return lines == 2; }));
  CHECK_FALSE(log.Contains("malformed"));
  other.Stop();
  kit::CheckBalance(other);
}

TEST_CASE("passed on: the result of a function that is too deep is an error of its caller's") {
  ErlangOptions options = ClusterOptions();
  options.functions.Register("terms", "wrap", [](const Term& term) { return Term::List({term}); });
  Cluster cluster("deep_results", options);
  InProcess(cluster.a, [&](gen::Process& self) {
    const auto result = Rpc(self, cluster.b.Name(), "terms", "wrap", {ListsInEachOther(kDeepest)});
    REQUIRE_FALSE(result);
    CHECK(result.error().ToString().find("max_term_depth") != std::string::npos);
    CHECK(Rpc(self, cluster.b.Name(), "terms", "wrap", {ListsInEachOther(kDeepest - 1)}));
  });
  CHECK_FALSE(cluster.log_a.Contains("malformed"));
}

TEST_CASE("passed on: a term that is too deep ends the connection, whatever is around it") {
  const Term too_deep = ListsInEachOther(kDeepest + 1);
  std::string payload;
  SUBCASE("as it is") { payload = too_deep.raw(); }
  SUBCASE("in a cast") { payload = Term::Tuple({Term::Atom("$gen_cast"), too_deep}).raw(); }
  SUBCASE("in a request") {
    payload =
        Term::Tuple({Term::Atom("$gen_call"), Term::Of(std::string("nobody")), too_deep}).raw();
  }
  NodeForPeers there("too_deep");
  std::atomic<int> kept{0};
  const gen::PID keeper = there.node.Spawn(gen::Factory<TermKeeper>(&kept)).value();
  ErlangPeer peer(there.node, "sends_too_deep@127.0.0.1", there.port());
  peer.Add({.kind = SignalKind::kSend, .from = peer.Pid(7), .to = keeper, .payload = payload})
      .Flush();
  CHECK(peer.IsClosed());
  CHECK(kept == 0);
}

TEST_CASE("passed on: the sender is of a node that this one has never heard of") {
  std::promise<gen::PID> sender;
  NodeForPeers there("new_senders");
  class Receiver : public act::Actor {
   public:
    explicit Receiver(std::promise<gen::PID>* told) : told_(told) {}

   private:
    gen::Status HandleMessage(gen::PID from, gen::Message&) override {
      told_->set_value(from);
      return gen::Continue();
    }
    std::promise<gen::PID>* const told_;
  };
  const gen::PID receiver = there.node.Spawn(gen::Factory<Receiver>(&sender)).value();
  Client peer(there.port());
  REQUIRE(peer.ShakeHands("passes_on@127.0.0.1", there.node.Name().ToString(), kOwnFlags));
  std::string line;
  TermWriter writer(line);
  writer.Tuple(3);
  writer.Atom("line");
  writer.Integer(1);
  writer.Binary({});
  std::string frame;
  AppendFrame(frame,
              {.kind = SignalKind::kSend,
               .from = {5, "known_sender@127.0.0.1", 9},
               .to = receiver,
               .payload = line},
              kOwnFlags);
  frame.replace(frame.find("known"), 5, "novel");
  CHECK_FALSE(gen::Atom::Find("novel_sender@127.0.0.1"));
  peer.Write(frame);
  CHECK(sender.get_future().get() == gen::PID{5, "novel_sender@127.0.0.1", 9});
  peer.Close();
}

}  // namespace ergon::dist
