#include <ergon/node/cluster/outbound/erlang_border.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <pthread.h>
#include <asio/post.hpp>

#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/notices.h>
#include <ergon/gen/response.h>
#include <ergon/node/cluster/connection/answer_signals.h>
#include <ergon/node/cluster/connection/dialing.h>
#include <ergon/node/cluster/extension/own_signals.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/cluster/signals/monitor_signals.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/signals/scratch.h>
#include <ergon/node/cluster/tools/system_answers.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {
namespace {

using Question = PeerState::OwnQuestion;

// For what is to be written when the node stops.
constexpr std::chrono::seconds kLastWords{1};
// Before a node is asked again for its groups.
constexpr std::chrono::milliseconds kFirstPause{100};

// For those who hear of it as of an end.
gen::Reason ReasonOf(const gen::Error& error) {
  return error == gen::ErrProcessIncarnation ? gen::Reason::NoProcess()
                                             : gen::Reason::NoConnection();
}

// The frame of a message to a process, a name or an alias, without its payload. Null: too many other aliases have come
// since this one was resolved.
std::string* OpenFrameTo(Scratch& scratch, gen::PID remote, gen::PID from) {
  if (remote.creation != 0) [[likely]]
    return &scratch.OfMessage(from, remote);
  std::string& frame = scratch.Empty();
  if (node::IsName(remote)) {
    OpenMessageToName(frame, from, node::NameOf(remote).name.Text());
    return &frame;
  }
  const auto alias = node::ForeignAliasOf(remote);
  if (!alias) return nullptr;
  std::string reference;
  AppendReference(reference, *alias);
  OpenMessageToAlias(frame, from, reference);
  return &frame;
}

gen::Error FormerAlias(gen::PID remote) {
  return gen::Error(gen::ErrorCode::kProcessUnknown, node::TextOf(remote));
}

gen::Error NotPassedOn(gen::PID caller, gen::PID remote) {
  return gen::Error(
      gen::ErrorCode::kUnsupported,
      fmt::format("a request of {} cannot be passed on to {} of another node: make a request of "
                  "your own there, and answer with its answer",
                  caller, node::TextOf(remote)));
}

}  // namespace

