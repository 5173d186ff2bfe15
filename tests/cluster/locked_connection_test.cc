// A connection is locked as long as the object lives that stands for it.
#include <ergon/node/cluster/connection/locked_connection.h>

#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <doctest/doctest.h>
#include <asio/io_context.hpp>

#include <ergon/node/cluster/connection/connection.h>

namespace ergon::dist::locked_connection_test {
namespace {

struct Lockable {
  Lockable() { settings.node = gen::Atom("own@127.0.0.1"); }

  // Whether another thread gets the lock at once.
  [[nodiscard]] bool IsFree() const {
    bool is_free = false;
    std::thread([&] { is_free = std::unique_lock(*mutex, std::try_to_lock).owns_lock(); }).join();
    return is_free;
  }

  asio::io_context context{1};
  Tasks tasks{context};
  Settings settings;
  const Connection::Listener listener = {};
  const std::shared_ptr<std::mutex> mutex = std::make_shared<std::mutex>();
  const std::shared_ptr<Connection> connection = std::make_shared<Connection>(
      gen::Atom("peer@127.0.0.1"), context, tasks, settings, listener, mutex, false);
};

}  // namespace

TEST_CASE("locked connection: for a block, or for one statement") {
  const Lockable one;
  CHECK(one.IsFree());
  {
    const LockedConnection locked = one.connection->Lock();
    CHECK(locked);
    CHECK(&*locked == one.connection.get());
    CHECK(locked->peer() == gen::Atom("peer@127.0.0.1"));
    CHECK_FALSE(one.IsFree());
  }
  CHECK(one.IsFree());
  const auto is_free_meanwhile = [&](const Connection&) { return one.IsFree(); };
  CHECK_FALSE(is_free_meanwhile(*one.connection->Lock()));
  CHECK(one.IsFree());
}

TEST_CASE("locked connection: the lock moves along, and none has no lock") {
  const Lockable one;
  LockedConnection outer;
  CHECK_FALSE(outer);
  {
    LockedConnection inner = one.connection->Lock();
    outer = std::move(inner);
  }
  CHECK(outer);
  CHECK_FALSE(one.IsFree());
  outer = LockedConnection();
  CHECK_FALSE(outer);
  CHECK(one.IsFree());
}

}  // namespace ergon::dist::locked_connection_test
