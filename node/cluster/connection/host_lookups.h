// Addresses of hosts, without waiting for a name service that says nothing.
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

// The system's look-up cannot be cancelled, and takes as long as it wants. So each host has a thread of its own, for which
// nobody has to wait: not other look-ups, not the end of the node. Any thread.
class HostLookups : public std::enable_shared_from_this<HostLookups> {
 public:
  // Blocks. Throws std::system_error.
  using Function = std::function<Addresses(const std::string& host)>;
  static constexpr std::size_t kMostHosts = 64;

  explicit HostLookups(Function function, std::size_t most_hosts = kMostHosts)
      : function_(std::move(function)), most_hosts_(most_hosts) {}
  // Those of this program, by the system.
  static const std::shared_ptr<HostLookups>& OfTheSystem();

  // How many hosts are being looked up, also when nobody waits for that any more.
  [[nodiscard]] std::size_t Hosts() const;

 private:
  friend class HostLookup;
  using Handler = std::function<void(std::error_code, Addresses)>;
  struct Waiter {
    Handler handler;
    asio::executor_work_guard<asio::io_context::executor_type> work;
  };
  using Waiters = std::map<std::uint64_t, Waiter>;

  // Calls `handler` on the thread of `context`, once. Returns the number of the waiter. Throws std::system_error: there are
  // too many hosts, or threads.
  std::uint64_t Add(const std::string& host, asio::io_context& context, Handler handler);
  // It waits no more, if it still does.
  void Remove(const std::string& host, std::uint64_t number);
  void Run(const std::string& host);
  static void Tell(Waiter& waiter, std::error_code error, Addresses addresses);

  const Function function_;
  const std::size_t most_hosts_;
  mutable std::mutex mutex_;
  std::map<std::string, Waiters> hosts_;
  std::uint64_t last_number_ = 0;
};

// One that a task waits for.
class HostLookup {
 public:
  HostLookup(asio::io_context& context, Tasks& tasks, std::shared_ptr<HostLookups> all)
      : context_(context), tasks_(tasks), all_(std::move(all)) {}

  // In a task. An address is found at once. Throws std::system_error: operation_aborted: Cancel.
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