ErlangBorder::ErlangBorder(const node::BorderMaker::Needs& needs, Settings settings,
                           const gen::WireTypes& types)
    : needs_(needs),
      settings_(std::move(settings)),
      values_(types, settings_.max_new_atoms, settings_.absent),
      listener_{.up =
                    [this](Connection& connection) {
                      TellPacks(connection);
                      groups_.Connected(connection.peer());
                      if (connection.IsForeign()) receiver_.RefuseQuestions(connection);
                    },
                .arrived = [this](Connection& connection,
                                  const Signal& signal) { receiver_.Handle(connection, signal); },
                .has_room =
                    [this](Connection&, const std::vector<Connection::RoomWaiter>& waiters) {
                      TellRoom(waiters);
                    },
                .idle = [this](Connection& connection) { ForgetCalls(connection); },
                .down = [this](Connection& connection,
                               Connection::Rest rest) { Down(connection, std::move(rest)); }},
      connections_(
          context_, tasks_, settings_, listener_,
          [this](const std::shared_ptr<Connection>& connection) {
            Dial(
                context_, tasks_, settings_, challenges_, connection->peer().ToString(),
                {.pause =
                     [this, connection] {
                       return failures_.PauseBeforeDial(connection->peer(),
                                                        std::chrono::steady_clock::now());
                     },
                 .is_wanted = [connection] { return !Connections::IsClaimed(*connection); },
                 .announced =
                     [connection](bool is_announced) {
                       Connections::Announce(*connection, is_announced);
                     },
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
          }),
      groups_({.members = needs.groups,
               .atoms = values_.atoms(),
               .log = needs.log,
               .self = needs.addresses.NodePid(),
               .max_term_depth = settings_.max_term_depth,
               .max_frame_bytes = settings_.max_frame_bytes,
               .send = [this](gen::Atom node, const Signal& signal) { SendIfThere(node, signal); },
               .remind = [this] { AskForGroupsAfter(kFirstPause); },
               .not_believed =
                   [this](gen::Atom node, gen::PID of_another) {
                     if (const auto connection = connections_.Find(node)) {
                       claims_.Note(*connection, "a change of groups", of_another);
                     }
                   }}),
      code_({.addresses = needs.addresses,
             .spawning = needs.spawning,
             .relations = needs.relations,
             .exit_signals = needs.exit_signals,
             .log = needs.log,
             .settings = settings_,
             .atoms = values_.atoms()}),
      claims_(needs.log),
      events_({needs.addresses, needs.delivery, needs.publishing, needs.totals, needs.log,
               settings_, values_, connections_}),
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
      listening_(context_, tasks_, settings_, challenges_, connections_, needs.log),
      registration_(context_, tasks_, settings_, needs.log),
      work_(asio::make_work_guard(context_)) {}

ErlangBorder::~ErlangBorder() { Close(); }

gen::Result<void> ErlangBorder::Open() {
  std::uint16_t port = 0;
  try {
    if (settings_.listen) port = listening_.Open();
    std::promise<void> ended;
    ended_ = ended.get_future();
    thread_ = std::thread([this, promise = std::move(ended)]() mutable {
      context_.run();
      promise.set_value();
    });
  } catch (const std::system_error& error) {
    return gen::Error(gen::ErrorCode::kInternal, fmt::format("network: listening at {}:{}: {}",
                                                             settings_.listen_address.to_string(),
                                                             settings_.listen_port, error.what()));
  }
  pthread_setname_np(thread_.native_handle(), "ergon-net");
  // Before peers come, which may spawn processes.
  needs_.addresses.SetBorder(this);
  needs_.groups.SetBorder(&groups_);
  needs_.publishing.SetBorder(&events_);
  if (!settings_.listen) return {};
  std::promise<gen::Result<void>> registered;
  asio::post(context_, [&] {
    listening_.Start();
    registration_.Start(
        port, [&](gen::Result<void> outcome) { registered.set_value(std::move(outcome)); });
  });
  auto outcome = registered.get_future().get();
  if (outcome) {
    gen::Log(needs_.log)
        .Info("network: listening at {}:{}", settings_.listen_address.to_string(), port);
  }
  return outcome;
}

void ErlangBorder::Close() {
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
    for (const auto& connection : connections_.All()) connection->Fail("the node is stopping");
    asking_.cancel();
    tasks_.Cancel();
  });
  // All that waits has been cancelled, unless a peer keeps the thread busy.
  if (ended_.wait_for(kLastWords) != std::future_status::ready) context_.stop();
  thread_.join();
  tasks_.Cancel();
}

gen::Result<void> ErlangBorder::CheckSize(std::string_view frame, gen::PID remote) const {
  return CheckFrame(frame.size() - kFrameLengthBytes, settings_.max_frame_bytes, remote.node);
}

std::string ErlangBorder::Reference(std::uint64_t id) const {
  std::string bytes;
  AppendReference(bytes, id, settings_.node, settings_.creation);
  return bytes;
}

gen::Result<void> ErlangBorder::Deliver(gen::PID remote, core::EnvelopePtr& envelope) {
  gen::Result<void> sent;
  switch (node::KindOf(*envelope)) {
    case gen::EnvelopeKind::kMessage:
      sent = SendMessage(remote, *envelope);
      break;
    case gen::EnvelopeKind::kRequest:
      sent = SendRequest(remote, *envelope);
      break;
    case gen::EnvelopeKind::kInspect:
      sent = SendInspection(remote, *envelope);
      break;
    case gen::EnvelopeKind::kDown:
      sent = TellDown(remote, *envelope);
      break;
    default:
      return gen::Error(gen::ErrorCode::kUnsupported,
                        "not for a process of another node: " + node::TextOf(remote));
  }
  if (sent) envelope.reset();
  return sent;
}

gen::Result<Form> ErlangBorder::FormFor(const Values::Writer& how, Connection& connection) {
  return PackedTypes::FormFor(*how.packed, how.write != nullptr, connection.relations().packs,
                              connection.MaySayPacks(), connection.peer());
}

gen::Result<void> ErlangBorder::TakeForm(Form& form, const Values::Writer& how,
                                         Connection& connection) {
  if (connection.relations().packs.Of(how.packed->index).what == PeerPacks::What::kTheSame)
      [[likely]] {
    form = Form::kPacked;
    return {};
  }
  auto taken = FormFor(how, connection);
  if (!taken) return std::move(taken.error());
  form = *taken;
  return {};
}

