#include <ergon/node/boost_await.h>

#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <doctest/doctest.h>

#include <node/subject.h>

namespace ergon::node {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Socket = asio::local::stream_protocol::socket;

// Two ends of a connection: one for the processes, one for the test.
struct Connection {
  explicit Connection(gen::Node& node) : inner(BoostIoContext(node)), outer(context) {
    asio::local::connect_pair(inner, outer);
  }

  asio::io_context context;
  Socket inner;
  Socket outer;
};

// What operations of the test's own belong to.
struct Object {
  void cancel() { ++cancelled; }
  std::atomic<int> cancelled{0};
};

template <class Signature, class Initiation>
auto Perform(Initiation initiation, BoostAwaitToken token) {
  return asio::async_initiate<BoostAwaitToken, Signature>(std::move(initiation), token);
}

TEST_CASE("BoostAwait returns what the operation completes with") {
  TestNode t;
  const gen::PID reader = t.Spawn();
  Connection connection(t.node);
  std::string read;
  auto answer =
      t.node.CallAsync<bool>(reader, Do{[&](Subject&) {
                               std::array<char, 5> buffer{};
                               auto size = asio::async_read(connection.inner, asio::buffer(buffer),
                                                            BoostAwait(connection.inner));
                               read.assign(buffer.data(), size.value());
                             }});
  REQUIRE(t.EventuallyWaiting(reader));
  // Only that process waits.
  const gen::PID other = t.Spawn();
  CHECK(t.Run(other, [](Subject&) {}));
  asio::write(connection.outer, asio::buffer("hel", 3));
  asio::write(connection.outer, asio::buffer("lo", 2));
  REQUIRE(answer.get());
  CHECK(read == "hello");
}

TEST_CASE("what a result's constructor throws is for the one who waits for Boost.Asio") {
  struct Fragile {
    Fragile() = default;
    Fragile(const Fragile&) { throw std::runtime_error("broken on the way"); }
  };
  TestNode t;
  Object object;
  const gen::PID pid = t.Spawn();
  std::string thrown;
  CHECK(t.Run(pid, [&](Subject&) {
    try {
      (void)Perform<void(Fragile)>(
          [&](auto handler) {
            asio::post(BoostIoContext(t.node), [handler = std::move(handler)]() mutable {
              const Fragile result;
              handler(result);
            });
          },
          BoostAwait(object));
    } catch (const std::runtime_error& error) {
      thrown = error.what();
    }
  }));
  CHECK(thrown == "broken on the way");
}

TEST_CASE("an error of Boost.Asio is BoostAwait's, and what is done at once needs no wait") {
  TestNode t;
  const gen::PID reader = t.Spawn();
  Connection connection(t.node);
  asio::write(connection.outer, asio::buffer("ab", 2));
  connection.outer.close();
  CHECK(t.Run(reader, [&](Subject&) {
    std::array<char, 8> buffer{};
    auto& socket = connection.inner;
    auto first = socket.async_read_some(asio::buffer(buffer), BoostAwait(socket));
    CHECK(first == std::size_t{2});
    auto second = socket.async_read_some(asio::buffer(buffer), BoostAwait(socket));
    REQUIRE_FALSE(second);
    CHECK(second.error() == asio::error::eof);
    auto negative = socket.async_read_some(asio::buffer(buffer), BoostAwait(socket, -1ms));
    REQUIRE_FALSE(negative);
    CHECK(negative.error() == asio::error::invalid_argument);
  }));
}

TEST_CASE("BoostAwait has results of all shapes") {
  TestNode t;
  Object object;
  const gen::PID process = t.Spawn();
  CHECK(t.Run(process, [&](Subject& self) {
    asio::steady_timer timer(BoostIoContext(self.Node()), 1ms);
    BoostIoResult<void> waited = timer.async_wait(BoostAwait(timer, kit::kDeadline));
    CHECK(waited);
    BoostIoResult<void> posted = asio::post(BoostIoContext(self.Node()), BoostAwait(object));
    CHECK(posted);
    BoostIoResult<std::tuple<int, std::string>> pair = Perform<void(int, std::string)>(
        [](auto handler) { std::move(handler)(3, "three"); }, BoostAwait(object));
    CHECK(pair == std::tuple<int, std::string>(3, "three"));
    asio::ip::tcp::resolver resolver(BoostIoContext(self.Node()));
    auto found = resolver.async_resolve("127.0.0.1", "80", BoostAwait(resolver, kit::kDeadline));
    CHECK((found && found->size() == 1));
  }));
  CHECK(object.cancelled == 0);
}

TEST_CASE("a time-out cancels an operation of Boost.Asio, and nothing that was read is lost") {
  TestNode t;
  const gen::PID reader = t.Spawn();
  Connection connection(t.node);
  CHECK(t.Run(reader, [&](Subject&) {
    std::string line;
    const auto read = [&](std::chrono::nanoseconds timeout) {
      return asio::async_read_until(connection.inner, asio::dynamic_buffer(line), '\n',
                                    BoostAwait(connection.inner, timeout));
    };
    auto nothing = read(2ms);
    REQUIRE_FALSE(nothing);
    CHECK(nothing.error() == asio::error::timed_out);
    asio::write(connection.outer, asio::buffer("half of a", 9));
    auto half = read(20ms);
    REQUIRE_FALSE(half);
    CHECK(half.error() == asio::error::timed_out);
    asio::write(connection.outer, asio::buffer(" line\n", 6));
    CHECK(read(gen::kInfinite) == std::size_t{15});
    CHECK(line == "half of a line\n");
  }));
}

TEST_CASE("a process that is ended leaves BoostAwait at once, after its operation") {
  for (const bool kill : {true, false}) {
    CAPTURE(kill);
    TestNode t;
    const gen::PID reader = t.Spawn();
    Connection connection(t.node);
    error_code error;
    t.Begin(reader, [&](Subject& self) {
      std::array<char, 8> buffer{};
      const auto read = [&] {
        return connection.inner.async_read_some(asio::buffer(buffer), BoostAwait(connection.inner));
      };
      const auto first = read();
      error = first ? error_code() : first.error();
      CHECK_FALSE(read());  // again: it is told at once
      CHECK_FALSE(self.Sleep(1h));
    });
    REQUIRE(t.EventuallyWaiting(reader));
    if (kill) {
      t.node.Kill(reader).value();
    } else {
      t.node.SendExit(reader, gen::Reason::Shutdown()).value();
    }
    CHECK(t.Ended(reader));
    CHECK(error == asio::error::operation_aborted);
  }
}

TEST_CASE("BoostAwaitOrStop ends when the process is asked to stop, BoostAwait does not") {
  TestNode t;
  const gen::PID server = t.Spawn();
  Connection connection(t.node);
  std::string served;
  std::atomic<bool> in_the_middle{false};
  t.Begin(server, [&](Subject&) {
    std::string line;
    const auto read = [&](BoostAwaitToken token) {
      return asio::async_read_until(connection.inner, asio::dynamic_buffer(line), '\n', token);
    };
    while (read(BoostAwaitOrStop(connection.inner))) {
      served += line;
      line.clear();
      in_the_middle = true;
      if (!read(BoostAwait(connection.inner))) break;  // the rest of a request that has begun
      served += line;
      line.clear();
    }
    const auto again = read(BoostAwaitOrStop(connection.inner));
    REQUIRE_FALSE(again);
    CHECK(again.error() == asio::error::operation_aborted);
    served += "stopped";
  });
  asio::write(connection.outer, asio::buffer("a\n", 2));
  REQUIRE(kit::Eventually([&] { return in_the_middle && t.IsWaiting(server); }));
  const auto early = t.node.StopProcess(server, 2ms);  // not in the middle
  CHECK((!early && early.error() == gen::ErrTimeout));
  asio::write(connection.outer, asio::buffer("b\n", 2));
  CHECK(t.Ended(server));
  CHECK(served == "a\nb\nstopped");

  const gen::PID waiter = t.Spawn();
  t.Begin(waiter, [&](Subject&) {
    std::array<char, 8> buffer{};
    CHECK_FALSE(
        connection.inner.async_read_some(asio::buffer(buffer), BoostAwaitOrStop(connection.inner)));
  });
  CHECK(t.node.StopProcess(waiter, kit::kDeadline));
}

// Ends when the test says so.
struct Stubborn {
  template <class Handler>
  void operator()(Handler handler) {
    auto kept = std::make_shared<Handler>(std::move(handler));
    std::lock_guard lock(*mutex);
    *finish = [kept] { std::move (*kept)(error_code()); };
  }
  std::mutex* mutex;
  std::function<void()>* finish;
};

TEST_CASE("what Boost.Asio cannot cancel is waited for, whatever signals come") {
  std::mutex mutex;
  std::function<void()> finish;
  std::atomic<bool> returned{false};
  Object object;
  TestNode t;
  const gen::PID process = t.Spawn();
  t.Begin(process, [&](Subject&) {
    auto result = Perform<void(error_code)>(Stubborn{&mutex, &finish}, BoostAwait(object, 1ms));
    CHECK(result);  // it has succeeded after all
    returned = true;
  });
  // It may have been between two steps each time.
  REQUIRE(kit::Eventually([&] { return object.cancelled >= 3; }));
  for (int i = 0; i < 10; ++i) t.node.SendExit(process, gen::Reason::Shutdown()).value();
  t.node.Kill(process).value();
  // Its worker goes on with others meanwhile.
  const gen::PID other = t.Spawn();
  for (int i = 0; i < 100; ++i) CHECK(t.Run(other, [](Subject&) {}));
  CHECK_FALSE(returned);
  CHECK(t.node.ProcessInfo(process));
  asio::post(BoostIoContext(t.node), [&] {
    std::lock_guard lock(mutex);
    finish();
  });
  CHECK(t.Ended(process));
  CHECK(returned);
}

TEST_CASE("on the thread of Boost's I/O nothing waits, and Stop only begins") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  std::promise<void> done;
  asio::post(BoostIoContext(t.node), [&] {
    CHECK(t.node.Call<bool>(pid, Do{[](Subject&) {}}).error() == gen::ErrNotAllowed);
    t.node.Stop();
    done.set_value();
  });
  done.get_future().get();
  t.node.Wait();
  CHECK(t.node.Info().processes == 0);
}

