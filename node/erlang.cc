#include <ergon/node/erlang.h>

#include <utility>

#include <fmt/core.h>
#include <asio/io_context.hpp>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/node/cluster/connection/dialing.h>
#include <ergon/node/cluster/erlang_network.h>
#include <ergon/node/cluster/erlang_transport.h>
#include <ergon/node/cluster/exports/term_request.h>
#include <ergon/node/cluster/handshake/challenge.h>
#include <ergon/node/cluster/handshake/node_names.h>
#include <ergon/node/cluster/tools/trace_answers.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/remote_names.h>
#include <ergon/node/erlang/terms/utf8.h>
#include <ergon/node/runtime/runtime.h>

namespace ergon::dist {
namespace {

// Null: the node has no network, or one of another kind.
ErlangTransport* TransportOf(gen::Node& node, const char* function) {
  return dynamic_cast<ErlangTransport*>(node::RuntimeOf(node, function).transport());
}

gen::Result<std::string> TryToConnect(asio::io_context& context, Tasks& tasks,
                                      const Settings& settings, const std::string& other) {
  bool is_shaking = false;
  bool is_connected = false;
  DialAttempt attempt(context, tasks, settings, other, [&] {
    is_connected = is_shaking;
    return !is_shaking;  // a node of that name has the connection, and keeps it
  });
  auto connected = attempt.Connect();
  if (!connected) return std::move(connected.error());
  const std::string address = attempt.stream()->PeerAddress();
  is_shaking = true;
  auto peer = attempt.ShakeHands(settings.Self());
  attempt.stream()->Close();
  if (is_connected) {
    return fmt::format("{} at {} is connected with {}", other, address, settings.node);
  }
  if (!peer) return std::move(peer.error());
  return fmt::format("{} at {} accepts {}{}", other, address, settings.node,
                     settings.tls == nullptr ? "" : " over TLS");
}

// That both can be atoms of Erlang: what is none ends the connection there.
gen::Result<void> CheckNames(const char* caller, std::string_view module,
                             std::string_view function) {
  for (const auto& [field, name] : {std::pair("module", module), std::pair("function", function)}) {
    if (name.size() > gen::Atom::kMaxBytes) {
      return gen::Error(gen::ErrorCode::kIncorrect,
                        fmt::format("{}: {}: a name of {} bytes, at most {} are allowed", caller,
                                    field, name.size(), gen::Atom::kMaxBytes));
    }
    if (!CountCharacters(name)) {
      return gen::Error(gen::ErrorCode::kIncorrect,
                        fmt::format("{}: {}: {} is not UTF-8", caller, field, Quoted(name)));
    }
  }
  return {};
}

// Runs `step` on a network of its own, which is gone afterwards. Blocks.
gen::Result<std::string> RunApart(
    const std::function<gen::Result<std::string>(asio::io_context&, Tasks&)>& step) {
  asio::io_context context(1);
  gen::Result<std::string> outcome = gen::ErrNoConnection;
  Tasks tasks(context);
  tasks.Start([&] {
    try {
      outcome = step(context, tasks);
    } catch (...) {
      outcome = gen::Error(gen::ErrorCode::kNoConnection, core::ThrownText());
    }
  });
  context.run();
  return outcome;
}

}  // namespace

Absent detail::AbsentOf(gen::Process& self) {
  const ErlangTransport* const transport = TransportOf(self.Node(), "dist::RemoteFunctions");
  return transport == nullptr ? Absent::kUndefined : transport->settings().absent;
}

std::string ListenAddressOf(gen::Process& self) {
  const ErlangTransport* const transport = TransportOf(self.Node(), "dbg:do_relay");
  return transport == nullptr ? "" : transport->settings().listen_address.to_string();
}

std::shared_ptr<const gen::Network> Erlang(ErlangOptions options) {
  return std::make_shared<ErlangNetwork>(std::move(options));
}

std::vector<gen::Atom> Nodes(gen::Node& node) {
  std::vector<gen::Atom> nodes;
  const ErlangTransport* const transport = TransportOf(node, "dist::Nodes");
  if (transport == nullptr) return nodes;
  for (const auto& connection : transport->connections().All()) {
    if (connection->Lock()->state() == Connection::State::kUp) nodes.push_back(connection->peer());
  }
  return nodes;
}

std::vector<ConnectionInfo> InspectConnections(gen::Node& node) {
  std::vector<ConnectionInfo> all;
  const ErlangTransport* const transport = TransportOf(node, "dist::InspectConnections");
  if (transport == nullptr) return all;
  for (const auto& connection : transport->connections().All()) {
    const auto lock = connection->Lock();
    if (connection->state() == Connection::State::kDown) continue;
    const bool is_up = connection->state() == Connection::State::kUp;
    all.push_back({.node = connection->peer(),
                   .is_up = is_up,
                   .is_ergon = is_up && !connection->IsForeign(),
                   .queued_bytes = connection->QueuedBytes(),
                   .answer_bytes = connection->AnswerBytes(),
                   .most_queued_bytes = connection->MostQueuedBytes(),
                   .waiting_senders = connection->Waiters().size(),
                   .put_aside_bytes = connection->PutAsideBytes(),
                   .is_listened_to = !connection->IsHeld(),
                   .not_believed = connection->peer_state().not_believed});
  }
  return all;
}

bool Disconnect(gen::Node& node, gen::Atom other) {
  ErlangTransport* const transport = TransportOf(node, "dist::Disconnect");
  return transport != nullptr && transport->Disconnect(other);
}

namespace {

// Returns whether `other` is the node of `self`: a name of another one leads there without a look-up.
bool IsOwn(const gen::Messenger& self, gen::Atom other) {
  if (other.empty()) return false;
  const auto found = self.Resolve(gen::ProcessID{"net_kernel", other});
  return found ? !node::IsName(*found) : found.error() == gen::ErrProcessUnknown;
}

}  // namespace

gen::Result<void> Ping(gen::Messenger& self, gen::Atom other, const gen::CallOptions& options) {
  if (IsOwn(self, other)) return {};
  auto answer = self.Call(
      gen::ProcessID{"net_kernel", other},
      TermRequest{Term::Tuple({Term::Atom("is_auth"), Term::Atom(other.Text())})}, options);
  if (!answer) return std::move(answer.error());
  if (answer->AsAtomText() == "yes") return {};
  return gen::Error(gen::ErrorCode::kNoConnection,
                    fmt::format("{} answers {}", other, answer->ToString()));
}

gen::Result<Term> Rpc(gen::Messenger& self, gen::Atom other, std::string_view module,
                      std::string_view function, const std::vector<Term>& arguments,
                      const gen::CallOptions& options) {
  auto checked = CheckNames("dist::Rpc", module, function);
  if (!checked) return std::move(checked.error());
  if (IsOwn(self, other)) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("dist::Rpc: {} is this node itself", other));
  }
  auto answer = self.Call(
      gen::ProcessID{"rex", other},
      TermRequest{Term::Tuple({Term::Atom("call"), Term::Atom(module), Term::Atom(function),
                               Term::List(arguments), Term::Atom("user")})},
      options);
  if (!answer) return std::move(answer.error());
  if (answer->kind() == Term::Kind::kTuple && answer->size() == 2 &&
      (*answer)[0].AsAtomText() == "badrpc") {
    const Term& why = (*answer)[1];
    // Of an Ergon node, where it has failed with an error of ours.
    if (why.kind() == Term::Kind::kTuple && why.size() == 2 && why[0].AsAtomText() == "error") {
      return ReadError(why[1].raw());
    }
    return gen::Error(why.ToString());
  }
  return std::move(*answer);
}