template <class Send>
gen::Result<void> ErlangBorder::SendInForm(const Values::Writer& how, gen::Atom node, Send send) {
  Form form = Form::kTerm;
  if (how.packed == nullptr) [[likely]]
    return send(form, form);
  form = how.write == nullptr ? Form::kPacked : how.packed->hints.Of(node);
  for (;;) {
    const Form tried = form;
    auto sent = send(tried, form);
    if (form == tried) return sent;
    how.packed->hints.Note(node, form);
  }
}

gen::Result<void> ErlangBorder::SendMessage(gen::PID remote, const core::Envelope& envelope) {
  if (node::IsImportant(envelope)) {  // see SendImportant
    return gen::Error(
        gen::ErrorCode::kUnsupported,
        "nobody waits for the confirmation of an important message to " + node::TextOf(remote));
  }
  const Values::Writer* const how = values_.WriterOf(envelope);
  if (how == nullptr) return values_.WhyNoWriter(envelope);
  return SendInForm(*how, remote.node, [&](Form tried, Form& form) {
    return SendMessageIn(tried, form, remote, envelope, *how);
  });
}

gen::Result<void> ErlangBorder::SendMessageIn(Form tried, Form& form, gen::PID remote,
                                              const core::Envelope& envelope,
                                              const Values::Writer& how) {
  Scratch scratch;
  std::string* const frame = OpenFrameTo(scratch, remote, gen::PID::FromAddress(envelope.from));
  if (frame == nullptr) return FormerAlias(remote);
  auto written = values_.Append(*frame, envelope, how, tried);
  if (!written) return written;
  if (auto fits = CheckSize(*frame, remote); !fits) return fits;
  CloseFrame(*frame, 0);
  return connections_.With(remote.node, [&](Connection& connection) -> gen::Result<void> {
    if (how.packed != nullptr) {
      if (auto taken = TakeForm(form, how, connection); !taken || form != tried) return taken;
    }
    auto accepts = connection.Accepts(remote);
    if (!accepts) return accepts;
    connection.AppendMessage(*frame);
    needs_.totals.sent_to_nodes.Add();
    return {};
  });
}

void ErlangBorder::TellPacks(Connection& connection) {
  std::string payload;
  AppendPacks(payload);
  values_.packed().AppendAll(payload);
  std::lock_guard lock(connection.mutex());
  if (connection.MaySayPacks()) {
    connection.AppendOwn(OwnSignal(needs_.addresses.NodePid(), payload));
  }
}

gen::Result<void> ErlangBorder::SendImportant(gen::PID remote, const core::Envelope& message,
                                              gen::PID local, std::uint64_t id) {
  const Values::Writer* const how = values_.WriterOf(message);
  if (how == nullptr) return values_.WhyNoWriter(message);
  return SendInForm(*how, remote.node, [&](Form tried, Form& form) -> gen::Result<void> {
    Scratch scratch;
    std::string& payload = scratch.Empty();
    AppendImportant(payload, Reference(id), remote);
    auto written = values_.Append(payload, message, *how, tried);
    if (!written) return written;
    const Signal signal = OwnSignal(gen::PID::FromAddress(message.from), payload);
    return connections_.With(remote.node, [&](Connection& connection) -> gen::Result<void> {
      if (how->packed != nullptr && !connection.IsForeign()) {
        if (auto taken = TakeForm(form, *how, connection); !taken || form != tried) return taken;
      }
      return AppendQuestion(connection,
                            {.local = local, .remote = remote, .question = Question::kImportant},
                            id, signal);
    });
  });
}

gen::Result<void> ErlangBorder::Ask(gen::PID remote, const PeerState::Call& question,
                                    std::uint64_t id, gen::PID from, std::string_view payload) {
  const Signal signal = OwnSignal(from, payload);
  return connections_.With(remote.node, [&](Connection& connection) {
    return AppendQuestion(connection, question, id, signal);
  });
}

