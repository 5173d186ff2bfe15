// The node that cluster_test.escript talks to.   usage: ergon_cluster_node NAME [COOKIE [FOLDER]]
//
// FOLDER has the files for TLS: node.pem, node.key and ca.pem.
//
//   words    a pool; {count, Text} is answered with {ok, Words}, {fail, Text} with {error, Text}, and crash ends a worker
//   single   a pool of one worker; hold is answered when others have called words:release
//   full     a pool whose only worker is busy for ever and whose mailbox is full
//   too_small  another one, to which {resize, N} adds workers
//   driver   does what it is asked to, as a process of this node, and tells what it has got
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/gen/group.h>
#include <ergon/gen/node_change.h>
#include <ergon/gen/process_change.h>
#include <ergon/node/erlang.h>
#include <ergon/node/node.h>

namespace {

using namespace ergon;                 // NOLINT(google-build-using-namespace)
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using dist::Term;

struct Count {
  static constexpr const char* kTag = "count";
  std::string text;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text);
  }
};
struct Counted {
  static constexpr const char* kTag = "ok";
  int words = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(words);
  }
};
struct Resize {  // {resize, N}: as many workers more
  static constexpr const char* kTag = "resize";
  int by = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(by);
  }
};
struct Refused {  // a request that nobody handles
  static constexpr const char* kTag = "refused";
};
std::string WordOf(const Term& atom) { return atom.AsAtomText().value_or("?"); }

struct Block {};  // does not leave this node

// Whoever is held goes on.
std::atomic<bool> released{false};

class WordWorker : public act::Actor {
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (auto* count = request.As<Count>()) {
      std::istringstream text(count->text);
      Counted counted;
      for (std::string word; text >> word;) ++counted.words;
      return gen::Reply(counted);
    }
    if (const auto* word = request.As<gen::Atom>(); word != nullptr && *word == "hold") {
      while (!released && Sleep(5ms)) {
      }
      return gen::Reply(gen::Atom("released"));
    }
    if (const auto* word = request.As<gen::Atom>(); word != nullptr && *word == "crash") {
      throw std::runtime_error("crash");
    }
    if (auto* term = request.As<Term>(); term != nullptr && term->kind() == Term::Kind::kTuple) {
      if ((*term)[0].AsAtomText() == "fail") {
        return gen::ReplyError(gen::Error((*term)[1].AsText().value_or("?")));
      }
      if ((*term)[0].AsAtomText() == "late") {
        (void)Sleep(std::chrono::milliseconds((*term)[1].AsInteger().value_or(0)));
        return gen::Reply(gen::Atom("late"));
      }
    }
    return Actor::HandleCall(from, ref, request);
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (message.Is<Block>()) Sleep(24h);
    return gen::Continue();
  }
};

class WordPool : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args& args) override {
    const int bound = args.Get<int>(0).value_or(1000);
    return act::PoolOptions{.pool_size = args.size() != 0 ? 1 : 4,
                            .worker_factory = gen::Factory<WordWorker>(),
                            .worker_mailbox_size = bound};
  }
  // Of high priority: the pool's own.
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    const auto* const resize = request.As<Resize>();
    if (resize == nullptr) return Pool::HandleCall(from, ref, request);
    const auto size = AddWorkers(resize->by);
    return size ? gen::Reply(*size) : gen::ReplyError(size.error());
  }
};

class Victim : public act::Actor {
  static gen::Reason ReasonOf(const Term& term) {
    if (term.AsAtomText() == "normal") return gen::Reason::Normal();
    if (const auto atom = term.AsAtomText()) return gen::Reason::Error(gen::Atom(*atom));
    return gen::Reason::Error(term.AsText().value_or("?"));
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    if (auto* term = request.As<Term>()) return gen::Stop(ReasonOf((*term)[1]));
    return gen::Reply(gen::Atom("pong"));
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (auto* term = message.As<Term>()) return gen::Stop(ReasonOf((*term)[1]));
    return gen::Continue();
  }
};

