// How a node takes part in a cluster of Erlang.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include <ergon/node/erlang/codec/codec.h>
#include <ergon/node/erlang/exports.h>

namespace ergon::dist {

// Files in PEM format. Both sides of a connection show certificates that the authorities have signed; the one that
// connects also looks whether the host of the node's name is among the DNS names of the other's certificate, as Erlang
// does.
struct TlsOptions {
  std::string certificate_file;  // of this node, with those between it and the authority
  std::string private_key_file;
  std::string authorities_file;
};

struct ErlangOptions {
  // What nodes of the cluster know and others do not; never logged. Empty: that of the environment's RELEASE_COOKIE, else
  // the first line of `cookie_file`.
  std::string cookie = {};
  // Empty: .erlang.cookie in the home directory. It must be readable by its owner only.
  std::string cookie_file = {};
  // It is in nodes(hidden), and does not connect to all nodes of the cluster.
  bool hidden = true;

  // False: nobody connects to this node, which EPMD does not know; it connects to others. As nodes of Erlang are whose
  // name is given to them (dist::AskForName), and programs that come and go.
  bool listen = true;
  // Where others connect to. Whoever has the cookie rules over an Erlang node, and the cookie's proof is all the
  // protection that there is without TLS: only on a loopback address, unless told otherwise.
  std::string listen_address = "127.0.0.1";
  int listen_port = 0;  // 0: any
  // Of EPMD, the port mapper, on this host and those of the others; 0: ERL_EPMD_PORT of the environment, or 4369.
  int epmd_port = 0;
  // When there is none here: the program `epmd` is started, as Erlang does.
  bool start_epmd = true;
  std::optional<TlsOptions> tls = std::nullopt;

  // A peer that says nothing for so long is gone, give or take a quarter; the same for all nodes of a cluster (kernel's
  // net_ticktime). At least 1 s.
  std::chrono::nanoseconds tick_time = std::chrono::seconds(60);
  // To reach a node, from the look-up of its host to the handshake, and for that of who connects here. At least 10 ms.
  std::chrono::nanoseconds handshake_timeout = std::chrono::seconds(7);

  // With so many bytes that wait to be sent to a node, messages to it wait, too: processes are suspended, and threads
  // get kBusy; what it asks for waits as well; and it is disconnected if it takes next to nothing of them for
  // `tick_time`. At least 1 KiB.
  std::size_t send_queue_bytes = 1024 * 1024;
  // Limits for what others send; whoever exceeds one is disconnected, but for new atoms: what would need one more
  // stays a dist::Term. Larger frames are not sent either: kIncorrect.
  std::size_t max_frame_bytes = std::size_t{128} * 1024 * 1024;
  int max_term_depth = 1000;    // 1..100,000
  int max_handshakes = 64;      // at a time, of peers not proved; the oldest gives way; 1..10,000
  int max_new_atoms = 100'000;  // that messages may bring, in the node's life; they are never freed

  // How values without a value are written, in messages, answers and results of functions: nil is for Elixir.
  Absent absent = Absent::kUndefined;

  // What other nodes may run here, see erlang/exports.h; nothing if nothing is registered. At most so many processes at a
  // time, 1..1,000,000; more are refused with system_limit, and the log says so.
  RemoteFunctions functions = {};
  RemoteBehaviors behaviors = {};
  int max_remote_processes = 1000;

  // Erlang's own tools may look at this node: observer, etop -tracing off, and what asks by rpc for processes(),
  // process_info, system_info, statistics and memory (node/ERLANG.md has all of them). They are answered beside
  // `functions`, which go first, and count as those do. They only look: nothing is changed, started, traced or loaded,
  // and no message is shown. But whoever has the cookie sees the names, behaviours and relations of all processes, what
  // they handle and what they tell Inspect, and a look at 100,000 processes takes a worker a good part of a second, and
  // 700 bytes each for as long as the node lives (gen::Node::Dump).
  bool observable = false;
};

}  // namespace ergon::dist