gen::Result<void> ErlangBorder::SendInspection(gen::PID remote, const core::Envelope& request) {
  const auto* asked = const_cast<core::Envelope&>(request).ValueAs<gen::InspectRequest>();
  if (asked->wanted != nullptr) {
    if (auto known = values_.CheckRegistered(*asked->wanted); !known) return known;
  }
  Scratch scratch;
  std::string& payload = scratch.Empty();
  AppendInspect(payload, Reference(request.ref), remote);
  TermWriter writer(payload);
  if (asked->wanted != nullptr) {
    writer.Tuple(2);
    writer.Atom(kInspectionAs);
    writer.Binary(asked->wanted->Name());
  } else {
    if (!asked->items.empty()) writer.List(asked->items.size());
    for (const std::string& item : asked->items) writer.Binary(item);
    writer.Nil();
  }
  const gen::PID local = gen::PID::FromAddress(request.from);
  return Ask(remote, {.local = local, .remote = remote, .question = Question::kInspect},
             request.ref, local, payload);
}

// As gen_server:call does it: a monitor, whose reference is also the alias that the answer is sent to.
gen::Result<void> ErlangBorder::SendRequest(gen::PID remote, const core::Envelope& request) {
  const gen::PID local = gen::PID::FromAddress(request.from);
  // Passed on. The other node takes monitors and callers of its peer only, and the answer would not come here.
  if (local.node != settings_.node) return NotPassedOn(local, remote);
  if (const auto* spawn = const_cast<core::Envelope&>(request).ValueAs<RemoteSpawn>()) {
    return SendSpawn(remote, request, *spawn);
  }
  if (core::IsType<RoomQuestion>(request.type)) {
    Scratch scratch;
    std::string& question = scratch.Empty();
    AppendRoomQuestion(question, Reference(request.ref), remote);
    auto asked = Ask(remote, {.local = local, .remote = remote, .question = Question::kRoom},
                     request.ref, local, question);
    if (asked) needs_.totals.sent_to_nodes.Add();
    return asked;
  }
  if (core::IsType<TermRequest>(request.type)) {
    Form form = Form::kTerm;
    return SendRequestIn(form, form, remote, request, nullptr);
  }
  const Values::Writer* const how = values_.WriterOf(request);
  if (how == nullptr) return values_.WhyNoWriter(request);
  return SendInForm(*how, remote.node, [&](Form tried, Form& form) {
    return SendRequestIn(tried, form, remote, request, how);
  });
}

gen::Result<void> ErlangBorder::SendRequestIn(Form tried, Form& form, gen::PID remote,
                                              const core::Envelope& request,
                                              const Values::Writer* how) {
  const gen::PID local = gen::PID::FromAddress(request.from);
  const auto* any = const_cast<core::Envelope&>(request).ValueAs<TermRequest>();
  const std::string reference = Reference(request.ref);
  Scratch scratch;
  std::string* const frame = OpenFrameTo(scratch, remote, local);
  if (frame == nullptr) return FormerAlias(remote);
  TermWriter writer(*frame);
  writer.Tuple(3);
  writer.Atom(any != nullptr && any->is_system ? "system" : "$gen_call");
  writer.Tuple(2);
  writer.Pid(local);
  writer.List(1);
  writer.Atom("alias");
  writer.Raw(reference);  // the tail: an improper list
  if (any != nullptr) {
    writer.Raw(any->term.raw());
  } else {
    auto written = values_.Append(*frame, request, *how, tried);
    if (!written) return written;
  }
  if (auto fits = CheckSize(*frame, remote); !fits) return fits;
  CloseFrame(*frame, 0);
  // Nobody can monitor by an alias: only Ergon nodes tell of every end without that.
  const Question question = node::IsAlias(remote) ? Question::kCallOfAlias : Question::kNone;
  const Signal monitor = MonitorOf(local, remote, reference);
  return connections_.With(remote.node, [&](Connection& connection) -> gen::Result<void> {
    if (question != Question::kNone && connection.IsForeign()) {
      return NoErgonNode(question, connection.peer());
    }
    if (how != nullptr && how->packed != nullptr) {
      if (auto taken = TakeForm(form, *how, connection); !taken || form != tried) return taken;
    }
    auto accepts = connection.Accepts(remote);
    if (!accepts) return accepts;
    connection.relations().calls[request.ref] = {
        .local = local, .remote = remote, .keeps_term = any != nullptr, .question = question};
    if (question == Question::kNone) connection.AppendOwn(monitor);
    connection.AppendRequest(*frame);
    needs_.totals.sent_to_nodes.Add();
    return {};
  });
}

