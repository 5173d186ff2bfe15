// What a node of a cluster was told: dist::ErlangOptions, checked and complete.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <asio/ip/address.hpp>
#include <asio/ssl/context.hpp>

#include <ergon/gen/atom.h>
#include <ergon/node/dist/handshake.h>
#include <ergon/node/erlang_code.h>

namespace ergon::dist {

struct Settings {
  gen::Atom node;
  std::string alive;  // before the @
  std::string host;   // behind it
  std::uint32_t creation = 0;
  std::string cookie;
  bool hidden = true;
  asio::ip::address listen_address;
  bool listen = true;             // false: nobody connects to this node
  std::uint16_t listen_port = 0;  // 0: any
  std::uint16_t epmd_port = 0;
  bool start_epmd = true;
  std::chrono::nanoseconds tick_time{0};  // nothing for so long: the peer is gone
  std::chrono::nanoseconds handshake_timeout{0};
  std::size_t max_handshakes = 0;  // of peers that have not proved to know the cookie
  std::size_t max_frame_bytes = 0;
  std::size_t max_term_depth = 0;
  std::size_t send_queue_bytes = 0;
  std::size_t max_new_atoms = 0;
  std::size_t max_remote_processes = 0;
  RemoteFunctions functions;
  RemoteBehaviors behaviors;
  std::shared_ptr<asio::ssl::context> tls;  // null: plain TCP

  [[nodiscard]] HandshakeSelf Self() const {
    return {node.ToString(), cookie, creation, hidden ? kOwnFlags : kOwnFlags | kFlagPublished};
  }
};

}  // namespace ergon::dist