// Started by others: its first argument is what becomes of its Init, or who is told of its arguments.
class Remote : public Victim {
  gen::Status Init(const gen::Args& args) override {
    const Term first = args.Get<Term>(0).value_or(Term());
    if (first.AsAtomText() == "fail")
      return gen::Stop(gen::Reason::Error(gen::Atom("no_such_thing")));
    if (const auto pid = first.AsPid()) {
      std::vector<Term> told{Term::Atom("started"), Term::Of(Self())};
      for (std::size_t i = 1; i < args.size(); ++i) told.push_back(args.Get<Term>(i).value());
      (void)Send(*pid, Term::Tuple(told));
    }
    return gen::Continue();
  }
};

constexpr int kMostRemote = 20;

// What other nodes may run.
void RegisterCode(dist::ErlangOptions& options) {
  options.max_remote_processes = kMostRemote;
  options.functions
      .Register("words", "count",
                [](const std::string& text) {
                  std::istringstream stream(text);
                  std::int64_t count = 0;
                  for (std::string word; stream >> word;) ++count;
                  return count;
                })
      .Register("words", "of", [](const Count& count) { return Counted{int(count.text.size())}; })
      .Register("words", "repeat",
                [](const std::string& text, int times) -> gen::Result<std::vector<std::string>> {
                  if (times < 0) return gen::Error(gen::Atom("negative"));
                  return std::vector<std::string>(static_cast<std::size_t>(times), text);
                })
      .Register("words", "nothing", [] {})
      .Register("words", "release", [] { released = true; })
      // By the pool `single`.
      .Register("words", "done",
                [](gen::Process& self) -> gen::Result<std::pair<std::int64_t, std::int64_t>> {
                  const auto stats = act::Stats(self, gen::Atom("single"));
                  if (!stats) return stats.error();
                  return std::pair(std::int64_t(stats->handled), std::int64_t(stats->expired));
                })
      .Register("words", "refuse",
                [](const std::string& text) -> gen::Result<void> { return gen::Error(text); })
      .Register("words", "throws", [](int) -> int { throw std::runtime_error("thrown"); })
      .Register("words", "fails",
                [](const Term&) -> gen::Result<void> {
                  return gen::Error(gen::ErrorCode::kProcessMailboxFull);
                })
      // Is there, sleeps, and would tell of its end.
      .Register("words", "sleep",
                [](gen::Process& self, gen::PID told, int milliseconds) {
                  (void)self.Send(told, Term::Tuple({Term::Atom("sleeps"), Term::Of(self.Self())}));
                  if (self.Sleep(std::chrono::milliseconds(milliseconds))) {
                    (void)self.Send(told, gen::Atom("awake"));
                  }
                })
      .Register("words", "ask",
                [](gen::Process& self, const std::string& text) -> gen::Result<int> {
                  auto counted = self.Call<Counted>(gen::Atom("words"), Count{text});
                  if (!counted) return std::move(counted.error());
                  return counted->words;
                })
      .RegisterAny("words", "any", [](gen::Process&, const std::vector<Term>& arguments) {
        return gen::Result<Term>(Term::Tuple(arguments));
      });
  options.behaviors.Register("remote", "start", gen::Factory<Remote>());
}

// How this program takes part in the cluster.
dist::ErlangOptions& OwnNetwork() {
  static dist::ErlangOptions network;
  return network;
}

class Driver : public act::Actor {
  gen::Status Init(const gen::Args&) override {
    SetTrapExit(true);
    return gen::Continue();
  }

