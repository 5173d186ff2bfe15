// Opens connections to other nodes: asks EPMD for the port, then shakes hands.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/host_lookups.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/connection/stream.h>
#include <ergon/node/cluster/handshake/epmd.h>
#include <ergon/node/cluster/handshake/handshake.h>

namespace ergon::dist {

// Carries out the whole handshake on a stream, in a task (see tasks.h). `handshake` has to be at its beginning.
gen::Result<HandshakePeer> ShakeHands(Stream& stream, Handshake handshake);

// One attempt to reach the node `peer`. All its steps together, from the look-up of the host to the end of the
// handshake, may take no longer than the settings' handshake_timeout, which begins with the constructor. For one task.
class DialAttempt {
 public:
  // `is_wanted` is the same as of Handshake::Initiator; if it returns false between two steps, the attempt ends, too.
  DialAttempt(asio::io_context& context, Tasks& tasks, const Settings& settings, std::string peer,
              std::function<bool()> is_wanted = {});

  // Makes a stream on which nothing has been sent yet. An error names the host, the port and what to check there, or
  // says that the attempt is not wanted any more.
  gen::Result<void> Connect();
  // Shakes hands after Connect, as the node `self`.
  gen::Result<HandshakePeer> ShakeHands(HandshakeSelf self);
  // Waits until the time is up.
  void Wait();
  // Closes the connection, and waits until the peer has closed it, too, or the time is up.
  void End();

  [[nodiscard]] const std::shared_ptr<Stream>& stream() const noexcept { return stream_; }

 private:
  // Throws std::system_error.
  gen::Result<void> TryToConnect(const std::string& alive, const std::string& host);
  // Returns how long each of the addresses may take, but for the last one.
  [[nodiscard]] std::chrono::nanoseconds TimeForOneOf(const Addresses& addresses) const;
  // Asks EPMD what it knows of a node.
  gen::Result<EpmdNode> AskEpmd(const Addresses& addresses, const std::string& alive);
  [[nodiscard]] gen::Result<void> CheckWanted() const;

  Tasks& tasks_;
  const Settings& settings_;
  const std::string peer_;
  const std::function<bool()> is_wanted_;
  const std::chrono::steady_clock::time_point end_;
  std::string step_;  // for the text of an error
  HostLookup lookup_;
  Stream epmd_;
  const std::shared_ptr<Stream> stream_;
  const TimeLimit limit_;
};

// The functions that Dial calls.
struct DialResult {
  std::function<std::chrono::nanoseconds()> pause;  // how long to wait first
  std::function<bool()> is_wanted;      // as Handshake::Initiator has it; false: the peer has come
  std::function<void(bool)> announced;  // whether the peer hears of the attempt from now on
  std::function<void(std::shared_ptr<Stream>, const HandshakePeer&)> succeeded;
  std::function<void(const std::string& why)> failed;
};
// Dials `peer`, and calls `succeeded` or `failed`. Returns at once.
void Dial(asio::io_context& context, Tasks& tasks, const Settings& settings, std::string peer,
          DialResult result);

}  // namespace ergon::dist