// The process is monitored from its beginning with the reference of the request: its end is an answer.
gen::Result<void> ErlangBorder::SendSpawn(gen::PID remote, const core::Envelope& request,
                                          const RemoteSpawn& spawn) {
  const std::string reference = Reference(request.ref);
  Signal signal;
  signal.kind = SignalKind::kSpawnRequest;
  signal.from = gen::PID::FromAddress(request.from);
  signal.ref = reference;
  signal.module = spawn.module;
  signal.function = spawn.function;
  signal.arity = static_cast<std::uint32_t>(spawn.arguments.size());
  signal.links = spawn.links ? kMonitored | kLinked : kMonitored;
  signal.payload = spawn.arguments.raw();
  return connections_.With(remote.node, [&](Connection& connection) -> gen::Result<void> {
    auto accepts = connection.Accepts(remote);
    if (!accepts) return accepts;
    auto appended = connection.AppendMessage(signal);
    if (!appended) return appended;
    connection.relations().calls[request.ref] = {.local = signal.from,
                                                 .remote = remote,
                                                 .keeps_term = true,
                                                 .spawns = true,
                                                 .links = spawn.links,
                                                 .monitors = spawn.monitors};
    needs_.totals.sent_to_nodes.Add();
    return {};
  });
}

gen::Result<void> ErlangBorder::TellDown(gen::PID remote, const core::Envelope& notice) {
  auto& envelope = const_cast<core::Envelope&>(notice);
  gen::Reason reason;
  if (const auto* pid = envelope.ValueAs<gen::MessageDownPID>()) {
    reason = pid->reason;
  } else if (const auto* name = envelope.ValueAs<gen::MessageDownProcessID>()) {
    reason = name->reason;
  } else if (const auto* alias = envelope.ValueAs<gen::MessageDownAlias>()) {
    reason = alias->reason;
  } else {
    return gen::ErrUnsupported;
  }
  Scratch scratch;
  std::string& payload = scratch.Empty();
  AppendReason(payload, reason);
  const auto connection = connections_.Find(remote.node);
  if (connection == nullptr) return gen::ErrNoConnection;
  std::lock_guard lock(connection->mutex());
  PeerState& relations = connection->relations();
  const auto found = relations.watchers.find(notice.ref);
  if (found == relations.watchers.end())
    return gen::ErrResponseIgnored;  // it has ended the monitor
  const PeerState::Watcher& watcher = found->second;
  Signal signal;
  signal.kind = SignalKind::kDown;
  if (watcher.name.empty()) signal.from = watcher.watched;
  signal.to = watcher.remote;
  signal.name = watcher.name;
  signal.ref = watcher.raw;
  signal.payload = payload;
  AppendEnd(*connection, signal);
  // It is an answer to the request of the same reference.
  relations.ForgetRequest(watcher.raw);
  relations.watcher_numbers.erase(watcher.raw);
  relations.watchers.erase(found);
  return {};
}

bool ErlangBorder::Disconnect(gen::Atom node) {
  const auto connection = connections_.Find(node);
  if (connection == nullptr) return false;
  asio::post(context_, [connection] { connection->Fail("this node has ended the connection"); });
  return true;
}

void ErlangBorder::AwaitRoom(gen::Atom node, gen::PID local, std::uint64_t id) {
  if (const auto connection = connections_.Find(node)) {
    std::lock_guard lock(connection->mutex());
    if (connection->state() != Connection::State::kDown &&
        (connection->IsFull() || connection->MaySayPacks())) {
      connection->AddWaiter({local, id});
      return;
    }
  }
  TellRoom({{local, id}});
}

void ErlangBorder::TellRoom(const std::vector<Connection::RoomWaiter>& waiters) {
  for (const auto& waiter : waiters) {
    (void)needs_.delivery.Respond(
        waiter.local, waiter.id,
        core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse),
                         core::Lane::kMain));
  }
}

