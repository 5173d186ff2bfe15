// A connection whose lock is held.
#pragma once

#include <mutex>
#include <utility>

namespace ergon::dist {

class Connection;

// A connection, and its lock as long as this object lives: for a block, or for one statement, as in
// `connection.Lock()->Send(signal, SentAs::kOwn)`.
class [[nodiscard]] LockedConnection {
 public:
  LockedConnection() = default;  // none
  LockedConnection(Connection& connection, std::unique_lock<std::mutex> lock)
      : connection_(&connection), lock_(std::move(lock)) {}

  explicit operator bool() const noexcept { return connection_ != nullptr; }
  Connection* operator->() const noexcept { return connection_; }
  Connection& operator*() const noexcept { return *connection_; }

 private:
  Connection* connection_ = nullptr;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace ergon::dist
