// Traces that come from other nodes and go there: a trace id here, a trace token of Erlang's seq_trace on the wire.
#include <algorithm>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ergon/gen/event.h>
#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/signals/ergon_messages.h>
#include <ergon/node/cluster/signals/trace_token.h>
#include <ergon/node/erlang/term.h>

#include <cluster/erlang_peer.h>
#include <cluster/gen_call.h>
#include <cluster/terms.h>

namespace ergon::dist::traces_test {
namespace {

// What was handled, with which trace id, in any order.
class Traces {
 public:
  using List = std::vector<std::pair<std::string, gen::TraceId>>;

  void Add(std::string what, gen::TraceId trace) {
    std::lock_guard lock(mutex_);
    list_.emplace_back(std::move(what), trace);
  }
  [[nodiscard]] bool AreEventually(List expected) const {
    std::sort(expected.begin(), expected.end());
    return kit::Eventually([&] {
      std::lock_guard lock(mutex_);
      List list = list_;
      std::sort(list.begin(), list.end());
      return list == expected;
    });
  }

 private:
  mutable std::mutex mutex_;
  List list_;
};

// Notes what it handles. Sends lines on, if it is told to whom.
class Noter : public act::Actor {
 public:
  explicit Noter(Traces* traces, gen::PID to = {}) : traces_(traces), to_(to) {}

 private:
  gen::Status Init(const gen::Args&) override {
    SetTrapExit(true);
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (const auto* const line = message.As<Line>()) {
      traces_->Add(line->text, Trace());
      if (to_) CHECK(Send(to_, *line));
    } else if (message.Is<gen::MessageExitPID>()) {
      traces_->Add("exit", Trace());
    } else if (const auto* const event = message.As<gen::Event>()) {
      CHECK(MonitorEvent(*event));
    } else if (const auto* const asked = message.As<gen::PID>()) {
      CHECK(Request(*asked, Sum{{1}}, {.timeout = 20s}));
    } else {
      return Actor::HandleMessage(from, message);
    }
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    traces_->Add("call", Trace());
    if (request.Is<gen::Event>()) return gen::Reply(true);
    if (request.As<Sum>()->numbers.empty()) return gen::ReplyError(gen::ErrBusy);
    return gen::Reply(std::int64_t{1});
  }
  gen::Status HandleResponse(gen::Ref, gen::Response&) override {
    traces_->Add("response", Trace());
    return gen::Continue();
  }
  gen::Status HandleEvent(const gen::MessageEvent&) override {
    traces_->Add("event", Trace());
    return gen::Continue();
  }

  Traces* const traces_;
  const gen::PID to_;
};

// Notes what it begins with.
class Beginner : public act::Actor {
 public:
  explicit Beginner(Traces* traces) : traces_(traces) {}