gen::Result<void> ErlangBorder::Respond(gen::PID remote, std::uint64_t ref,
                                        core::EnvelopePtr response) {
  const auto connection = connections_.Find(remote.node);
  if (connection == nullptr) return gen::ErrResponseIgnored;
  PeerState::Request request;
  const Values::Writer* const how = values_.WriterOf(*response);
  gen::Result<Form> form = Form::kTerm;
  {
    std::lock_guard lock(connection->mutex());
    PeerState& relations = connection->relations();
    const auto found = relations.requests.find(ref);
    if (found == relations.requests.end()) return gen::ErrResponseIgnored;
    if (how != nullptr && how->packed != nullptr) form = FormFor(*how, *connection);
    request = std::move(found->second);
    relations.request_numbers.erase(request.watch);
    relations.requests.erase(found);
  }
  Scratch scratch;
  std::string& payload = scratch.Empty();
  TermWriter writer(payload);
  writer.Tuple(2);
  writer.Raw(request.tag);
  gen::Result<void> written;
  const auto* const inspection = response->ValueAs<gen::Inspection>();
  const bool is_struct = request.answer == PeerState::AnswerForm::kInspection &&
                         inspection == nullptr && response->type != nullptr;
  if (const auto* error = response->ValueAs<gen::Error>()) {
    AppendError(payload, *error);
  } else if (request.answer != PeerState::AnswerForm::kValue && !is_struct) {
    AppendSystemAnswer(payload, request, inspection);
  } else if (response->type == nullptr) {
    writer.Atom("ok");  // an empty answer
  } else {
    const std::size_t begin = payload.size();
    if (is_struct) {
      writer.Tuple(2);
      writer.Atom(kInspectionAs);
    }
    if (how == nullptr) {
      written = values_.WhyNoWriter(*response);
    } else if (!form) {
      written = std::move(form.error());
    } else {
      written = values_.Append(payload, *response, *how, *form);
    }
    if (!written) {
      payload.resize(begin);
      AppendError(payload, written.error());  // the caller must not wait in vain
    }
  }
  gen::PID from = gen::PID::FromAddress(response->from);
  if (!from || from.node != settings_.node) from = needs_.addresses.NodePid();
  std::lock_guard lock(connection->mutex());
  if (connection->state() == Connection::State::kDown) return gen::ErrResponseIgnored;
  auto appended = AppendAnswerOrError(*connection, request, from, payload);
  return written ? std::move(appended) : std::move(written);
}

bool ErlangBorder::IsAwaited(gen::PID remote, std::uint64_t ref) const {
  const auto connection = connections_.Find(remote.node);
  if (connection == nullptr) return false;
  std::lock_guard lock(connection->mutex());
  return connection->relations().requests.contains(ref);
}

void ErlangBorder::Link(gen::PID local, gen::PID remote) {
  const auto sent =
      connections_.With(remote.node, [&](Connection& connection) -> gen::Result<void> {
        if (connection.IsFormer(remote)) return gen::ErrProcessIncarnation;
        const bool is_new = connection.relations().links.Link({local, remote});
        // The other one may have taken the link away since `local` has noted it, or made it itself.
        (void)needs_.relations.LinkFromAfar(local, remote);
        if (!is_new) return {};
        Signal signal;
        signal.kind = SignalKind::kLink;
        signal.from = local;
        signal.to = remote;
        connection.AppendOwn(signal);
        return {};
      });
  if (!sent) needs_.exit_signals.Send(local, remote, ReasonOf(sent.error()), 0);
}

void ErlangBorder::Unlink(gen::PID local, gen::PID remote) {
  const auto connection = connections_.Find(remote.node);
  if (connection == nullptr) return;
  std::lock_guard lock(connection->mutex());
  Signal signal;
  signal.kind = SignalKind::kUnlink;
  signal.from = local;
  signal.to = remote;
  signal.id = connection->relations().links.Unlink({local, remote});
  if (signal.id == 0) return;
  connection->AppendOwn(signal);
}

void ErlangBorder::Exit(gen::PID local, gen::PID remote, const gen::Reason& reason) {
  const auto connection = connections_.Find(remote.node);
  if (connection == nullptr) return;
  Scratch scratch;
  std::string& payload = scratch.Empty();
  AppendReason(payload, reason);
  std::lock_guard lock(connection->mutex());
  if (!connection->relations().links.End({local, remote})) return;
  Signal signal;
  signal.kind = SignalKind::kExit;
  signal.from = local;
  signal.to = remote;
  signal.payload = payload;
  AppendEnd(*connection, signal);
}

