// What comes from other nodes, on its way to the processes of this one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/gen/log.h>
#include <ergon/gen/pid.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/false_claims.h>
#include <ergon/node/cluster/connection/log_limit.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/exports/remote_code.h>
#include <ergon/node/cluster/extension/ergon_message_receiver.h>
#include <ergon/node/cluster/groups/process_groups.h>
#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/drops.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/relations.h>

namespace ergon::dist {

// The thread of the network.
class Arrivals {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    node::Addresses& addresses;
    node::Delivery& delivery;
    node::Relations& relations;
    node::ExitSignals& exit_signals;
    node::MessageTotals& totals;
    gen::LogSink& log;
    const Settings& settings;
    const Values& values;
    ProcessGroups& groups;
    RemoteCode& code;
    ErgonMessageReceiver& own;
    FalseClaims& claims;
  };
  explicit Arrivals(const Needs& needs) : needs_(needs) {}

  void Handle(Connection& connection, const Signal& signal);

 private:
  // For whom a message is, and how it was addressed.
  struct Address {
    gen::PID pid{};           // empty: nobody has that name or alias here
    std::string_view name{};  // empty: none
    std::uint64_t tag = 0;    // see gen::Target::Tag
  };

  void TakeMessage(Connection& connection, const Signal& signal, const Address& to);
  // Who has sent it, as far as that is to be believed.
  [[nodiscard]] gen::PID SenderOf(Connection& connection, const Signal& signal);
  // {'$gen_call', {Caller, Tag}, Request} and {system, {Caller, Tag}, Request}, as far as they are well formed.
  bool TakeRequest(Connection& connection, std::string_view payload, const Address& to);
  // Should the caller in it be of another node than the peer, whom no answer goes to.
  void NoteCallerOfAnother(Connection& connection, std::string_view payload);
  void DeliverRequest(Connection& connection, PeerState::Request request, std::string_view term,
                      const Address& to);
  // Of the module sys of Erlang.
  void TakeSystemRequest(Connection& connection, PeerState::Request request, std::string_view term,
                         gen::PID to);
  // Of sys:statistics.
  void AnswerStatistics(Connection& connection, const PeerState::Request& request, gen::PID pid);
  // To a name that nobody has here: what Erlang's own processes of that name would answer.
  void TakeRequestToNobody(Connection& connection, const PeerState::Request& request,
                           std::string_view term, std::string_view name);
  void DeliverMessage(Connection& connection, gen::PID from, std::string_view term,
                      const Address& to);
  void TakeAliasMessage(Connection& connection, const Signal& signal);
  // {Tag, Answer} to a request of ours. False: it is none.
  bool TakeAnswer(Connection& connection, std::string_view payload);

  // The process that was asked for, or why there is none.
  void TakeSpawnReply(Connection& connection, const Signal& signal);
  // The process is there, and ready. Tells who has asked for it, if that one still waits, and ends it otherwise.
  void TellSpawned(Connection& connection, const PeerState::Call& call, std::uint64_t number);

  void TakeMonitor(Connection& connection, const Signal& signal);
  void TakeDemonitor(Connection& connection, const Signal& signal);
  void TakeDown(Connection& connection, const Signal& signal);
  void TakeLink(Connection& connection, const Signal& signal);
  void TakeUnlink(Connection& connection, const Signal& signal);
  void TakeUnlinkAck(Connection& connection, const Signal& signal);
  void TakeExit(Connection& connection, const Signal& signal);
  void TakeExitRequest(Connection& connection, const Signal& signal);

  // Notes a request, under a new number.
  std::uint64_t Note(Connection& connection, PeerState::Request request);
  // Sends {Tag, Answer}. `answer` is a term.
  void Answer(Connection& connection, const PeerState::Request& request, std::string_view answer);
  [[nodiscard]] Address FindName(std::string_view name) const;

  const Needs needs_;
  LogLimit unfit_lines_;
};

}  // namespace ergon::dist