TEST_CASE("an operation that misses its first cancellation is cancelled at its next step") {
  // Is between two steps when it is cancelled the first time.
  struct Steps : Object {
    void cancel() {
      Object::cancel();
      if (cancelled == 2) aborted();
    }
    std::function<void()> aborted;
  };
  TestNode t;
  Steps steps;
  CHECK(t.Run(t.Spawn(), [&](Subject&) {
    auto result = Perform<void(error_code)>(
        [&](auto handler) {
          auto kept = std::make_shared<decltype(handler)>(std::move(handler));
          steps.aborted = [kept] { (*kept)(error_code(asio::error::operation_aborted)); };
        },
        BoostAwait(steps, 1ms));
    REQUIRE_FALSE(result);
    CHECK(result.error() == asio::error::timed_out);
  }));
  steps.aborted = nullptr;
  CHECK(steps.cancelled == 2);
}

TEST_CASE("an operation that Boost.Asio abandons has been cancelled") {
  std::mutex mutex;
  std::function<void()> finish;
  Object object;
  TestNode t;
  const gen::PID process = t.Spawn();
  auto answer = t.node.CallAsync<bool>(process, Do{[&](Subject&) {
                                         const auto result = Perform<void(error_code)>(
                                             Stubborn{&mutex, &finish}, BoostAwait(object));
                                         REQUIRE_FALSE(result);
                                         CHECK(result.error() == asio::error::operation_aborted);
                                       }});
  REQUIRE(t.EventuallyWaiting(process));
  {
    std::lock_guard lock(mutex);
    finish = nullptr;  // as a context does that ends
  }
  CHECK(answer.get());
}