gen::Result<void> ErlangBorder::LinkByName(gen::PID local, gen::PID remote, gen::Ref ref) {
  Scratch scratch;
  std::string& payload = scratch.Empty();
  AppendLink(payload, Reference(ref.id), remote);
  const Signal signal = OwnSignal(local, payload);
  auto sent = connections_.With(remote.node, [&](Connection& connection) -> gen::Result<void> {
    if (connection.IsForeign()) return NoErgonNode(Question::kLink, connection.peer());
    if (connection.IsFormer(remote)) return gen::ErrProcessIncarnation;
    connection.relations().watches[ref.id] = {local, remote, true};
    connection.AppendOwn(signal);
    return {};
  });
  if (sent || sent.error() == gen::ErrUnsupported) return sent;
  needs_.relations.LoseLinkByName(local, ref, ReasonOf(sent.error()));
  return {};
}

void ErlangBorder::ExitByName(gen::PID local, gen::PID remote, gen::Ref ref,
                              const gen::Reason& reason) {
  const auto connection = connections_.Find(remote.node);
  if (connection == nullptr) return;
  Scratch scratch;
  std::string& payload = scratch.Empty();
  AppendMakerEnd(payload, Reference(ref.id));
  const std::string head = payload;
  AppendReason(payload, reason);
  std::lock_guard lock(connection->mutex());
  if (connection->relations().watches.erase(ref.id) == 0) return;
  AppendEnd(*connection, OwnSignal(local, payload), head);
}

void ErlangBorder::EndLinkOf(gen::PID maker, gen::Ref ref) {
  const auto connection = connections_.Find(maker.node);
  if (connection == nullptr) return;
  std::lock_guard lock(connection->mutex());
  PeerState& relations = connection->relations();
  const auto found = relations.watchers.find(ref.id);
  if (found == relations.watchers.end()) return;
  Scratch scratch;
  std::string& payload = scratch.Empty();
  AppendUnlinked(payload, found->second.raw);
  connection->Append(OwnSignal(needs_.addresses.NodePid(), payload));
  relations.watcher_numbers.erase(found->second.raw);
  relations.watchers.erase(found);
}

gen::Result<void> ErlangBorder::ExitRequest(gen::PID local, gen::PID remote,
                                            const gen::Reason& reason) {
  if (node::IsName(remote) || node::IsAlias(remote)) {
    return gen::Error(
        gen::ErrorCode::kUnsupported,
        fmt::format("an exit signal to {} {} of another node: send it to the PID",
                    node::IsName(remote) ? "the name" : "the alias", node::TextOf(remote)));
  }
  Scratch scratch;
  std::string& payload = scratch.Empty();
  if (reason.kind() == gen::ReasonKind::kKill) {
    TermWriter(payload).Atom("kill");  // what others see of it is "killed"
  } else {
    AppendReason(payload, reason);
  }
  Signal signal;
  signal.kind = SignalKind::kExitRequest;
  signal.from = local;
  signal.to = remote;
  signal.payload = payload;
  return connections_.With(remote.node, [&](Connection& connection) -> gen::Result<void> {
    if (connection.IsFormer(remote)) return gen::ErrProcessIncarnation;
    return connection.TryAppendOwn(signal);
  });
}

void ErlangBorder::Monitor(gen::PID local, gen::PID remote, gen::Ref ref) {
  const std::string reference = Reference(ref.id);
  const Signal signal = MonitorOf(local, remote, reference);
  auto sent = connections_.With(remote.node, [&](Connection& connection) -> gen::Result<void> {
    if (connection.IsFormer(remote)) return gen::ErrProcessIncarnation;
    connection.relations().watches[ref.id] = {local, remote};
    connection.AppendOwn(signal);
    return {};
  });
  if (!sent) {
    needs_.relations.TellWatcher({local, ref, node::TargetOf(remote)}, ReasonOf(sent.error()));
  }
}

void ErlangBorder::Demonitor(gen::PID local, gen::PID remote, gen::Ref ref) {
  const auto connection = connections_.Find(remote.node);
  if (connection == nullptr) return;
  const std::string reference = Reference(ref.id);
  std::lock_guard lock(connection->mutex());
  if (connection->relations().watches.erase(ref.id) == 0) return;
  connection->AppendOwn(EndOfMonitor(local, remote, reference));
}

