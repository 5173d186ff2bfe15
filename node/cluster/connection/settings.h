// The settings of a node in a cluster: dist::ErlangOptions, checked and complete.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include <asio/ip/address.hpp>
#include <asio/ssl/context.hpp>

#include <ergon/gen/atom.h>
#include <ergon/node/cluster/connection/host_lookups.h>
#include <ergon/node/cluster/handshake/handshake.h>
#include <ergon/node/erlang/exports.h>

namespace ergon::dist {

// A value that may change while the node runs. Any thread; relaxed: another thread may see the change later.
template <class T>
class Changeable {
 public:
  template <std::convertible_to<T> Value>
  Changeable(Value value) noexcept : value_(value) {}  // NOLINT(google-explicit-constructor)
  Changeable(const Changeable& other) noexcept : value_(other.Now()) {}
  Changeable& operator=(const Changeable& other) noexcept {
    value_.store(other.Now(), std::memory_order_relaxed);
    return *this;
  }
  [[nodiscard]] T Now() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> value_;
};

// Why the connections of a node end that stops.
inline constexpr const char* kStopping = "the node is stopping";

struct Settings {
  gen::Atom node;
  std::string alive;  // before the @
  std::string host;   // behind it
  std::uint32_t creation = 0;
  std::string cookie;  // may change: the thread of the network
  bool hidden = true;
  asio::ip::address listen_address;
  bool listen = true;             // false: nobody connects to this node
  std::uint16_t listen_port = 0;  // 0: any
  std::uint16_t epmd_port = 0;
  bool start_epmd = true;
  std::chrono::nanoseconds tick_time{0};  // a peer that sends nothing for this time is gone
  // For a whole dial, from the look-up of the host to the end of the handshake, and for the handshake with a peer that
  // has dialled.
  Changeable<std::chrono::nanoseconds> handshake_timeout = std::chrono::nanoseconds(0);
  std::shared_ptr<HostLookups> lookups = HostLookups::OfTheSystem();
  Changeable<std::size_t> max_handshakes = 0;  // of peers that have not proved to know the cookie
  // Of nodes that connect, in the node's life: each is an atom, which is never freed.
  std::size_t max_peer_names = 1'000'000;
  std::size_t max_frame_bytes = 0;
  std::size_t max_term_depth = 0;
  std::size_t send_queue_bytes = 0;
  std::size_t max_queued_bytes = std::numeric_limits<std::size_t>::max();
  std::size_t max_new_atoms = 0;
  Changeable<std::size_t> max_remote_processes = 0;
  Changeable<bool> observable = false;
  Absent absent = Absent::kUndefined;
  RemoteFunctions functions;
  RemoteBehaviors behaviors;
  // Null: plain TCP. May change: the thread of the network.
  std::shared_ptr<asio::ssl::context> tls;

  [[nodiscard]] HandshakeSelf Self() const {
    return {node.ToString(), cookie, creation, hidden ? kOwnFlags : kOwnFlags | kFlagPublished};
  }
};

}  // namespace ergon::dist