TEST_CASE("BoostAwait is for handlers, and an exception of the operation comes through") {
  TestNode t;
  Object object;
  asio::steady_timer timer(BoostIoContext(t.node), 1h);
  CHECK_THROWS_AS((void)timer.async_wait(BoostAwait(timer)), std::logic_error);
  CHECK(t.Run(t.Spawn(), [&](Subject& self) {
    CHECK_THROWS_AS(
        Perform<void()>([](auto) { throw std::runtime_error("cannot begin"); }, BoostAwait(object)),
        std::runtime_error);
    CHECK(self.Sleep(1ms));
  }));
}

TEST_CASE("the context for Boost.Asio is the node's, one for all, and ends with it") {
  TestNode t;
  std::atomic<asio::io_context*> seen{nullptr};
  CHECK(t.Run(t.Spawn(), [&](Subject& self) { seen = &BoostIoContext(self.Node()); }));
  CHECK(seen == &BoostIoContext(t.node));
  t.node.Stop();
  CHECK(BoostIoContext(t.node).stopped());

  TestNode late;  // for which nobody has asked before its end
  late.node.Stop();
  CHECK(BoostIoContext(late.node).stopped());
}

TEST_CASE("Boost.Beast: a client and a server, straight-line code both") {
  namespace beast = boost::beast;
  namespace http = boost::beast::http;
  using asio::ip::tcp;
  TestNode t;
  auto& context = BoostIoContext(t.node);
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0));
  std::string requested;
  auto served = t.node.CallAsync<bool>(
      t.Spawn(), Do{[&](Subject&) {
        beast::tcp_stream stream(acceptor.async_accept(BoostAwait(acceptor)).value());
        beast::flat_buffer buffer;
        http::request<http::string_body> request;
        http::async_read(stream, buffer, request, BoostAwait(stream)).value();
        requested = std::string(request.target()) + " " + request.body();
        http::response<http::string_body> response(http::status::ok, request.version(), "hello");
        response.prepare_payload();
        http::async_write(stream, response, BoostAwait(stream)).value();
        // The next request does not come in time.
        const auto next = http::async_read(stream, buffer, request, BoostAwait(stream, 1ms));
        REQUIRE_FALSE(next);
        CHECK(next.error() == asio::error::timed_out);
      }});
  CHECK(t.Run(t.Spawn(), [&](Subject&) {
    beast::tcp_stream stream(context);
    CHECK(stream.async_connect(acceptor.local_endpoint(), BoostAwait(stream, kit::kDeadline)));
    http::request<http::string_body> request(http::verb::post, "/here", 11, "body");
    request.prepare_payload();
    http::async_write(stream, request, BoostAwait(stream)).value();
    beast::flat_buffer buffer;
    http::response<http::string_body> response;
    http::async_read(stream, buffer, response, BoostAwait(stream)).value();
    CHECK(response.body() == "hello");
    CHECK(served.get());
  }));
  CHECK(requested == "/here body");
}

