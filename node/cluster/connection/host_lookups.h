// Looks up addresses of hosts, without waiting for a name service that does not answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>

#include <ergon/node/cluster/connection/tasks.h>

namespace ergon::dist {

using Addresses = std::vector<asio::ip::address>;

// Returns the addresses of the family of `like` first, else in their order. They are tried one after the other, and one
// behind a firewall that answers nothing takes all the time there is; a cluster listens on one family mostly.
[[nodiscard]] Addresses OfFamilyFirst(Addresses addresses, const asio::ip::address& like);

// The system's look-up cannot be cancelled, and takes as long as it wants. So each host has a thread of its own, for
// which neither other look-ups nor the end of the node have to wait. Any thread.
class HostLookups : public std::enable_shared_from_this<HostLookups> {
 public:
  // Blocks. Throws std::system_error.
  using Function = std::function<Addresses(const std::string& host)>;
  static constexpr std::size_t kMostHosts = 64;

  explicit HostLookups(Function function, std::size_t most_hosts = kMostHosts)
      : function_(std::move(function)), most_hosts_(most_hosts) {}
  // Returns the look-ups of this program, by the system.
  static const std::shared_ptr<HostLookups>& OfTheSystem();

  // Returns how many hosts are being looked up, including those that nobody waits for any more.
  [[nodiscard]] std::size_t Hosts() const;

 private:
  friend class HostLookup;
  using Handler = std::function<void(std::error_code, Addresses)>;
  struct Waiter {
    Handler handler;
    asio::executor_work_guard<asio::io_context::executor_type> work;
  };
  using Waiters = std::map<std::uint64_t, Waiter>;

  // Adds a waiter and returns its number. Calls `handler` once, on the thread of `context`. Throws std::system_error if
  // there are too many hosts or threads.
  std::uint64_t Add(const std::string& host, asio::io_context& context, Handler handler);
  // Removes a waiter that may still wait.
  void Remove(const std::string& host, std::uint64_t number);
  void Run(const std::string& host);
  static void Tell(Waiter& waiter, std::error_code error, Addresses addresses);

  const Function function_;
  const std::size_t most_hosts_;
  mutable std::mutex mutex_;
  std::map<std::string, Waiters> hosts_;
  std::uint64_t last_number_ = 0;
};

// A look-up that a task waits for.
class HostLookup {
 public:
  HostLookup(asio::io_context& context, Tasks& tasks, std::shared_ptr<HostLookups> all)
      : context_(context), tasks_(tasks), all_(std::move(all)) {}

  // Returns the addresses of a host; call it in a task. A text that is an address is found at once. Throws
  // std::system_error; operation_aborted after Cancel.
  Addresses Find(const std::string& host);
  void Cancel();

 private:
  asio::io_context& context_;
  Tasks& tasks_;
  const std::shared_ptr<HostLookups> all_;
  std::string host_;
  std::uint64_t number_ = 0;  // 0: nothing is waited for
};

}  // namespace ergon::dist