 private:
  gen::Status Init(const gen::Args&) override {
    traces_->Add("begins", Trace());
    return gen::Continue();
  }
  Traces* const traces_;
};

constexpr gen::TraceId kTraces[] = {0xfedc'ba98'7654'3210, 0, 1};
constexpr gen::CallOptions kLong{.timeout = 20s};

// As Erlang prints it: the elements of a token, but for its PID.
std::string TextOf(std::string_view token) {
  if (token.empty()) return "none";
  const Term term = Term::FromChecked(std::string(token));
  REQUIRE(term.size() == 5);
  return term[0].ToString() + ' ' + term[1].ToString() + ' ' + term[2].ToString() + ' ' +
         term[4].ToString();
}

std::string LineTerm(std::string_view text) {
  return std::string(Term::Tuple({Term::Atom("line"), 1, Term::Of(std::string(text))}).raw());
}

// An Erlang node that sends with the token {1, order, Serial, Pid, Serial - 1}.
class Tracer : public ErlangPeer {
 public:
  using ErlangPeer::ErlangPeer;

  void SendTraced(Signal signal, int serial) {
    const std::string token =
        terms::Tuple({terms::Small(1), terms::SmallAtom("order"), terms::Small(serial),
                      std::string(Term(Pid(1)).raw()), terms::Small(serial - 1)});
    signal.from = Pid(1);
    signal.token = token;
    Add(signal).Flush();
  }
};

}  // namespace

TEST_CASE("traces: to another node of Ergon, with all that one process sends another") {
  Traces there;
  Traces of_alias;
  Cluster cluster("traces");
  const gen::PID noter = cluster.b.SpawnRegister("noter", gen::Factory<Noter>(&there)).value();
  std::promise<gen::Alias> alias_of;
  CHECK(cluster.b.Spawn([&](gen::Process& self) {
    alias_of.set_value(self.CreateAlias().value());
    for (std::size_t i = 0; i < std::size(kTraces); ++i) {
      if (self.Receive<Line>(20s)) of_alias.Add("alias", self.Trace());
    }
  }));
  const gen::Alias alias = alias_of.get_future().get();
  Traces::List expected;
  Traces::List expected_of_alias;
  for (const gen::TraceId trace : kTraces) {
    InProcess(cluster.a, [&](gen::Process& self) {
      self.SetTrace(trace);
      CHECK(self.Send(noter, Line{1, "PID"}));
      CHECK(self.Send(cluster.OnB("noter"), Line{1, "name"}));
      CHECK(self.SendAfter(noter, Line{1, "later"}, 0ns));
      CHECK(self.Call<std::int64_t>(noter, Sum{{1}}, kLong) == 1);
      CHECK(self.Call<std::int64_t>(cluster.OnB("noter"), Sum{}, kLong).error() == gen::ErrBusy);
      CHECK(self.SendImportant(noter, Line{1, "important"}));
      CHECK(self.SendOrWait(noter, Line{1, "waits"}, 20s));
      CHECK(self.SendExit(noter, gen::Reason::Error("enough")));
      CHECK(self.Send(alias, Line{1, "alias"}));
    });
    for (const char* what :
         {"PID", "name", "later", "call", "call", "important", "waits", "exit"}) {
      expected.emplace_back(what, trace);
    }
    expected_of_alias.emplace_back("alias", trace);
  }
  CHECK(there.AreEventually(expected));
  CHECK(of_alias.AreEventually(expected_of_alias));
  CHECK(cluster.b.SendTraced(noter, Line{1, "here"}, 5));
  expected.emplace_back("here", 5);
  CHECK(there.AreEventually(expected));
}

TEST_CASE("traces: back from another node of Ergon, with answers, events and what it runs") {
  Traces here;
  Traces there;
  ErlangOptions options = ClusterOptions();
  options.functions.Register("traces", "note",
                             [&](gen::Process& self) { there.Add("function", self.Trace()); });
  options.behaviors.Register("traces", "begins", gen::Factory<Beginner>(&there));
  Cluster cluster("back", options);
  const gen::PID asked = cluster.b.Spawn(gen::Factory<Noter>(&there)).value();
  const gen::PID asks = cluster.a.Spawn(gen::Factory<Noter>(&here)).value();
  std::promise<void> registered;
  const gen::PID producer = cluster.b
                                .Spawn([&](gen::Process& self) {
                                  const gen::Ref token = self.RegisterEvent("steps").value();
                                  registered.set_value();
                                  for (std::size_t i = 0; i < std::size(kTraces); ++i) {
                                    const auto line = self.Receive<Line>(20s);
                                    if (line)
                                      CHECK(self.SendEvent("steps", token, *line).value() == 1);
                                  }
                                })
                                .value();
  registered.get_future().get();
  CHECK(cluster.a.Send(asks, gen::Event{"steps", cluster.b.Name()}));
  CHECK(cluster.a.Call<bool>(asks, gen::Event{}, kLong) == true);  // it has subscribed
  Traces::List expected_here{{"call", 0}};
  Traces::List expected_there;
  for (const gen::TraceId trace : kTraces) {
    CHECK(cluster.a.SendTraced(asks, asked, trace));
    CHECK(cluster.b.SendTraced(producer, Line{1, "step"}, trace));
    InProcess(cluster.a, [&](gen::Process& self) {
      self.SetTrace(trace);
      CHECK(Rpc(self, cluster.b.Name(), "traces", "note", {}));
      CHECK(Spawn(self, cluster.b.Name(), "traces", "begins", {}));
    });
    for (const char* what : {"response", "event"}) expected_here.emplace_back(what, trace);
    for (const char* what : {"call", "function", "begins"}) {
      expected_there.emplace_back(what, trace);
    }
    CHECK(here.AreEventually(expected_here));
    CHECK(there.AreEventually(expected_there));
  }
}

TEST_CASE("traces: values of an event that another node of Ergon has missed have theirs") {
  Cluster cluster("missed");
  const gen::TraceId order = TraceIdOf(terms::SmallAtom("order"));
  std::promise<void> published;
  CHECK(cluster.b.Spawn([&](gen::Process& self) {
    const gen::Ref token = self.RegisterEvent("steps", {.buffer = 10}).value();
    for (const gen::TraceId trace : {kTraces[0], gen::TraceId{0}, order}) {
      self.SetTrace(trace);
      CHECK(self.SendEvent("steps", token, Line{1, "step"}));
    }
    self.SetTrace(0);
    const gen::Ref plain = self.RegisterEvent("plain", {.buffer = 10}).value();
    CHECK(self.SendEvent("plain", plain, Line{1, "plain"}));
    CHECK(self.RegisterEvent("empty", {.buffer = 10}));
    published.set_value();
    (void)self.Receive<Line>();
  }));
  published.get_future().get();
  InProcess(cluster.a, [&](gen::Process& self) {
    const auto missed = self.MonitorEvent({"steps", cluster.b.Name()}).value();
    REQUIRE(missed.size() == 3);
    CHECK(missed[0].Trace() == kTraces[0]);
    CHECK(missed[1].Trace() == 0);
    CHECK(missed[2].Trace() == order);
    for (const gen::MessageEvent& value : missed) CHECK(value.As<Line>()->text == "step");
    const auto plain = self.LinkEvent({"plain", cluster.b.Name()}).value();
    REQUIRE(plain.size() == 1);
    CHECK(plain[0].Trace() == 0);
    CHECK(self.MonitorEvent({"empty", cluster.b.Name()}).value().empty());
  });
}

TEST_CASE("traces: missed values come with the labels of their tokens, and what is none is told") {
  NodeForPeers there("missed_labels");
  Tracer peer(there.node, "subscribes@127.0.0.1", there.port(), kOwnFlags & ~kFlagPacks);
  std::promise<void> registered;
  const gen::PID producer = there.node
                                .Spawn([&](gen::Process& self) {
                                  const gen::Ref token =
                                      self.RegisterEvent("steps", {.buffer = 10}).value();
                                  registered.set_value();
                                  for (int i = 0; i < 2; ++i) {
                                    const auto line = self.Receive<Line>(20s);
                                    if (line) CHECK(self.SendEvent("steps", token, *line));
                                  }
                                  (void)self.Receive<Line>();
                                })
                                .value();
  registered.get_future().get();
  const std::string line = LineTerm("line");
  peer.SendTraced({.kind = SignalKind::kSend, .to = producer, .payload = line}, 5);
  peer.SendLine(1, producer, 1).Flush();
  const std::string reference = peer.Reference(8);
  std::string question;
  AppendSubscribe(question, reference, "steps", 8, false);
  InProcess(there.node, [&](gen::Process& self) {
    std::size_t published = self.MonitorEvent({"steps", {}}).value().size();
    for (; published < 2; ++published) CHECK(self.Receive<gen::MessageEvent>(20s));
  });
  peer.Add({.kind = SignalKind::kSendToName,
            .from = peer.Pid(1),
            .name = kErgonName,
            .payload = question})
      .Flush();
  const std::string answer(peer.Await(SignalKind::kSendToAlias).payload);
  CHECK(answer.find(terms::Small(1) + terms::SmallAtom("order") + terms::Small(6)) !=
        std::string::npos);
  CHECK(answer.ends_with(terms::Small(5) + terms::kNil + terms::kNil));  // the other one has none

  // What a node of an earlier version answers, and others.
  const std::string values[] = {terms::Tuple({terms::Small(1), line}),
                                terms::Tuple({terms::Small(2), line})};
  const std::string of_zero = terms::Tuple({terms::Small(1), terms::Small(0), terms::Small(1),
                                            std::string(Term(peer.Pid(1)).raw()), terms::Small(0)});
  for (const auto& [tail, says] :
       {std::pair{terms::kNil, ""},
        {terms::List({of_zero, of_zero}), ""},
        {terms::List({terms::kNil, terms::kNil}), ""},
        {terms::List({terms::kNil}), "no trace token"},
        {terms::List({terms::kNil, terms::Small(1)}), "no trace token"}}) {
    std::promise<std::string> told;
    CHECK(there.node.Spawn([&](gen::Process& self) {
      const auto missed = self.MonitorEvent({"steps", "subscribes@127.0.0.1"});
      told.set_value(missed ? std::to_string(missed->size()) : missed.error().ToString());
    }));
    std::optional<ErgonMessage> message;
    while (!message || message->kind != ErgonMessage::Kind::kSubscribe) {
      const Signal asked = peer.Await(SignalKind::kSendToName);  // or asked for groups, or over
      message = ReadErgonMessage(asked.payload, "subscribes@127.0.0.1", 100);
    }
    const std::string list = terms::List({values[0], values[1]}, tail);
    const std::string said = terms::Tuple(
        {std::string(message->reference), terms::Tuple({terms::SmallAtom("ok"), list})});
    peer.Add({.kind = SignalKind::kSendToAlias,
              .from = peer.Pid(1),
              .ref = message->reference,
              .payload = said})
        .Flush();
    const std::string outcome = told.get_future().get();
    CHECK((says[0] == 0 ? outcome == "2" : outcome.find(says) != std::string::npos));
  }
}

TEST_CASE("traces: what was missed does not count in its trace if the subscription is refused") {
  struct OnlyHere {};
  Traces traces;
  NodeForPeers there("refused_missed");
  Tracer peer(there.node, "refused_missed_asks@127.0.0.1", there.port(), kOwnFlags & ~kFlagPacks);
  const gen::PID noter = there.node.Spawn(gen::Factory<Noter>(&traces, peer.Pid(9))).value();
  std::promise<void> published;
  const gen::PID producer = there.node
                                .Spawn([&](gen::Process& self) {
                                  const gen::Ref token =
                                      self.RegisterEvent("steps", {.buffer = 10}).value();
                                  const auto line = self.Receive<Line>(20s);
                                  if (line) CHECK(self.SendEvent("steps", token, *line));
                                  CHECK(self.SendEvent("steps", token, OnlyHere{}));
                                  published.set_value();
                                  (void)self.Receive<Line>();
                                })
                                .value();
  const std::string line = LineTerm("line");
  peer.SendTraced({.kind = SignalKind::kSend, .to = producer, .payload = line}, 5);
  published.get_future().get();
  std::string question;
  AppendSubscribe(question, peer.Reference(8), "steps", 8, false);
  peer.Add({.kind = SignalKind::kSendToName,
            .from = peer.Pid(1),
            .name = kErgonName,
            .payload = question})
      .Flush();
  CHECK(peer.Await(SignalKind::kSendToAlias).payload.find("OnlyHere") != std::string_view::npos);
  peer.SendTraced({.kind = SignalKind::kSend, .to = noter, .payload = line}, 5);
  CHECK(TextOf(peer.Await(SignalKind::kSend).token) == "1 order 6 5");
}

TEST_CASE(
    "traces: a token of Erlang goes on with its label and flags, and comes back with the answer") {
  Traces traces;
  NodeForPeers there("tokens");
  Tracer peer(there.node, "erl_tokens@127.0.0.1", there.port());
  const gen::TraceId order = TraceIdOf(terms::SmallAtom("order"));
  const gen::PID noter =
      there.node.SpawnRegister("noter", gen::Factory<Noter>(&traces, peer.Pid(9))).value();
  const std::string line = LineTerm("line");
  peer.SendTraced({.kind = SignalKind::kSend, .to = noter, .payload = line}, 5);
  CHECK(TextOf(peer.Await(SignalKind::kSend).token) == "1 order 6 5");
  peer.SendTraced({.kind = SignalKind::kSendToName, .name = "noter", .payload = line}, 20);
  CHECK(TextOf(peer.Await(SignalKind::kSend).token) == "1 order 21 20");
  peer.SendLine(1, noter, 1).Flush();
  CHECK(TextOf(peer.Await(SignalKind::kSend).token) == "none");
  CHECK(traces.AreEventually({{"line", order}, {"line", order}, {"", 0}}));

  // An answer, an error, and an error of the node itself.
  int serial = 30;
  for (const char* request : {"one", "none", "what"}) {
    CAPTURE(request);
    std::string call;
    TermWriter writer(call);
    writer.Tuple(3);
    writer.Atom(request == std::string_view("what") ? "system" : "$gen_call");
    writer.Tuple(2);
    writer.Pid(peer.Pid(1));
    writer.Raw(peer.Reference(static_cast<std::uint64_t>(serial)));
    if (request == std::string_view("what")) {
      writer.Atom("what");
    } else {
      writer.Tuple(2);
      writer.Atom("sum");
      if (request == std::string_view("one")) writer.List(1);
      if (request == std::string_view("one")) writer.Integer(1);
      writer.Nil();
    }
    peer.SendTraced({.kind = SignalKind::kSend, .to = noter, .payload = call}, serial);
    CHECK(TextOf(peer.Await(SignalKind::kSend).token) ==
          "1 order " + std::to_string(serial + 1) + ' ' + std::to_string(serial));
    serial += 10;
  }
  const std::string reason = terms::SmallAtom("enough");
  peer.SendTraced({.kind = SignalKind::kExitRequest, .to = noter, .payload = reason}, 60);
  CHECK(traces.AreEventually({{"line", order},
                              {"line", order},
                              {"", 0},
                              {"call", order},
                              {"call", order},
                              {"exit", order}}));
}

TEST_CASE("traces: a trace that begins here goes as its label, to a node that takes it") {
  NodeForPeers there("labels");
  ErlangPeer takes(there.node, "takes@127.0.0.1", there.port());
  ErlangPeer older(there.node, "older@127.0.0.1", there.port(),
                   kOwnFlags & ~(kFlagErgon | kFlagBigTraceLabels));
  for (ErlangPeer* const peer : {&takes, &older}) {
    const bool has_token = peer == &takes;
    const gen::PID to = peer->Pid(9);
    CHECK(there.node.SendTraced(to, Line{1, {}}, 42));
    CHECK(TextOf(peer->Await(SignalKind::kSend).token) == (has_token ? "7 42 1 0" : "none"));
    CHECK(there.node.SendTraced(to, Line{1, {}}, ~gen::TraceId{0}));
    CHECK(TextOf(peer->Await(SignalKind::kSend).token) ==
          (has_token ? "7 18446744073709551615 1 0" : "none"));
    InProcess(there.node, [&](gen::Process& self) {
      self.SetTrace(43);
      CHECK(self.SendExit(to, gen::Reason::Error("enough")));
      const Signal exit = peer->Await(SignalKind::kExitRequest);
      CHECK(TextOf(exit.token) == (has_token ? "7 43 1 0" : "none"));
      CHECK(self.Send(to, Line{1, {}}));
      CHECK(TextOf(peer->Await(SignalKind::kSend).token) == (has_token ? "7 43 2 0" : "none"));
      if (!has_token) return;
      const Term token = Term::FromChecked(std::string(exit.token));
      CHECK(token[3].AsPid() == self.Self());
    });
  }
}

TEST_CASE("traces: what is no token ends the connection, any label is one") {
  Traces traces;
  NodeForPeers there("no_tokens");
  const gen::PID noter = there.node.Spawn(gen::Factory<Noter>(&traces)).value();
  const std::string line = LineTerm("line");
  const auto token_with = [](const std::string& label, const std::string& serial) {
    return terms::Tuple({terms::Small(1), label, serial, terms::kNil, terms::Small(1)});
  };
  std::size_t number = 0;
  for (const std::string& token :
       {terms::SmallAtom("token"), terms::kNil, token_with(terms::Small(1), terms::kNil),
        terms::Tuple({terms::Small(1), terms::Small(1), terms::Small(1), terms::kNil})}) {
    ErlangPeer peer(there.node, "liar_of_tokens" + std::to_string(number++) + "@127.0.0.1",
                    there.port());
    peer.Add({.kind = SignalKind::kSend,
              .from = peer.Pid(1),
              .to = noter,
              .payload = line,
              .token = token})
        .Flush();
    CHECK(peer.IsClosed());
  }
  ErlangPeer peer(there.node, "any_labels@127.0.0.1", there.port());
  const std::string labels[] = {terms::Binary(std::string(100'000, 'x')), terms::Small(0),
                                terms::Map({terms::Small(1), terms::kNil})};
  Traces::List expected;
  for (const std::string& label : labels) {
    const std::string token = token_with(label, terms::Small(2));
    peer.Add({.kind = SignalKind::kSend,
              .from = peer.Pid(1),
              .to = noter,
              .payload = line,
              .token = token})
        .Flush();
    expected.emplace_back("line", TraceIdOf(label));
  }
  CHECK(traces.AreEventually(expected));
}

}  // namespace ergon::dist::traces_test