void ErlangBorder::ForgetCalls(Connection& connection) {
  std::lock_guard lock(connection.mutex());
  if (connection.state() == Connection::State::kDown) return;
  auto& calls = connection.relations().calls;
  for (auto at = calls.begin(); at != calls.end();) {
    const auto& [id, call] = *at;
    // Of this node (SendRequest): no other connection is locked for it.
    if (needs_.delivery.IsAwaited(call.local, needs_.addresses.RefOf(id))) {
      ++at;
      continue;
    }
    // To others than nodes of Ergon, the end of a monitor by an alias would be none of their signals.
    if (call.question != Question::kNone &&
        (call.question != Question::kCallOfAlias || connection.IsForeign())) {
      at = calls.erase(at);
      continue;
    }
    const std::string reference = Reference(id);
    connection.AppendOwn(EndOfMonitor(call.local, call.remote, reference));
    if (call.spawns && !node::IsName(call.remote)) {
      AppendAbandoned(connection, needs_.addresses.NodePid(), call.remote);
    }
    at = calls.erase(at);
  }
}

void ErlangBorder::SendIfThere(gen::Atom node, const Signal& signal) {
  const auto connection = connections_.Find(node);
  if (connection == nullptr) return;
  std::lock_guard lock(connection->mutex());
  if (connection->state() != Connection::State::kDown) connection->Append(signal);
}

void ErlangBorder::AskForGroupsAfter(std::chrono::nanoseconds delay) {
  const auto due = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<asio::steady_timer::duration>(delay);
  // Sooner: peers that come all the time do not put it off.
  if (is_asking_ && asking_.expiry() <= due) return;
  is_asking_ = true;
  asking_.expires_at(due);
  asking_.async_wait([this, delay](const asio::error_code& error) {
    if (error) return;
    is_asking_ = false;
    if (!groups_.AskAgain()) return;
    AskForGroupsAfter(std::min(2 * delay, settings_.tick_time / 4));
  });
}

void ErlangBorder::LogDown(gen::Atom node, const Connection::Rest& rest) {
  const auto line = failures_.LineOf(node, rest.why, rest.unsent, std::chrono::steady_clock::now());
  if (!line) return;
  if (rest.is_fault || line->unsent != 0) {
    gen::Log(needs_.log).Warning("{}", line->text);
  } else {
    gen::Log(needs_.log).Info("{}", line->text);
  }
}

void ErlangBorder::Down(Connection& connection, Connection::Rest rest) {
  connections_.Remove(connection);
  const gen::Atom node = connection.peer();
  LogDown(node, rest);
  if (rest.unsent != 0) {
    needs_.drops.NoteLostConnection(rest.unsent);
    needs_.totals.sent_to_nodes.Add(-rest.unsent);
  }
  groups_.Lost(node);
  const gen::Error error(gen::ErrorCode::kNoConnection, fmt::format("{}: {}", node, rest.why));
  for (const auto& [number, watcher] : rest.relations.watchers) {
    if (watcher.is_link) {
      needs_.relations.LoseMaker(watcher.watched, needs_.addresses.RefOf(number), watcher.remote);
      continue;
    }
    needs_.relations.RemoveWatcher(watcher.remote, watcher.watched, needs_.addresses.RefOf(number));
    code_.EndOfWatcher(number);
  }
  for (const auto& [id, watch] : rest.relations.watches) {
    if (watch.is_link) {
      needs_.relations.LoseLinkByName(watch.local, needs_.addresses.RefOf(id),
                                      gen::Reason::NoConnection());
      continue;
    }
    needs_.relations.TellWatcher(
        {watch.local, needs_.addresses.RefOf(id), node::TargetOf(watch.remote)},
        gen::Reason::NoConnection(), rest.is_foreign);
  }
  rest.relations.links.VisitLinked([&](gen::PID local, gen::PID remote) {
    needs_.relations.LoseLink(local, remote, rest.is_foreign);
  });
  for (const auto& [id, call] : rest.relations.calls) {
    needs_.delivery.RespondError(call.local, id, error);
  }
  events_.Lost(node, rest.relations);
  TellRoom(rest.waiters);
}

}  // namespace ergon::dist
