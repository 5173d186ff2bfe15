#include <ergon/node/cluster/connection/host_lookups.h>

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <pthread.h>
#include <asio/error.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>

namespace ergon::dist {
namespace {

Addresses LookUp(const std::string& host) {
  asio::io_context context;
  asio::ip::tcp::resolver resolver(context);
  Addresses addresses;
  for (const auto& found : resolver.resolve(host, "")) {
    addresses.push_back(found.endpoint().address());
  }
  return addresses;
}

}  // namespace

const std::shared_ptr<HostLookups>& HostLookups::OfTheSystem() {
  static const auto all = std::make_shared<HostLookups>(&LookUp);
  return all;
}

std::size_t HostLookups::Hosts() const {
  std::lock_guard lock(mutex_);
  return hosts_.size();
}

std::uint64_t HostLookups::Add(const std::string& host, asio::io_context& context,
                               Handler handler) {
  std::lock_guard lock(mutex_);
  const bool is_new = !hosts_.contains(host);
  if (is_new && hosts_.size() >= most_hosts_) {
    throw std::system_error(
        std::make_error_code(std::errc::resource_unavailable_try_again),
        fmt::format("the name service has not answered for {} other hosts", hosts_.size()));
  }
  // Whoever asks for a host that is being looked up waits for the same answer.
  const std::uint64_t number = ++last_number_;
  hosts_[host].emplace(number, Waiter{std::move(handler), asio::make_work_guard(context)});
  if (!is_new) return number;
  try {
    std::thread([self = shared_from_this(), host] { self->Run(host); }).detach();
  } catch (...) {
    hosts_.erase(host);
    throw;
  }
  return number;
}

void HostLookups::Remove(const std::string& host, std::uint64_t number) {
  std::lock_guard lock(mutex_);
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return;
  const auto waiter = found->second.find(number);
  if (waiter == found->second.end()) return;
  Tell(waiter->second, asio::error::operation_aborted, {});
  found->second.erase(waiter);
}

void HostLookups::Run(const std::string& host) {
  pthread_setname_np(pthread_self(), "ergon-look-up");
  std::error_code error;
  Addresses addresses;
  try {
    addresses = function_(host);
  } catch (const std::system_error& thrown) {
    error = thrown.code();
  } catch (...) {  // there is no memory
    error = std::make_error_code(std::errc::not_enough_memory);
  }
  // With the lock until all are told: the context of one that waits is there until it is removed.
  std::lock_guard lock(mutex_);
  const auto found = hosts_.find(host);
  for (auto& [number, waiter] : found->second) Tell(waiter, error, addresses);
  hosts_.erase(found);
}

void HostLookups::Tell(Waiter& waiter, std::error_code error, Addresses addresses) {
  asio::post(waiter.work.get_executor(),
             [handler = std::move(waiter.handler), error, addresses = std::move(addresses)] {
               handler(error, addresses);
             });
}

Addresses OfFamilyFirst(Addresses addresses, const asio::ip::address& like) {
  std::ranges::stable_partition(addresses, [&like](const asio::ip::address& address) {
    return address.is_v6() == like.is_v6();
  });
  return addresses;
}

Addresses HostLookup::Find(const std::string& host) {
  asio::error_code no_address;
  const auto address = asio::ip::make_address(host, no_address);
  if (!no_address) return {address};
  host_ = host;
  auto found = tasks_.Await<Addresses>(
      [this] { Cancel(); },
      [this](auto handler) {
        number_ = all_->Add(host_, context_,
                            [this, handler](std::error_code error, const Addresses& addresses) {
                              number_ = 0;
                              handler(error, addresses);
                            });
      });
  if (found.empty())
    throw std::system_error(asio::error::make_error_code(asio::error::host_not_found));
  return found;
}

void HostLookup::Cancel() {
  if (number_ != 0) all_->Remove(host_, number_);
}

}  // namespace ergon::dist
