// The transport to other nodes, from when it is open until the node has ended.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include <ergon/node/delivery/transport.h>

namespace ergon::node {

// Any thread.
class OpenedTransport {
 public:
  // Returns the transport; null if there are no other nodes, or the network is not open yet.
  [[nodiscard]] Transport* Get() const noexcept {
    return transport_.load(std::memory_order_acquire);  // partner: Set
  }
  // Sets the transport, once. Closes it if Close came before: a signal has stopped the node while the network was
  // opened.
  void Set(std::unique_ptr<Transport> transport) {
    std::lock_guard lock(mutex_);
    owned_ = std::move(transport);
    transport_.store(owned_.get(), std::memory_order_release);  // partner: Get
    if (is_closed_) owned_->Close();
  }
  // Closes the transport, when all processes have ended.
  void Close() {
    std::lock_guard lock(mutex_);
    is_closed_ = true;
    if (owned_ != nullptr) owned_->Close();
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Transport> owned_;
  std::atomic<Transport*> transport_{nullptr};
  bool is_closed_ = false;
};

}  // namespace ergon::node
