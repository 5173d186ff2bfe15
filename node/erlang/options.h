// Options of a node in a cluster of Erlang.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include <ergon/node/erlang/codec/codec.h>
#include <ergon/node/erlang/exports.h>

namespace ergon::dist {

// Files in PEM format. Both sides of a connection show certificates that the authorities have signed. The side that
// connects also checks that the host of the node's name is among the DNS names of the peer's certificate, as Erlang
// does; if it is an address, it may be among the addresses there instead, which Erlang does not look at.
struct TlsOptions {
  std::string certificate_file;  // of this node, with the intermediate certificates
  std::string private_key_file;  // without a passphrase
  std::string authorities_file;
};

struct ErlangOptions {
  // The secret that the nodes of the cluster share. It is never logged. If it is empty, the node takes RELEASE_COOKIE
  // of the environment, or else the first line of `cookie_file`.
  std::string cookie = {};
  // If it is empty, the node takes .erlang.cookie in the home directory. Only the owner of the file may be able to read
  // it.
  std::string cookie_file = {};
  // If true, other nodes see this node in nodes(hidden), and this node does not connect to all nodes of the cluster.
  bool hidden = true;

  // If false, the node only connects to others. No node can connect to it, and EPMD does not know it. This is for
  // programs that come and go; Erlang nodes that are given their name (dist::AskForName) are like this, too.
  bool listen = true;
  // The address to which other nodes connect. Whoever has the cookie can do anything on an Erlang node, and without TLS
  // the proof of the cookie is the only protection. So the default is a loopback address.
  std::string listen_address = "127.0.0.1";
  int listen_port = 0;  // 0: any
  // The port of EPMD, the port mapper, on this host and on the hosts of the others; 0: ERL_EPMD_PORT of the
  // environment, or 4369.
  int epmd_port = 0;
  // Starts the program `epmd` if no EPMD runs on this host, as Erlang does.
  bool start_epmd = true;
  std::optional<TlsOptions> tls = std::nullopt;

  // A peer that sends nothing for this time, give or take a quarter, is gone. It has to be the same for all nodes of a
  // cluster (kernel's net_ticktime). At least 1 s.
  std::chrono::nanoseconds tick_time = std::chrono::seconds(60);
  // The time to reach a node, from the look-up of its host to the handshake, and the time for the handshake of a peer
  // that connects here. At least 10 ms.
  std::chrono::nanoseconds handshake_timeout = std::chrono::seconds(7);

  // When this many bytes wait to be sent to a node, messages to it wait, too: processes are suspended, and threads
  // get kBusy. When as many bytes are answers to that node, its further requests wait as well. It is disconnected if it
  // takes next to nothing, less than 64 KiB, of the bytes in `tick_time`. At least 1 KiB.
  std::size_t send_queue_bytes = 1024 * 1024;
  // Exit signals, the ends that monitors are told of, news of groups and answers that are on their way never wait. A
  // node for which more than this many bytes wait is disconnected, and whoever is concerned is told so. At least 1 KiB;
  // less than send_queue_bytes counts as that.
  std::size_t max_queued_bytes = std::size_t{1024} * 1024 * 1024;
  // Limits for what other nodes send. A node that exceeds one is disconnected, except for new atoms: a term that would
  // need one more stays a dist::Term. Larger frames and deeper terms are not sent either; the error is kIncorrect. An
  // Erlang node takes a connection for dead when a single frame is under way for its own net_ticktime.
  std::size_t max_frame_bytes = std::size_t{128} * 1024 * 1024;  // 4 KiB..4 GiB - 1
  int max_term_depth = 1000;    // without what the protocol puts around a value; 1..100,000
  int max_handshakes = 64;      // at a time, of unproved peers; the oldest is dropped; 1..10,000
  int max_new_atoms = 100'000;  // from messages, in the node's life; atoms are never freed

  // How values without a value are written, in messages, answers and results of functions: nil is for Elixir.
  Absent absent = Absent::kUndefined;

  // What other nodes may run here, see erlang/exports.h; nothing if nothing is registered. At most max_remote_processes
  // of them run at a time, 1..1,000,000; more are refused with system_limit, and the log says so.
  RemoteFunctions functions = {};
  RemoteBehaviors behaviors = {};
  int max_remote_processes = 1000;

  // If true, Erlang's own tools may look at this node: observer, etop -tracing off, and tools that ask by rpc for
  // processes(), process_info, system_info, statistics and memory (node/ERLANG.md lists all of them). A registered
  // function is preferred to a tool's request of the same name; both count towards max_remote_processes. The tools only
  // look: nothing is changed, started, traced or loaded, and no message is shown. But whoever has the cookie sees the
  // names, behaviours and relations of all processes, what they handle and what Inspect returns. A look at 100,000
  // processes takes a worker a good part of a second, and 700 bytes for each process for as long as the node lives
  // (gen::Node::Dump).
  bool observable = false;
};

}  // namespace ergon::dist