  static gen::Target TargetOf(const Term& term) {
    if (term.kind() == Term::Kind::kPid) return *term.AsPid();
    if (const auto alias = term.AsReference()) return *alias;
    return gen::ProcessID{gen::Atom(WordOf(term[0])), gen::Atom(WordOf(term[1]))};
  }
  static Term Outcome(const gen::Result<void>& result) {
    return result ? Term::Atom("ok")
                  : Term::Tuple({Term::Atom("error"), Term::Of(result.error().ToString())});
  }
  template <class T>
  static Term Outcome(const gen::Result<T>& result) {
    return result ? Term::Tuple({Term::Atom("ok"), Term::Of(*result)})
                  : Term::Tuple({Term::Atom("error"), Term::Of(result.error().ToString())});
  }

  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    if (const auto* word = request.As<gen::Atom>()) return gen::Reply(Answer(word->Text()));
    if (const auto* term = request.As<Term>()) return gen::Reply(Answer(*term));
    return gen::ReplyError(gen::ErrUnsupported);
  }

  Term Answer(std::string_view word) {
    if (word == "seen") return Term::List(std::exchange(seen_, {}));
    if (word == "self") return Term::Of(Self());
    if (word == "links") {
      std::vector<gen::PID> links = Node().ProcessInfo(Self())->links;  // with other nodes
      std::erase_if(links, [this](gen::PID pid) { return pid.node == Self().node; });
      return Term::Of(links);
    }
    if (word == "alias") return Term::Of(*CreateAlias());
    if (word == "spawn") return Term::Of(Spawn(gen::Factory<Victim>()).value());
    if (word == "os_pid")
      return Term::Tuple({Term::Atom("ok"), Term::Of(std::int64_t{::getpid()})});
    return Term::Atom("what");
  }

  Term Answer(const Term& command) {
    const std::string word = command[0].AsAtomText().value_or("");
    if (word == "echo") return command[1];
    if (word == "sleep") {
      Sleep(std::chrono::milliseconds(*command[1].AsInteger()));
      return Term::Atom("ok");
    }
    if (word == "send") return Outcome(Send(TargetOf(command[1]), command[2]));
    if (word == "spawn_there") {
      // {spawn_there, Node, Module, Function, Arguments, plain | link | monitor}
      const gen::Atom other(WordOf(command[1]));
      const std::vector<Term> arguments = command[4].Elements();
      const std::string how = WordOf(command[5]);
      if (how != "monitor") {
        return Outcome(dist::Spawn(Process(), other, WordOf(command[2]), WordOf(command[3]),
                                   arguments, {.link = how == "link"}));
      }
      const auto spawned =
          dist::SpawnMonitored(Process(), other, WordOf(command[2]), WordOf(command[3]), arguments);
      return spawned ? Outcome(gen::Result<std::int64_t>(
                           static_cast<std::int64_t>(spawned->monitor.id)))
                     : Outcome(gen::Result<void>(spawned.error()));
    }
    if (word == "inspect") {
      const auto told = Inspect(TargetOf(command[1]));
      return Outcome(told ? gen::Result<void>() : gen::Result<void>(told.error()));
    }
    if (word == "send_traced") {  // {send_traced, To, Message, Trace}
      return Outcome(SendTraced(TargetOf(command[1]), command[2], *command[3].AsUnsigned()));
    }
    if (word == "trace") {  // {trace, Trace, Command}
      SetTrace(*command[1].AsUnsigned());
      (void)Answer(command[2]);
      SetTrace(0);
      return Term::Atom("ok");
    }
    if (word == "send_later") {
      const auto timer = SendAfter(TargetOf(command[1]), command[2], 1ms);
      return Outcome(timer ? gen::Result<void>() : gen::Result<void>(timer.error()));
    }
    if (word == "spawn_pool") {
      return Outcome(SpawnRegister(gen::Atom(WordOf(command[1])), gen::Factory<WordPool>()));
    }
    if (word == "register") {
      return Outcome(Node().RegisterName(gen::Atom(WordOf(command[1])), *command[2].AsPid()));
    }
    if (word == "named_by") {
      // {named_by, Node, Pid}: a second node, which Node gives a name, tells Pid of a process there.
      dist::ErlangOptions network = OwnNetwork();
      network.listen = false;
      const auto name = dist::AskForName("127.0.0.1", WordOf(command[1]), network);
      if (!name) return Outcome(gen::Result<void>(name.error()));
      gen::NodeOptions options;
      options.network = dist::Erlang(network);
      named_.emplace(node::Start(*name, options).value());
      const gen::PID victim =
          std::async(std::launch::async, [this] {
            return named_->Spawn(gen::Factory<Victim>()).value();  // blocks: from a thread
          }).get();
      return Outcome(
          named_->Send(*command[2].AsPid(), Term::Tuple({Term::Atom("victim"), Term::Of(victim)})));
    }
    if (word == "forget") {
      std::async(std::launch::async, [this] { named_.reset(); }).get();
      return Term::Atom("ok");
    }
    if (word == "call") {
      return Outcome(
          Call<gen::Atom>(TargetOf(command[1]), command[2],
                          {.timeout = std::chrono::milliseconds(*command[3].AsInteger())}));
    }
    if (word == "monitor") {
      const auto ref = Monitor(TargetOf(command[1]));
      return ref ? Term::Of(static_cast<std::int64_t>(ref->id))
                 : Outcome(gen::Result<void>(ref.error()));
    }
    if (word == "demonitor") return Term::Atom("ok");
    if (word == "link") return Outcome(Link(TargetOf(command[1])));
    if (word == "relink") {
      // {relink, Pid, Times}: links itself and unlinks itself, so often.
      for (std::int64_t left = *command[2].AsInteger(); left > 0; --left) {
        (void)Link(TargetOf(command[1]));
        (void)Unlink(TargetOf(command[1]));
      }
      return Term::Atom("ok");
    }
    if (word == "unlink") return Outcome(Unlink(TargetOf(command[1])));
    if (word == "exit") {
      const std::string reason = WordOf(command[2]);
      return Outcome(SendExit(TargetOf(command[1]), reason == "kill"
                                                        ? gen::Reason::Kill()
                                                        : gen::Reason::Error(gen::Atom(reason))));
    }
    if (word == "whereis") {
      return Outcome(Node().Resolve(gen::ProcessID{gen::Atom(WordOf(command[1])), {}}));
    }
    if (word == "group") return AnswerOfGroup(WordOf(command[1]), command);
    if (word == "where_is") {
      return Outcome(
          dist::WhereIs(Process(), {gen::Atom(WordOf(command[1])), gen::Atom(WordOf(command[2]))}));
    }
    if (word == "ping") return Outcome(dist::Ping(Process(), gen::Atom(WordOf(command[1]))));
    if (word ==
        "reconnect") {  // the answer is a message: that to the call ends with the connection
      const gen::Atom other(WordOf(command[1]));
      dist::Disconnect(Node(), other);
      while (!dist::Nodes(Node()).empty()) Sleep(1ms);
      (void)Send(*command[2].AsPid(), Outcome(dist::Ping(Process(), other)));
      return Term::Atom("ok");
    }
    if (word == "foreign") {
      // {foreign, Node, Target, Pid}: what only nodes of Ergon do, before it is known what the node is, and afterwards.
      const gen::Atom other(WordOf(command[1]));
      const gen::Target target = TargetOf(command[2]);
      dist::Disconnect(Node(), other);
      while (!dist::Nodes(Node()).empty()) Sleep(1ms);
      const std::vector<Term> outcomes{Outcome(SendImportant(target, 1)),
                                       Outcome(SendImportant(target, 1))};
      (void)Send(*command[3].AsPid(), Term::List(outcomes));
      return Term::Atom("ok");
    }
    if (word == "rpc") {
      std::vector<Term> arguments;
      for (std::size_t i = 0; i < command[4].size(); ++i) arguments.push_back(command[4][i]);
      return Outcome(dist::Rpc(Process(), gen::Atom(WordOf(command[1])), WordOf(command[2]),
                               WordOf(command[3]), std::move(arguments)));
    }
    return Term::Atom("what");
  }

  // {group, Verb, Group, ...}
  Term AnswerOfGroup(const std::string& verb, const Term& command) {
    const gen::Atom group(WordOf(command[2]));
    if (verb == "join") return Outcome(Node().JoinGroup(group, *command[3].AsPid()));
    if (verb == "leave") return Outcome(Node().LeaveGroup(group, *command[3].AsPid()));
    if (verb == "members") return Term::Of(GroupMembers(group));
    if (verb == "monitor") return Outcome(MonitorGroup(group));
    if (verb == "demonitor") return Outcome(DemonitorGroup(group));
    if (verb == "send") {
      const auto sent = SendToGroup(group, command[3]);
      return sent ? Term::Of(static_cast<std::int64_t>(*sent))
                  : Outcome(gen::Result<void>(sent.error()));
    }
    if (verb == "send_to_one") return Outcome(SendToOneOf(group, command[3]));
    return Term::Atom("what");
  }

  void See(std::vector<Term> event) { seen_.push_back(Term::Tuple(std::move(event))); }

  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (auto* exit = message.As<gen::MessageExitPID>()) {
      See({Term::Atom("exit"), Term::Of(exit->pid), Term::Atom(exit->reason.ToString())});
    } else if (auto* pid = message.As<gen::MessageDownPID>()) {
      See({Term::Atom("down"), Term::Of(static_cast<std::int64_t>(pid->ref.id)), Term::Of(pid->pid),
           Term::Atom(pid->reason.ToString())});
    } else if (auto* name = message.As<gen::MessageDownProcessID>()) {
      See({Term::Atom("down"), Term::Of(static_cast<std::int64_t>(name->ref.id)),
           Term::Tuple({Term::Atom(name->process_id.name.Text()),
                        Term::Atom(name->process_id.node.Text())}),
           Term::Atom(name->reason.ToString())});
    } else if (auto* joined = message.As<gen::MessageGroupJoined>()) {
      See({Term::Atom("joined"), Term::Of(joined->group), Term::Of(joined->pids)});
    } else if (auto* left = message.As<gen::MessageGroupLeft>()) {
      See({Term::Atom("left"), Term::Of(left->group), Term::Of(left->pids)});
    } else if (auto* term = message.As<Term>()) {
      See({Term::Atom("message"), Term::Of(from), *term});
    } else if (auto* atom = message.As<gen::Atom>()) {
      See({Term::Atom("message"), Term::Of(from), Term::Of(*atom)});
    }
    return gen::Continue();
  }

  std::vector<Term> seen_;
  std::optional<node::Node> named_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::cerr << "usage: ergon_cluster_node NAME [COOKIE [FOLDER]]\n";
    return 2;
  }
  gen::NodeOptions options;
  dist::ErlangOptions network{.cookie = count > 2 ? arguments[2] : "secret", .tick_time = 8s};
  if (count > 3) {
    const std::string folder = arguments[3];
    network.tls = dist::TlsOptions{folder + "/node.pem", folder + "/node.key", folder + "/ca.pem"};
  }
  OwnNetwork() = network;
  RegisterCode(network);
  options.network = dist::Erlang(network);
  options.types.Register<Count>().Register<Counted>().Register<Refused>();
  options.types.Register<Resize>({.priority = gen::MessagePriority::kHigh});
  options.types.Register<act::PoolChange>({.priority = gen::MessagePriority::kHigh});
  options.types.Register<gen::ProcessChange>({.priority = gen::MessagePriority::kHigh});
  options.types.Register<gen::NodeChange>({.priority = gen::MessagePriority::kHigh});
  auto node = node::Start(arguments[1], options);
  if (!node) {
    std::cerr << node.error().ToString() << '\n';
    return 1;
  }
  node->SpawnRegister("words", gen::Factory<WordPool>()).value();
  node->SpawnRegister("single", gen::Factory<WordPool>(), {}, gen::MakeArgs(100)).value();
  node->SpawnRegister("driver", gen::Factory<Driver>()).value();
  for (const char* name : {"full", "too_small"}) {
    const gen::PID full =
        node->SpawnRegister(name, gen::Factory<WordPool>(), {}, gen::MakeArgs(1)).value();
    // One that is being handled, and one that waits.
    for (int accepted = 0; accepted < 2;) accepted += node->Send(full, Block{}) ? 1 : 0;
  }
  std::cout << "ready"
            << std::endl;  // NOLINT(performance-avoid-endl): somebody waits for this line
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  return 0;
}