gen::Result<gen::PID> WhereIs(gen::Messenger& self, const gen::ProcessID& name,
                              const gen::CallOptions& options) {
  // A process of this node needs no question.
  auto local = self.Resolve(name);
  if (!local || !node::IsName(*local)) return local;
  auto answer = Rpc(self, name.node, "erlang", "whereis", {Term::Atom(name.name.Text())}, options);
  if (!answer) return std::move(answer.error());
  if (const auto pid = answer->AsPid()) return *pid;
  if (answer->AsAtomText() == "undefined") return gen::ErrProcessUnknown;
  return gen::Error(gen::ErrorCode::kUnsupported,
                    fmt::format("{}: {} is no process", name, answer->ToString()));
}

namespace {

// The PID; with `monitors`, and the reference of the monitor.
gen::Result<Term> SpawnThere(gen::Process& self, gen::Atom other, std::string_view module,
                             std::string_view function, const std::vector<Term>& arguments,
                             const SpawnOptions& options, bool monitors) {
  if (other == self.Self().node) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("dist::Spawn: {} is this node itself", other));
  }
  auto checked = CheckNames("dist::Spawn", module, function);
  if (!checked) return std::move(checked.error());
  // The name is nobody's: it leads to the node.
  auto answer = self.Call(gen::ProcessID{"erpc", other},
                          RemoteSpawn{std::string(module), std::string(function),
                                      Term::List(arguments), options.link, monitors},
                          options.call);
  if (!answer) return answer;
  const auto pid = (monitors ? (*answer)[0] : *answer).AsPid();
  if (!pid) return gen::Error(gen::ErrorCode::kInternal, answer->ToString());
  return answer;
}

}  // namespace

