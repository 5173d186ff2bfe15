#include <ergon/node/await.h>

#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <asio/buffer.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/connect_pair.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/read_until.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>

#include <doctest/doctest.h>

#include <node/subject.h>

namespace ergon::node {
namespace {

using Socket = asio::local::stream_protocol::socket;

// Two ends of a connection: one for the processes, one for the test.
struct Connection {
  explicit Connection(gen::Node& node) : inner(IoContext(node)), outer(context) {
    asio::local::connect_pair(inner, outer);
  }

  asio::io_context context;
  Socket inner;
  Socket outer;
};

// An operation of the test's own.
template <class Signature, class Initiation>
auto Perform(Initiation initiation, AwaitToken token = Await()) {
  return asio::async_initiate<AwaitToken, Signature>(std::move(initiation), token);
}

TEST_CASE("Await: thousands of processes in it, in Sleep and in Receive at once on two workers") {
  constexpr int kWaiting = kit::Scaled(10'000, 5);
  std::atomic<int> waiting{0};
  std::atomic<int> passed{0};
  TestNode t({.workers = 2});
  std::vector<gen::PID> pids;
  for (int i = 0; i < kWaiting; ++i) {
    pids.push_back(t.node
                       .Spawn([&, how = i % 3](gen::Process& self) {
                         ++waiting;
                         if (how == 0) (void)self.Sleep(1h);
                         if (how == 1 && self.Receive<int>()) ++passed;
                         if (how == 2) {
                           asio::steady_timer timer(IoContext(self.Node()), 1h);
                           (void)timer.async_wait(Await());
                         }
                       })
                       .value());
  }
  CHECK(kit::Eventually([&] { return waiting == kWaiting; }));
  CHECK(t.Run(t.Spawn(), [](Subject& self) { CHECK(self.Sleep(1ms)); }));
  CHECK(t.node.Info().processes == static_cast<std::size_t>(kWaiting) + 1);
  int received = 0;
  for (int i = 0; i < kWaiting; ++i) {
    const gen::PID pid = pids[static_cast<std::size_t>(i)];
    if (i % 3 == 1) {
      CHECK(t.node.Send(pid, ++received));
    } else {
      CHECK(t.node.Kill(pid));
    }
  }
  for (const gen::PID pid : pids) CHECK(t.Ended(pid));
  CHECK(passed == received);
}

TEST_CASE("Await: a program that was compiled with another Asio than Ergon is told so") {
  TestNode t;
  CHECK_THROWS_WITH_AS((void)IoContext(t.node, ASIO_VERSION + 1),
                       doctest::Contains("compile Ergon, the program and its plugins with one"),
                       std::logic_error);
  CHECK_THROWS_AS(RequireSameAsio(ASIO_VERSION + 100), std::logic_error);
  RequireSameAsio();
}

TEST_CASE("Await returns what the operation completes with") {
  TestNode t;
  const gen::PID reader = t.Spawn();
  Connection connection(t.node);
  std::string read;
  std::atomic<bool> begun{false};
  auto answer = t.node.CallAsync<bool>(reader, Do{[&](Subject&) {
                                         begun = true;
                                         std::array<char, 5> buffer{};
                                         auto size = asio::async_read(
                                             connection.inner, asio::buffer(buffer), Await());
                                         read.assign(buffer.data(), size.value());
                                       }});
  REQUIRE(kit::Eventually([&] { return begun.load(); }));
  // Only that process waits.
  const gen::PID other = t.Spawn();
  CHECK(t.Run(other, [](Subject&) {}));
  asio::write(connection.outer, asio::buffer("hel", 3));
  asio::write(connection.outer, asio::buffer("lo", 2));
  REQUIRE(answer.get());
  CHECK(read == "hello");
}

TEST_CASE("what a result's constructor throws is for the one who waits") {
  struct Fragile {
    Fragile() = default;
    Fragile(const Fragile&) { throw std::runtime_error("broken on the way"); }
  };
  TestNode t;
  const gen::PID pid = t.Spawn();
  std::string thrown;
  CHECK(t.Run(pid, [&](Subject&) {
    try {
      (void)Perform<void(Fragile)>([&](auto handler) {
        asio::post(IoContext(t.node), [handler = std::move(handler)]() mutable {
          const Fragile result;
          handler(result);
        });
      });
    } catch (const std::runtime_error& error) {
      thrown = error.what();
    }
  }));
  CHECK(thrown == "broken on the way");
  CHECK(t.node.SendAfter(pid, End{}, 1ns));  // its thread goes on
  CHECK(t.Ended(pid));
}

TEST_CASE("an operation's error is Await's, and what is done at once needs no wait") {
  TestNode t;
  const gen::PID reader = t.Spawn();
  Connection connection(t.node);
  asio::write(connection.outer, asio::buffer("ab", 2));
  connection.outer.close();
  CHECK(t.Run(reader, [&](Subject&) {
    std::array<char, 8> buffer{};
    auto first = connection.inner.async_read_some(asio::buffer(buffer), Await());
    CHECK(first == std::size_t{2});
    auto second = connection.inner.async_read_some(asio::buffer(buffer), Await());
    REQUIRE_FALSE(second);
    CHECK(second.error() == asio::error::eof);
  }));
}

TEST_CASE("Await takes functions and deferred operations, and results of other shapes") {
  TestNode t;
  const gen::PID process = t.Spawn();
  CHECK(t.Run(process, [&](Subject& self) {
    asio::steady_timer timer(IoContext(self.Node()), 1ms);
    IoResult<void> waited = Await(timer.async_wait(asio::experimental::deferred));
    CHECK(waited);
    timer.expires_after(1ms);
    CHECK(Await([&](AwaitToken token) { return timer.async_wait(token); }, kit::kDeadline));
    asio::post(IoContext(self.Node()), Await());
    // Two values, and no error.
    auto pair =
        Perform<void(int, std::string)>([](auto handler) { std::move(handler)(3, "three"); });
    CHECK(pair == std::tuple<int, std::string>(3, "three"));
  }));
}

TEST_CASE("a time-out cancels the operation, and nothing that was read is lost") {
  TestNode t;
  const gen::PID reader = t.Spawn();
  Connection connection(t.node);
  CHECK(t.Run(reader, [&](Subject&) {
    std::string line;
    auto nothing =
        asio::async_read_until(connection.inner, asio::dynamic_buffer(line), '\n', Await(2ms));
    REQUIRE_FALSE(nothing);
    CHECK(nothing.error() == asio::error::timed_out);
    asio::write(connection.outer, asio::buffer("half of a", 9));
    auto half =
        asio::async_read_until(connection.inner, asio::dynamic_buffer(line), '\n', Await(20ms));
    REQUIRE_FALSE(half);
    CHECK(half.error() == asio::error::timed_out);
    asio::write(connection.outer, asio::buffer(" line\n", 6));
    auto whole =
        asio::async_read_until(connection.inner, asio::dynamic_buffer(line), '\n', Await());
    CHECK(whole == std::size_t{15});
    CHECK(line == "half of a line\n");
  }));
}

TEST_CASE("a process that is ended leaves Await at once, after its operation") {
  for (const bool kill : {true, false}) {
    CAPTURE(kill);
    TestNode t;
    const gen::PID reader = t.Spawn();
    Connection connection(t.node);
    std::atomic<bool> begun{false};
    std::error_code error;
    t.Begin(reader, [&](Subject& self) {
      std::array<char, 8> buffer{};
      begun = true;
      auto read = connection.inner.async_read_some(asio::buffer(buffer), Await());
      error = read ? std::error_code() : read.error();
      // Again: it is told at once.
      read = connection.inner.async_read_some(asio::buffer(buffer), Await());
      CHECK_FALSE(read);
      CHECK_FALSE(self.Sleep(1h));
    });
    REQUIRE(kit::Eventually([&] {
      auto info = t.node.ProcessInfo(reader);
      return begun && info && info->state == gen::ProcessState::kWaiting;
    }));
    if (kill) {
      t.node.Kill(reader).value();
    } else {
      t.node.SendExit(reader, gen::Reason::Shutdown()).value();
    }
    CHECK(t.node.WaitProcess(reader, kit::kDeadline));
    CHECK(error == asio::error::operation_aborted);
  }
}

TEST_CASE("AwaitOrStop ends when the process is asked to stop, Await does not") {
  TestNode t;
  const gen::PID server = t.Spawn();
  Connection connection(t.node);
  std::string served;
  std::atomic<bool> in_the_middle{false};
  t.Begin(server, [&](Subject&) {
    std::string line;
    const auto read = [&](AwaitToken token) {
      return asio::async_read_until(connection.inner, asio::dynamic_buffer(line), '\n', token);
    };
    while (read(AwaitOrStop())) {
      served += line;
      line.clear();
      in_the_middle = true;
      if (!read(Await())) break;  // the rest of a request that has begun
      served += line;
      line.clear();
    }
    const auto again = read(AwaitOrStop());
    REQUIRE_FALSE(again);
    CHECK(again.error() == asio::error::operation_aborted);
    served += "stopped";
  });
  asio::write(connection.outer, asio::buffer("a\nb\nc\n", 6));
  REQUIRE(kit::Eventually([&] { return in_the_middle && t.IsWaiting(server); }));
  const auto early = t.node.StopProcess(server, 2ms);  // not in the middle
  CHECK((!early && early.error() == gen::ErrTimeout));
  asio::write(connection.outer, asio::buffer("d\n", 2));
  CHECK(t.node.WaitProcess(server, kit::kDeadline));
  CHECK(served == "a\nb\nc\nd\nstopped");

  const gen::PID waiter = t.Spawn();
  t.Begin(waiter, [&](Subject&) {
    std::array<char, 8> buffer{};
    CHECK_FALSE(connection.inner.async_read_some(asio::buffer(buffer), AwaitOrStop()));
  });
  CHECK(t.node.StopProcess(waiter, kit::kDeadline));
}

// Has completed before the process can wait for it.
struct AtOnce {
  template <class Handler>
  void operator()(Handler handler) {
    const auto executor = handler.get_executor();
    std::promise<void> done;
    asio::post(executor, [&] {
      std::move(handler)(std::error_code());
      done.set_value();
    });
    done.get_future().wait();
  }
};

TEST_CASE("who waits for operations that complete at once is ended and stopped all the same") {
  TestNode t;
  for (const bool is_killed : {true, false}) {
    std::atomic<int> completed{0};
    const gen::PID pid = t.Spawn();
    t.Begin(pid, [&](Subject&) {
      while (Perform<void(std::error_code)>(AtOnce(), is_killed ? Await() : AwaitOrStop())) {
        ++completed;
      }
    });
    REQUIRE(kit::Eventually([&] { return completed > 10; }));
    CHECK((is_killed ? t.node.Kill(pid) : t.node.StopProcess(pid, kit::kDeadline)));
    CHECK(t.Ended(pid));
  }
}

// Cannot be cancelled: it ends when the test says so.
struct Stubborn {
  template <class Handler>
  void operator()(Handler handler) {
    auto kept = std::make_shared<Handler>(std::move(handler));
    std::lock_guard lock(*mutex);
    *finish = [kept] { std::move (*kept)(std::error_code()); };
  }
  std::mutex* mutex;
  std::function<void()>* finish;
};

TEST_CASE("what cannot be cancelled is waited for, whatever signals come") {
  std::mutex mutex;
  std::function<void()> finish;
  std::atomic<bool> returned{false};
  TestNode t;
  const gen::PID process = t.Spawn();
  t.Begin(process, [&](Subject&) {
    auto result = Perform<void(std::error_code)>(Stubborn{&mutex, &finish}, Await(1ms));
    CHECK(result);  // it has succeeded after all
    returned = true;
  });
  const auto started = [&] {
    std::lock_guard lock(mutex);
    return finish != nullptr;
  };
  REQUIRE(kit::Eventually(started));
  for (int i = 0; i < 10; ++i) t.node.SendExit(process, gen::Reason::Shutdown()).value();
  t.node.Kill(process).value();
  // Its worker goes on with others meanwhile.
  const gen::PID other = t.Spawn();
  for (int i = 0; i < 100; ++i) CHECK(t.Run(other, [](Subject&) {}));
  CHECK_FALSE(returned);
  CHECK(t.node.ProcessInfo(process));
  asio::post(IoContext(t.node), [&] {
    std::lock_guard lock(mutex);
    finish();
  });
  CHECK(t.node.WaitProcess(process, kit::kDeadline));
  CHECK(returned);
}

TEST_CASE("Await: an operation that misses its first cancellation is cancelled at its next step") {
  std::mutex mutex;
  std::function<void()> next;
  std::atomic<int> cancelled{0};
  TestNode t;
  const gen::PID process = t.Spawn();
  auto answer = t.node.CallAsync<bool>(
      process, Do{[&](Subject& self) {
        asio::steady_timer timer(IoContext(self.Node()), 1h);
        auto first = [&](auto handler) {
          auto slot = asio::get_associated_cancellation_slot(handler);
          slot.assign([&](asio::cancellation_type) { ++cancelled; });
          auto kept = std::make_shared<decltype(handler)>(std::move(handler));
          std::lock_guard lock(mutex);
          next = [&timer, kept] { timer.async_wait(std::move(*kept)); };
        };
        auto result = Perform<void(std::error_code)>(first, Await(1ms));
        REQUIRE_FALSE(result);
        CHECK(result.error() == asio::error::timed_out);
      }});
  REQUIRE(kit::Eventually([&] { return cancelled > 0; }));
  asio::post(IoContext(t.node), [&] {
    std::lock_guard lock(mutex);
    std::exchange(next, nullptr)();
  });
  CHECK(answer.get());
}

TEST_CASE("Await: what starts an operation may itself wait, before and after") {
  TestNode t;
  CHECK(t.Run(t.Spawn(), [&](Subject& self) {
    asio::steady_timer timer(IoContext(self.Node()), 1ms);
    auto result = Perform<void(std::error_code)>([&](auto handler) {
      CHECK(self.Sleep(1ms));
      timer.async_wait(std::move(handler));
      CHECK(self.Sleep(2ms));
    });
    CHECK(result);
    timer.expires_after(1h);
    result = Perform<void(std::error_code)>(
        [&](auto handler) {
          timer.async_wait(std::move(handler));
          CHECK(self.Sleep(1ms));
        },
        Await(1ms));
    REQUIRE_FALSE(result);
    CHECK(result.error() == asio::error::timed_out);
  }));
}

TEST_CASE("an operation that is abandoned has been cancelled") {
  std::mutex mutex;
  std::function<void()> finish;
  TestNode t;
  auto answer = t.node.CallAsync<bool>(
      t.Spawn(), Do{[&](Subject&) {
        const auto result = Perform<void(std::error_code)>(Stubborn{&mutex, &finish});
        REQUIRE_FALSE(result);
        CHECK(result.error() == asio::error::operation_aborted);
      }});
  REQUIRE(kit::Eventually([&] {
    std::lock_guard lock(mutex);
    return finish != nullptr;
  }));
  {
    std::lock_guard lock(mutex);
    finish = nullptr;  // as a context does that ends
  }
  CHECK(answer.get());
}

TEST_CASE("Await is for handlers, and an exception of the operation comes through") {
  TestNode t;
  asio::steady_timer timer(IoContext(t.node), 1h);
  CHECK_THROWS_AS((void)timer.async_wait(Await()), std::logic_error);
  const gen::PID process = t.Spawn();
  CHECK(t.Run(process, [&](Subject& self) {
    CHECK_THROWS_AS(Perform<void()>([](auto) { throw std::runtime_error("cannot begin"); }),
                    std::runtime_error);
    CHECK(self.Sleep(1ms));
  }));
}

TEST_CASE("on the thread of the I/O nothing waits, and Stop only begins") {
  TestNode t;
  const gen::PID sleeps = t.Spawn({.terminate = [](Subject& self, const gen::Reason&) {
    (void)self.Sleep(1ms);  // by a timer, which that thread fires
  }});
  std::promise<void> done;
  asio::post(IoContext(t.node), [&] {
    const gen::Error refused =
        t.node.Call<bool>(sleeps, Do{[](Subject& self) { self.Sleep(1ms); }}).error();
    CHECK(refused == gen::ErrNotAllowed);
    CHECK(refused.detail().find("a thread of the node's I/O") != std::string::npos);
    CHECK(t.node.Spawn(Make({})).error() == gen::ErrNotAllowed);
    CHECK(t.node.WaitForSignal().error() == gen::ErrNotAllowed);
    CHECK(t.node.Send(sleeps, 1));  // what does not wait may be done
    t.node.Wait();
    t.node.Stop();
    done.set_value();
  });
  done.get_future().get();
  t.node.Wait();
  CHECK(t.node.Info().processes == 0);
}

TEST_CASE("many processes wait for their sockets at once") {
  constexpr int kProcesses = 200;  // two file descriptors each
  TestNode t;
  std::vector<std::unique_ptr<Connection>> connections;
  std::vector<std::future<gen::Result<bool>>> answers;
  for (int i = 0; i < kProcesses; ++i) {
    connections.push_back(std::make_unique<Connection>(t.node));
    Connection& connection = *connections.back();
    answers.push_back(t.node.CallAsync<bool>(
        t.Spawn(), Do{[&connection](Subject&) {
          std::string line;
          for (int k = 0; k < 3; ++k) {
            auto size =
                asio::async_read_until(connection.inner, asio::dynamic_buffer(line), '\n', Await());
            asio::async_write(connection.inner, asio::buffer(line.data(), size.value()), Await())
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

TEST_CASE("Await: an inspection is answered while a handler waits, as often as it is asked") {
  TestNode t;
  Connection connection(t.node);
  int reads = 0;
  const gen::PID pid = t.Spawn(
      {.message =
           [&](Subject&, gen::PID, gen::Message&) {
             for (;;) {
               std::array<char, 1> buffer{};
               if (!connection.inner.async_read_some(asio::buffer(buffer), Await())) {
                 return gen::Continue();
               }
               ++reads;
             }
           },
       .inspect = [&](Subject& self, const std::vector<std::string>& items) -> gen::Inspection {
         if (items == std::vector<std::string>{"throw"}) throw std::runtime_error("odd");
         if (items == std::vector<std::string>{"wait"}) (void)self.Sleep(1ms);
         return {{"reads", std::to_string(reads)}};
       }});
  const auto ask = [&](std::vector<std::string> items = {}) {
    return t.node.Inspect(pid, std::move(items), {.timeout = kit::kDeadline});
  };
  CHECK(ask().value().at("reads") == "0");
  CHECK(t.node.Send(pid, 1));
  CHECK(t.EventuallyWaiting(pid));
  for (int sent = 1; sent <= 20; ++sent) {
    CHECK(ask().has_value());
    asio::write(connection.outer, asio::buffer("x", 1));
    CHECK(kit::Eventually([&] { return ask().value().at("reads") == std::to_string(sent); }));
  }
  // It goes on waiting, whatever its HandleInspect does.
  CHECK(ask({"throw"}).error().ToString().find("threw: odd") != std::string::npos);
  CHECK(ask({"wait"}).error().ToString().find("Sleep in HandleInspect, while a handler of ") !=
        std::string::npos);
  CHECK(ask().value().at("reads") == "20");
  CHECK(t.node.ProcessInfo(pid)->messages_handled == 0);
  connection.outer.close();
  CHECK(kit::Eventually([&] { return t.node.ProcessInfo(pid)->messages_handled == 1; }));
  CHECK(ask().value().at("reads") == "20");
}

TEST_CASE("Await: inspections race with what completes, and each is answered once") {
  TestNode t;
  Connection connection(t.node);
  std::atomic<int> reads{0};
  const gen::PID pid =
      t.Spawn({.message =
                   [&](Subject&, gen::PID, gen::Message&) {
                     std::array<char, 1> buffer{};
                     while (connection.inner.async_read_some(asio::buffer(buffer), Await())) {
                       reads.fetch_add(1);
                     }
                     return gen::Continue();
                   },
               .inspect =
                   [&](Subject&, const auto&) {
                     return gen::Inspection{{"odd", "no"}};
                   }});
  CHECK(t.node.Send(pid, 1));
  const int rounds = kit::Scaled(2'000);
  std::thread asker([&] {
    for (int i = 0; i < rounds; ++i) {
      CHECK(t.node.Inspect(pid, {}, {.timeout = kit::kDeadline}).value().at("odd") == "no");
    }
  });
  for (int i = 0; i < rounds; ++i) asio::write(connection.outer, asio::buffer("x", 1));
  asker.join();
  CHECK(kit::Eventually([&] { return reads == rounds; }));
  connection.outer.close();
  CHECK(kit::Eventually([&] { return t.node.ProcessInfo(pid)->messages_handled == 1; }));
}

TEST_CASE(
    "Await: a process that waits in a continuation is inspected, and the continuation named") {
  class Listener : public act::Actor {
   public:
    explicit Listener(Connection* connection) : connection_(*connection) {}

   private:
    gen::Status Init(const gen::Args&) override { return Listen(); }
    gen::Status Listen() {
      return ContinueWith([this] {
        std::array<char, 1> buffer{};
        if (!connection_.inner.async_read_some(asio::buffer(buffer), AwaitOrStop())) {
          return gen::Continue();
        }
        ++reads_;
        return Listen();
      });
    }
    gen::Inspection HandleInspect(gen::PID, const std::vector<std::string>&) override {
      return {{"reads", std::to_string(reads_)}};
    }
    Connection& connection_;
    int reads_ = 0;
  };
  TestNode t;
  Connection connection(t.node);
  const gen::PID pid = t.node.Spawn(gen::Factory<Listener>(&connection)).value();
  asio::write(connection.outer, asio::buffer("xyz", 3));
  CHECK(kit::Eventually([&] {
    return t.node.Inspect(pid, {}, {.timeout = kit::kDeadline}).value().at("reads") == "3";
  }));
  REQUIRE(t.EventuallyWaiting(pid));  // in the next continuation
  const auto late = t.node.Call<int>(pid, 1, {.timeout = 1ms});
  CHECK(late.error().ToString().find("has been handling a continuation for ") != std::string::npos);
  std::ostringstream dump;
  t.node.Dump(dump);
  CHECK(dump.str().find("a continuation for ") != std::string::npos);
}

}  // namespace
}  // namespace ergon::node