TEST_CASE("many processes wait for their sockets of Boost.Asio at once") {
  constexpr int kProcesses = 200;  // two file descriptors each
  TestNode t;
  std::vector<std::unique_ptr<Connection>> connections;
  std::vector<std::future<gen::Result<bool>>> answers;
  for (int i = 0; i < kProcesses; ++i) {
    connections.push_back(std::make_unique<Connection>(t.node));
    Connection& connection = *connections.back();
    answers.push_back(t.node.CallAsync<bool>(
        t.Spawn(), Do{[&socket = connection.inner](Subject&) {
          std::string line;
          for (int k = 0; k < 3; ++k) {
            auto size = asio::async_read_until(socket, asio::dynamic_buffer(line), '\n',
                                               BoostAwait(socket));
            asio::async_write(socket, asio::buffer(line.data(), size.value()), BoostAwait(socket))
                .value();
            line.erase(0, size.value());
          }
        }},
        {.timeout = kit::kDeadline}));
  }
  for (int k = 0; k < 3; ++k) {
    for (auto& connection : connections) asio::write(connection->outer, asio::buffer("line\n", 5));
    for (auto& connection : connections) {
      std::array<char, 5> echo{};
      asio::read(connection->outer, asio::buffer(echo));
      CHECK(std::string(echo.data(), echo.size()) == "line\n");
    }
  }
  for (auto& answer : answers) CHECK(answer.get());
}

}  // namespace
}  // namespace ergon::node