gen::Result<gen::PID> Spawn(gen::Process& self, gen::Atom other, std::string_view module,
                            std::string_view function, const std::vector<Term>& arguments,
                            const SpawnOptions& options) {
  const auto spawned = SpawnThere(self, other, module, function, arguments, options, false);
  if (!spawned) return spawned.error();
  return *spawned->AsPid();
}

gen::Result<Monitored> SpawnMonitored(gen::Process& self, gen::Atom other, std::string_view module,
                                      std::string_view function, const std::vector<Term>& arguments,
                                      const SpawnOptions& options) {
  const auto spawned = SpawnThere(self, other, module, function, arguments, options, true);
  if (!spawned) return spawned.error();
  const auto ref = (*spawned)[1].To<gen::Ref>();
  if (!ref) return ref.error();
  return Monitored{*(*spawned)[0].AsPid(), *ref};
}

gen::Result<std::string> Diagnose(const std::string& own, const std::string& other,
                                  const ErlangOptions& options) {
  auto settings = SettingsOf(own, options);
  if (!settings) return std::move(settings.error());
  settings->creation = RandomChallenge() | 4;  // nobody will meet it
  return RunApart([&](asio::io_context& context, Tasks& tasks) {
    return TryToConnect(context, tasks, *settings, other);
  });
}

gen::Result<std::string> AskForName(const std::string& host, const std::string& other,
                                    const ErlangOptions& options) {
  const auto settings = SettingsOf("nobody@" + host, options);
  if (!settings) return settings.error();
  return RunApart([&](asio::io_context& context, Tasks& tasks) -> gen::Result<std::string> {
    DialAttempt attempt(context, tasks, *settings, other);
    auto connected = attempt.Connect();
    if (!connected) return std::move(connected.error());
    HandshakeSelf self = settings->Self();
    self.name = host;
    self.creation = 0;
    auto peer = attempt.ShakeHands(std::move(self));
    if (!peer) return std::move(peer.error());
    // A node of Erlang notes that it is connected only after its last word of the handshake, and would tell another
    // node with this name until then that an attempt of its own goes on. It closes the connection after that note.
    attempt.End();
    return std::move(peer->given_name);
  });
}

}  // namespace ergon::dist
