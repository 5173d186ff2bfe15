#include <ergon/node/cluster/erlang_transport.h>

#include <chrono>
#include <future>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <pthread.h>
#include <asio/post.hpp>

#include <ergon/gen/envelope_kind.h>
#include <ergon/node/cluster/connection/dialing.h>
#include <ergon/node/cluster/extension/ergon_signals.h>
#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/handshake/node_names.h>
#include <ergon/node/cluster/outbound/abandoned_calls.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/delivery/remote_names.h>
#include <ergon/node/erlang/terms/utf8.h>
#include <ergon/node/io/io_threads.h>

namespace ergon::dist {
namespace {

// For what is to be written, and read by the peers, when the node stops.
constexpr std::chrono::seconds kLastWords{3};
// For what the thread of the network does then.
constexpr std::chrono::seconds kLastWork{1};

}  // namespace

ErlangTransport::ErlangTransport(const node::TransportFactory::Needs& needs, Settings settings,
                                 const gen::WireTypes& types)
    : needs_(needs),
      settings_(std::move(settings)),
      values_(types, settings_.max_new_atoms, settings_.absent, settings_.max_term_depth),
      listener_(MakeListener()),
      connections_(context_, tasks_, settings_, listener_,
                   [this](const std::shared_ptr<Connection>& connection) { DialPeer(connection); }),
      messages_({.settings = settings_,
                 .values = values_,
                 .traces = traces_,
                 .delivery = needs.delivery,
                 .totals = needs.totals,
                 .connections = connections_}),
      requests_(settings_, values_, traces_, needs.totals, connections_),
      answers_(needs.addresses, values_, connections_),
      links_(needs.addresses, needs.relations, needs.exit_signals, connections_),
      groups_(GroupNeeds()),
      group_timer_(context_, groups_, settings_.tick_time / 4),
      code_({.addresses = needs.addresses,
             .spawning = needs.spawning,
             .relations = needs.relations,
             .exit_signals = needs.exit_signals,
             .log = needs.log,
             .settings = settings_,
             .atoms = values_.atoms()}),
      claims_(needs.log),
      events_({.addresses = needs.addresses,
               .delivery = needs.delivery,
               .publishing = needs.publishing,
               .totals = needs.totals,
               .log = needs.log,
               .settings = settings_,
               .values = values_,
               .traces = traces_,
               .connections = connections_}),
      receiver_({.addresses = needs.addresses,
                 .delivery = needs.delivery,
                 .relations = needs.relations,
                 .exit_signals = needs.exit_signals,
                 .totals = needs.totals,
                 .log = needs.log,
                 .settings = settings_,
                 .values = values_,
                 .groups = groups_,
                 .code = code_,
                 .events = events_,
                 .claims = claims_}),
      down_(DownNeeds()),
      listening_(context_, tasks_, settings_, connections_, needs.log),
      registration_(context_, tasks_, settings_, needs.log),
      work_(asio::make_work_guard(context_)) {}

Connection::Listener ErlangTransport::MakeListener() {
  return {.begins = [this](Connection& connection) { TellPacks(connection); },
          .up =
              [this](Connection& connection) {
                groups_.Connected(connection.peer());
                if (connection.IsForeign() || connection.RefusesSpawns()) {
                  receiver_.RefuseQuestions(connection);
                }
              },
          .arrived = [this](Connection& connection,
                            const Signal& signal) { Receive(connection, signal); },
          .alike_arrived =
              [this](Connection& connection, const Signal& signal,
                     std::span<const std::string_view> payloads) {
                receiver_.HandleAlike(connection, signal, payloads);
              },
          .all_arrived = [this] { receiver_.Flush(); },
          .has_room =
              [this](Connection&, const std::vector<Connection::RoomWaiter>& waiters) {
                messages_.TellRoom(waiters);
              },
          .idle =
              [this](Connection& connection) {
                EndAbandonedCalls(connection, needs_.addresses, needs_.delivery);
              },
          .down = [this](Connection& connection,
                         const Connection::Rest& rest) { down_.Handle(connection, rest); },
          .token = [this](gen::TraceId trace, gen::PID from) { return traces_.Make(trace, from); }};
}

ProcessGroups::Needs ErlangTransport::GroupNeeds() {
  return {.members = needs_.groups,
          .atoms = values_.atoms(),
          .log = needs_.log,
          .self = needs_.addresses.NodePid(),
          .max_term_depth = settings_.max_term_depth,
          .max_frame_bytes = settings_.max_frame_bytes,
          .send = [this](gen::Atom node, const Signal& signal) { SendIfThere(node, signal); },
          .remind = [this] { group_timer_.Start(); },
          .not_believed =
              [this](gen::Atom node, gen::PID of_another) {
                if (const auto connection = connections_.Find(node)) {
                  claims_.Note(*connection, "a change of groups", of_another);
                }
              }};
}

ConnectionDown::Needs ErlangTransport::DownNeeds() {
  return {.addresses = needs_.addresses,
          .delivery = needs_.delivery,
          .relations = needs_.relations,
          .exit_signals = needs_.exit_signals,
          .drops = needs_.drops,
          .totals = needs_.totals,
          .log = needs_.log,
          .connections = connections_,
          .failures = failures_,
          .groups = groups_,
          .code = code_,
          .events = events_,
          .messages = messages_};
}

void ErlangTransport::DialPeer(const std::shared_ptr<Connection>& connection) {
  Dial(context_, tasks_, settings_, connection->peer().ToString(),
       {.pause =
            [this, connection] {
              return failures_.PauseBeforeDial(connection->peer(),
                                               std::chrono::steady_clock::now());
            },
        .is_wanted = [connection] { return !Connections::IsClaimed(*connection); },
        .announced =
            [connection](bool is_announced) { Connections::Announce(*connection, is_announced); },
        .succeeded =
            [this, connection](std::shared_ptr<Stream> stream, const HandshakePeer& peer) {
              failures_.Reached(connection->peer());
              connections_.AttachDialled(*connection, std::move(stream), peer);
            },
        .failed =
            [this, connection](const std::string& why) {
              failures_.FailedToDial(connection->peer(), std::chrono::steady_clock::now());
              connections_.FailToDial(*connection, why);
            }});
}

ErlangTransport::~ErlangTransport() { Close(); }

// It goes there as an atom of Erlang: one that is none ends the connection. An atom here has not too many characters.
gen::Result<void> ErlangTransport::CheckName(const gen::ProcessID& name) const {
  const std::string_view text = name.name.Text();
  if (CountCharacters(text)) return {};
  return gen::Error(gen::ErrorCode::kIncorrect,
                    fmt::format("name: {} is not UTF-8, as the names of processes of {} have to be",
                                Quoted(text), name.node));
}

gen::Result<void> ErlangTransport::Open() {
  if (auto fits = CheckPacks(); !fits) return fits;
  std::uint16_t port = 0;
  try {
    if (settings_.listen) port = listening_.Open();
  } catch (const std::system_error& error) {
    return gen::Error(gen::ErrorCode::kInternal, fmt::format("network: listening at {}:{}: {}",
                                                             settings_.listen_address.to_string(),
                                                             settings_.listen_port, error.what()));
  }
  try {
    std::promise<void> ended;
    ended_ = ended.get_future();
    thread_ = std::thread([this, promise = std::move(ended)]() mutable {
      node::BecomeIoThread(this);
      context_.run();
      promise.set_value();
    });
  } catch (const std::system_error& error) {
    return gen::Error(gen::ErrorCode::kInternal,
                      fmt::format("network: a thread cannot be started: {}", error.what()));
  }
  pthread_setname_np(thread_.native_handle(), "ergon-net");
  // Before peers come, which may spawn processes.
  needs_.addresses.SetTransport(this);
  needs_.groups.SetTransport(&groups_);
  needs_.publishing.SetTransport(&events_);
  if (!settings_.listen) return {};
  std::promise<gen::Result<void>> registered;
  asio::post(context_, [&] {
    // Peers that come before wait: what they would begin could not be ended if the name is refused.
    registration_.Start(port, [&](gen::Result<void> outcome) {
      if (outcome) listening_.Start();
      registered.set_value(std::move(outcome));
    });
  });
  auto outcome = registered.get_future().get();
  if (outcome) {
    gen::Log(needs_.log)
        .Info("network: listening at {}:{}", settings_.listen_address.to_string(), port);
  }
  return outcome;
}

void ErlangTransport::Close() {
  if (!thread_.joinable()) return;
  connections_.Close();
  asio::post(context_, [this] {
    listening_.Close();
    registration_.Close();
    for (const auto& connection : connections_.All()) connection->CloseWhenWritten();
  });
  work_.reset();
  const auto until = std::chrono::steady_clock::now() + kLastWords;
  while (!connections_.All().empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  asio::post(context_, [this] {
    for (const auto& connection : connections_.All()) connection->Fail(kStopping);
    group_timer_.Cancel();
    tasks_.Cancel();
  });
  // All that waits has been cancelled, unless a peer keeps the thread busy.
  if (ended_.wait_for(kLastWork) != std::future_status::ready) context_.stop();
  thread_.join();
  tasks_.Cancel();
}

void ErlangTransport::TakeOver(const Settings& fresh) {
  settings_.handshake_timeout = fresh.handshake_timeout;
  settings_.max_handshakes = fresh.max_handshakes;
  settings_.max_remote_processes = fresh.max_remote_processes;
  settings_.observable = fresh.observable;
  asio::post(context_, [this, cookie = fresh.cookie, tls = fresh.tls] {
    settings_.cookie = cookie;
    settings_.tls = tls;
  });
}

gen::Result<void> ErlangTransport::Deliver(gen::PID remote, core::EnvelopePtr& envelope) {
  if (node::KindOf(*envelope) == gen::EnvelopeKind::kMessage) [[likely]] {
    gen::Result<void> taken = messages_.Send(remote, *envelope);
    if (!taken) [[unlikely]]
      return taken;
    envelope.reset();
    return {};
  }
  gen::Result<void> sent;
  switch (node::KindOf(*envelope)) {
    case gen::EnvelopeKind::kRequest:
      sent = requests_.Send(remote, *envelope);
      break;
    case gen::EnvelopeKind::kInspect:
      sent = requests_.SendInspection(remote, *envelope);
      break;
    case gen::EnvelopeKind::kDown:
      sent = links_.SendDown(remote, *envelope);
      break;
    default:
      return gen::Error(
          gen::ErrorCode::kUnsupported,
          "this function is for processes of this node only, not for " + node::TextOf(remote));
  }
  if (sent) envelope.reset();
  return sent;
}

void ErlangTransport::Receive(Connection& connection, const Signal& signal) {
  if (signal.token.empty()) [[likely]] {
    receiver_.Handle(connection, signal);
    return;
  }
  Signal traced = signal;
  traced.trace = traces_.TakeToken(signal.token);
  receiver_.Handle(connection, traced);
}

std::string ErlangTransport::Packs() const {
  std::string payload;
  AppendPacks(payload);
  values_.packed().AppendAll(payload);
  return payload;
}

gen::Result<void> ErlangTransport::CheckPacks() const {
  const std::string payload = Packs();
  std::string frame;
  AppendFrame(frame, ErgonSignal(needs_.addresses.NodePid(), payload), kOwnFlags);
  const std::size_t bytes = frame.size() - kFrameLengthBytes;
  if (bytes <= settings_.max_frame_bytes) return {};
  return gen::Error(
      gen::ErrorCode::kIncorrect,
      fmt::format(
          "network: max_frame_bytes: {}, but the frame that tells of the {} packed types has {}",
          settings_.max_frame_bytes, values_.packed().size(), bytes));
}

void ErlangTransport::TellPacks(Connection& connection) {
  if (connection.MaySayPacks()) {
    const std::string payload = Packs();
    connection.Send(ErgonSignal(needs_.addresses.NodePid(), payload), SentAs::kOwn);
  }
}

bool ErlangTransport::Disconnect(gen::Atom node) {
  const auto connection = connections_.Find(node);
  if (connection == nullptr) return false;
  asio::post(context_, [connection] { connection->Fail("this node has ended the connection"); });
  return true;
}

void ErlangTransport::SendIfThere(gen::Atom node, const Signal& signal) {
  if (const auto connection = connections_.FindLocked(node))
    connection->Send(signal, SentAs::kAnswer);
}

}  // namespace ergon::dist
