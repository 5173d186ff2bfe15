// Two Ergon nodes, and what a cluster does when things go wrong. What an Erlang node sees of one: cluster_test.escript.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <stdlib.h>  // mkdtemp

#include <fmt/core.h>
#include <asio/ssl/context.hpp>
#include <asio/ssl/stream.hpp>

#include <cluster/client.h>
#include <cluster/cluster.h>
#include <kit/threads.h>

namespace ergon::dist {
namespace {

// Notes lines in the order of their coming, maybe slowly; sums up.
class Listener : public act::Actor {
 public:
  struct Seen {
    std::mutex mutex;
    std::vector<int> numbers;
    [[nodiscard]] std::size_t size() {
      std::lock_guard lock(mutex);
      return numbers.size();
    }
  };
  explicit Listener(std::shared_ptr<Seen> seen, std::chrono::nanoseconds pause = 0ns)
      : seen_(std::move(seen)), pause_(pause) {}

 private:
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (auto* line = message.As<Line>()) {
      if (pause_ != 0ns) Sleep(pause_);
      std::lock_guard lock(seen_->mutex);
      seen_->numbers.push_back(line->number);
      return gen::Continue();
    }
    return Actor::HandleMessage(from, message);
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (auto* sum = request.As<Sum>()) {
      return gen::Reply(std::accumulate(sum->numbers.begin(), sum->numbers.end(), std::int64_t{0}));
    }
    if (request.Is<gen::Atom>()) return gen::Stop(gen::Reason::Error("asked_to"));
    return Actor::HandleCall(from, ref, request);
  }
  std::shared_ptr<Seen> seen_;
  const std::chrono::nanoseconds pause_;
};
using Seen = Listener::Seen;

std::vector<int> Numbers(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

TEST_CASE("cluster: a node sends to a name of another one, in order") {
  Cluster cluster("order");
  const auto seen = std::make_shared<Seen>();
  cluster.b.SpawnRegister("listener", gen::Factory<Listener>(seen)).value();
  for (int i = 0; i < 1000; ++i) CHECK(cluster.a.Send(cluster.OnB("listener"), Line{i, "text"}));
  REQUIRE(kit::Eventually([&] { return seen->size() == 1000; }));
  CHECK(seen->numbers == Numbers(1000));
  CHECK(Nodes(cluster.a) == std::vector{cluster.b.Name()});
  CHECK(Nodes(cluster.b) == std::vector{cluster.a.Name()});
  CHECK(cluster.a.MessageBalance().sent_to_nodes == 1000);
}

TEST_CASE("cluster: what is sent again and again goes to another node each time") {
  Cluster cluster("ticks");
  const auto seen = std::make_shared<Seen>();
  const gen::PID pid = cluster.b.SpawnRegister("listener", gen::Factory<Listener>(seen)).value();
  auto by_name = cluster.a.SendEvery(cluster.OnB("listener"), Line{1, "tick"}, 1ms);
  CHECK(kit::Eventually([&] { return seen->size() >= 5; }));
  CHECK(by_name->Cancel());
  auto by_pid = cluster.a.SendEvery(pid, Line{2, "tick"}, 1ms);
  CHECK(kit::Eventually([&] {
    std::lock_guard lock(seen->mutex);
    return std::count(seen->numbers.begin(), seen->numbers.end(), 2) >= 5;
  }));
  CHECK(by_pid->Cancel());
}

TEST_CASE("cluster: calls, their errors, and the end of the one who was asked") {
  Cluster cluster("calls");
  const auto seen = std::make_shared<Seen>();
  cluster.b.SpawnRegister("listener", gen::Factory<Listener>(seen)).value();
  CHECK(cluster.a.Call(cluster.OnB("listener"), Sum{{1, 2, 39}}).value() == 42);
  CHECK(cluster.a.Call<int>(cluster.OnB("nobody"), Sum{}).error() == gen::ErrProcessUnknown);
  CHECK(cluster.a.Call<int>(cluster.OnB("listener"), Line{}).error() == gen::ErrUnsupported);
  CHECK(cluster.a.Call<std::string>(cluster.OnB("listener"), Sum{{1}}).error() ==
        gen::ErrUnexpectedType);
  struct Local {};
  const auto unregistered = cluster.a.Send(cluster.OnB("listener"), Local{});
  CHECK(unregistered.error() == gen::ErrUnsupported);
  CHECK(unregistered.error().ToString().find("Local") != std::string::npos);
  const auto ended = cluster.a.Call<int>(cluster.OnB("listener"), gen::Atom("end"));
  CHECK(ended.error() == gen::ErrProcessTerminated);
  CHECK(ended.error().ToString().find("asked_to") != std::string::npos);
}

TEST_CASE(
    "cluster: a process that sends too fast waits, a thread is told, and memory does not grow") {
  ErlangOptions options = ClusterOptions();
  options.send_queue_bytes = 64 * 1024;
  Cluster cluster("busy", options);
  const auto seen = std::make_shared<Seen>();
  cluster.b.SpawnRegister("listener", gen::Factory<Listener>(seen)).value();
  const gen::ProcessID to = cluster.OnB("listener");
  constexpr int kMessages = 2000;
  const std::string text(1000, 'x');
  std::atomic<int> failed{0};
  std::atomic<bool> done{false};
  const auto sender = cluster.a.Spawn([&](gen::Process& self) {
    for (int i = 0; i < kMessages; ++i) {
      if (!self.Send(to, Line{i, text})) ++failed;
    }
    done = true;
  });
  REQUIRE(sender);
  REQUIRE(kit::Eventually([&] { return done.load(); }));
  CHECK(failed == 0);
  REQUIRE(kit::Eventually([&] { return seen->size() == kMessages; }));
  CHECK(seen->numbers == Numbers(kMessages));
  // A thread cannot be suspended.
  int accepted = 0;
  gen::Error error = gen::ErrTimeout;
  for (int i = 0; i < 100'000 && error != gen::ErrBusy; ++i) {
    const auto sent = cluster.a.Send(to, Line{kMessages + i, text});
    if (sent)
      ++accepted;
    else
      error = sent.error();
  }
  CHECK(error == gen::ErrBusy);
  const auto connections = InspectConnections(cluster.a);
  REQUIRE(connections.size() == 1);
  CHECK(connections[0].node == cluster.b.Name());
  CHECK(connections[0].is_up);
  CHECK(connections[0].is_ergon);
  CHECK(connections[0].most_queued_bytes >= options.send_queue_bytes);
  CHECK(connections[0].most_queued_bytes < options.send_queue_bytes + 2 * text.size());
  CHECK(connections[0].is_listened_to);
  std::ostringstream dump;
  cluster.a.Dump(dump);
  CHECK(dump.str().find(fmt::format("\nconnected with {}: ", cluster.b.Name())) !=
        std::string::npos);
  CHECK(InspectConnections(cluster.b)[0].most_queued_bytes < options.send_queue_bytes);
  REQUIRE(kit::Eventually(
      [&] { return seen->size() == static_cast<std::size_t>(kMessages + accepted); }));
}

TEST_CASE("cluster: many processes send at once, and each one's messages stay in order") {
  ErlangOptions options = ClusterOptions();
  options.send_queue_bytes = 16 * 1024;
  Cluster cluster("many", options);
  constexpr int kSenders = 50;
  constexpr int kEach = 200;
  const auto seen = std::make_shared<Seen>();
  cluster.b.SpawnRegister("listener", gen::Factory<Listener>(seen)).value();
  std::atomic<int> failed{0};
  for (int sender = 0; sender < kSenders; ++sender) {
    cluster.a
        .Spawn([&, sender](gen::Process& self) {
          for (int i = 0; i < kEach; ++i) {
            if (!self.Send(cluster.OnB("listener"), Line{sender * kEach + i, "text"})) ++failed;
            if (i % 50 == 0 && self.Call(cluster.OnB("listener"), Sum{{1, 2}}).value() != 3)
              ++failed;
          }
        })
        .value();
  }
  REQUIRE(kit::Eventually([&] { return seen->size() == kSenders * kEach; }));
  CHECK(failed == 0);
  std::vector<int> next(kSenders, 0);
  for (const int number : seen->numbers) {
    CHECK(number % kEach == next[static_cast<std::size_t>(number / kEach)]++);
  }
}

TEST_CASE("cluster: what was under way when a connection is lost has one outcome") {
  Cluster cluster("lost");
  const auto seen = std::make_shared<Seen>();
  cluster.b.SpawnRegister("listener", gen::Factory<Listener>(seen)).value();
  std::atomic<bool> stop{false};
  std::atomic<int> answers{0};
  std::atomic<int> errors{0};
  std::atomic<int> calls{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        ++calls;
        const auto sum =
            cluster.a.Call(cluster.OnB("listener"), Sum{{20, 22}}, {.timeout = kit::kDeadline});
        if (sum && *sum == 42) ++answers;
        if (!sum && (sum.error() == gen::ErrNoConnection)) ++errors;
        (void)cluster.a.Send(cluster.OnB("listener"), Line{1, "text"});
      }
    });
  }
  CHECK(kit::Eventually([&] { return answers > 0; }));
  for (int cut = 0; cut < 20; ++cut) {
    std::this_thread::sleep_for(10ms);
    (void)Disconnect(cut % 2 == 0 ? cluster.a : cluster.b,
                     cut % 2 == 0 ? cluster.b.Name() : cluster.a.Name());
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  CHECK(calls == answers + errors);
  // It may be a ping that learns of the last cut.
  CHECK(kit::Eventually([&] { return Ping(cluster.a, cluster.b.Name()).has_value(); }));
}

TEST_CASE("cluster: a node is always there for itself, and calls its own functions by itself") {
  Cluster cluster("itself");
  CHECK(Ping(cluster.a, cluster.a.Name()));
  const auto called = Rpc(cluster.a, cluster.a.Name(), "words", "count", {});
  CHECK(called.error() == gen::ErrIncorrect);
  CHECK(called.error().detail() == "dist::Rpc: itselfa@127.0.0.1 is this node itself");
}

TEST_CASE("cluster: monitors and links of a lost connection are told once") {
  Cluster cluster("watch");
  const auto seen = std::make_shared<Seen>();
  const gen::PID there = cluster.b.Spawn(gen::Factory<Listener>(seen)).value();
  std::atomic<int> downs{0};
  std::atomic<int> exits{0};
  std::atomic<bool> ready{false};
  cluster.a
      .Spawn([&](gen::Process& self) {
        self.SetTrapExit(true);
        for (int i = 0; i < 10; ++i) self.Monitor(there).value();
        self.Monitor(gen::ProcessID{"nobody", cluster.b.Name()}).value();
        self.Link(there).value();
        ready = true;
        for (;;) {
          auto got =
              self.Receive<gen::MessageDownPID, gen::MessageDownProcessID, gen::MessageExitPID>(
                  kit::kDeadline);
          if (!got) return;
          if (auto* down = std::get_if<gen::MessageDownPID>(&*got)) {
            if (down->reason == gen::Reason::NoConnection()) ++downs;
          } else if (auto* name = std::get_if<gen::MessageDownProcessID>(&*got)) {
            if (name->reason == gen::Reason::NoProcess()) ++downs;
          } else if (std::get<gen::MessageExitPID>(*got).reason == gen::Reason::NoConnection()) {
            ++exits;
          }
        }
      })
      .value();
  REQUIRE(kit::Eventually([&] { return ready && downs == 1; }));
  CHECK(Disconnect(cluster.a, cluster.b.Name()));
  CHECK(kit::Eventually([&] { return downs == 11 && exits == 1; }));
  CHECK_FALSE(Disconnect(cluster.a, "nobody@127.0.0.1"));
}

// One of the two has not heard yet of the end of the former link when the other one links itself anew.
TEST_CASE("cluster: a link that is made anew is not ended by the loss of the former one") {
  Cluster cluster("relink");
  std::vector<std::string> there;  // reasons
  const gen::PID stubborn = cluster.b
                                .Spawn([&](gen::Process& self) {
                                  self.SetTrapExit(true);
                                  (void)self.Receive<Line>(10s);
                                  const auto exit = self.Receive<gen::MessageExitPID>(10s);
                                  if (exit) there.push_back(exit->reason.ToString());
                                  return gen::Reason::Error("over");
                                })
                                .value();
  std::vector<std::string> here;
  std::atomic<bool> done{false};
  cluster.a
      .Spawn([&](gen::Process& self) {
        self.SetTrapExit(true);
        self.Link(stubborn).value();
        (void)Ping(self, cluster.b.Name());
        Disconnect(cluster.a, cluster.b.Name());
        for (int end = 0; end < 2; ++end) {
          const auto exit = self.Receive<gen::MessageExitPID>(10s);
          here.push_back(exit ? exit->reason.ToString() : exit.error().ToString());
          if (end == 1) break;
          self.Link(stubborn).value();
          (void)self.Send(stubborn, Line{});
        }
        done = true;
      })
      .value();
  REQUIRE(kit::Eventually([&] { return done.load(); }));
  CHECK(there == std::vector<std::string>{"noconnection"});
  CHECK(here == std::vector<std::string>{"noconnection", "over"});
}

TEST_CASE("cluster: whoever unlinks itself does not hear of the loss of the connection") {
  Cluster cluster("unlink");
  const auto seen = std::make_shared<Seen>();
  const gen::PID there = cluster.b.Spawn(gen::Factory<Listener>(seen)).value();
  std::atomic<int> exits{-1};
  cluster.a
      .Spawn([&](gen::Process& self) {
        self.SetTrapExit(true);
        self.Monitor(there).value();
        self.Link(there).value();
        (void)Ping(self, cluster.b.Name());
        Disconnect(cluster.a, cluster.b.Name());
        // The exit signal is there, and waits.
        const auto down = self.Receive<gen::MessageDownPID>(10s);
        while (!Nodes(cluster.a).empty()) self.Sleep(1ms);
        (void)Ping(self, cluster.b.Name());
        self.Unlink(there).value();
        exits = self.Receive<gen::MessageExitPID>(0ns) ? 1 : 0;
      })
      .value();
  REQUIRE(kit::Eventually([&] { return exits != -1; }));
  CHECK(exits == 0);
}

TEST_CASE("cluster: processes of a former incarnation of a node are no processes") {
  Cluster cluster("former");
  const auto seen = std::make_shared<Seen>();
  gen::PID there = cluster.b.Spawn(gen::Factory<Listener>(seen)).value();
  CHECK(cluster.a.Call(there, Sum{{1, 2}}).value() == 3);
  ++there.creation;
  CHECK(cluster.a.Send(there, Line{}).error() == gen::ErrProcessIncarnation);
  CHECK(cluster.a.Call(there, Sum{}).error() == gen::ErrProcessIncarnation);
  CHECK(cluster.a.SendExit(there, gen::Reason::Shutdown()).error() == gen::ErrProcessIncarnation);
  std::atomic<int> ends{0};
  cluster.a
      .Spawn([&](gen::Process& self) {
        self.SetTrapExit(true);
        self.Monitor(there).value();
        const auto down = self.Receive<gen::MessageDownPID>(kit::kDeadline);
        if (down && down->reason == gen::Reason::NoProcess()) ++ends;
        self.Link(there).value();
        const auto exit = self.Receive<gen::MessageExitPID>(kit::kDeadline);
        if (exit && exit->reason == gen::Reason::NoProcess()) ++ends;
      })
      .value();
  CHECK(kit::Eventually([&] { return ends == 2; }));
}

TEST_CASE(
    "cluster: an answer that is a number is of the type that was asked for, if that holds it") {
  Cluster cluster("numbers");
  (void)cluster.b.SpawnRegister(gen::Atom("listener"), gen::Factory<Listener>(nullptr)).value();
  const auto listener = cluster.OnB("listener");
  CHECK(cluster.a.Call<int>(listener, Sum{{1, 2}}).value() == 3);
  CHECK(cluster.a.Call<std::size_t>(listener, Sum{{1, 2}}).value() == 3);
  const auto wide = cluster.a.Call<std::uint8_t>(listener, Sum{{200, 100}});
  CHECK(wide.error() == gen::ErrUnexpectedType);
  CHECK(wide.error().detail() == "asked for unsigned char, got 300");
}

TEST_CASE("cluster: a node that stops says good-bye") {
  Cluster cluster("stop");
  const auto seen = std::make_shared<Seen>();
  const gen::PID there = cluster.b.Spawn(gen::Factory<Listener>(seen)).value();
  std::atomic<int> downs{0};
  std::atomic<bool> ready{false};
  cluster.a
      .Spawn([&](gen::Process& self) {
        self.Monitor(there).value();
        (void)Ping(self, cluster.b.Name());
        ready = true;
        const auto down = self.Receive<gen::MessageDownPID>(kit::kDeadline);
        if (down && down->reason == gen::Reason::Shutdown()) ++downs;
      })
      .value();
  REQUIRE(kit::Eventually([&] { return ready.load(); }));
  cluster.b.Stop();
  CHECK(kit::Eventually([&] { return downs == 1; }));
  CHECK(cluster.a.Call<int>(cluster.OnB("listener"), Sum{}).error() == gen::ErrNoConnection);
}

// While the peer sends as well: a socket that is closed with something unread loses what is under way.
TEST_CASE(
    "cluster: what a node has sent before it stops arrives, however much comes in meanwhile") {
  constexpr int kMessages = kit::Scaled(10'000, 5);
  for (int round = 0; round < 2; ++round) {
    Cluster cluster("last" + std::to_string(round));
    const auto seen = std::make_shared<Seen>();
    const auto ignored = std::make_shared<Seen>();
    cluster.b.SpawnRegister("listener", gen::Factory<Listener>(seen)).value();
    cluster.a.SpawnRegister("listener", gen::Factory<Listener>(ignored)).value();
    const gen::ProcessID on_a{"listener", cluster.a.Name()};
    std::atomic<bool> is_over{false};
    const gen::PID flooding =
        cluster.b
            .Spawn([&, on_a](gen::Process& self) {
              while (!is_over && self.Send(on_a, Line{0, std::string(1'000, 'x')})) {
                (void)self.Sleep(0ns);
              }
            })
            .value();
    REQUIRE(kit::Eventually([&] { return ignored->size() > 100; }));
    int sent = 0;
    while (sent < kMessages) {
      if (cluster.a.SendOrWait(cluster.OnB("listener"), Line{sent, "text"}, kit::kDeadline)) ++sent;
    }
    cluster.a.Stop();
    CHECK(cluster.a.Info().dropped_no_connection == 0);
    CHECK_FALSE(cluster.log_a.Contains("closed by the other side"));
    CHECK(kit::Eventually([&] { return seen->size() == kMessages; }));
    is_over = true;
    CHECK(cluster.b.WaitProcess(flooding));
  }
}

TEST_CASE("cluster: simultaneous connects become one connection, and lose nothing") {
  for (int round = 0; round < kit::Scaled(40, 2); ++round) {
    Cluster cluster("both" + std::to_string(round));
    CAPTURE(round);
    const auto seen = std::make_shared<Seen>();
    (void)cluster.b.SpawnRegister(gen::Atom("lines"), gen::Factory<Listener>(seen)).value();
    (void)cluster.a.SpawnRegister(gen::Atom("lines"), gen::Factory<Listener>(seen)).value();
    const auto connect = [round](node::Node& own, node::Node& other, gen::Result<void>& pinged) {
      // One hears of the other's attempt, or has come to its end, before it begins with its own.
      if (own.Name() < other.Name()) std::this_thread::sleep_for(round / 2 * 100us);
      CHECK(own.Send(gen::ProcessID{gen::Atom("lines"), other.Name()}, Line{1, "first"}));
      pinged = Ping(own, other.Name());
    };
    gen::Result<void> from_a;
    gen::Result<void> from_b;
    std::thread one([&] { connect(cluster.a, cluster.b, from_a); });
    std::thread other([&] { connect(cluster.b, cluster.a, from_b); });
    one.join();
    other.join();
    CHECK_MESSAGE(from_a, (from_a ? "" : from_a.error().ToString()));
    CHECK_MESSAGE(from_b, (from_b ? "" : from_b.error().ToString()));
    CHECK(kit::Eventually([&] { return seen->size() == 2; }));
  }
}

TEST_CASE("cluster: EPMD that was gone knows the node again") {
  Epmd epmd(26'000 + ::getpid() % 6'000);
  ErlangOptions options = ClusterOptions();
  options.epmd_port = epmd.port();
  Cluster cluster("again", options);
  CHECK(Ping(cluster.a, cluster.b.Name()));
  epmd.Stop();
  CHECK(kit::Eventually([&] { return cluster.log_b.Contains("is gone"); }));
  epmd.Start();
  CHECK(kit::Eventually([&] { return cluster.log_b.Contains("registered at EPMD again"); }));
  CHECK(kit::Eventually([&] {
    return Diagnose("doctor@127.0.0.1", cluster.b.Name().ToString(), options).has_value();
  }));
}

TEST_CASE("cluster: what keeps two nodes apart is said with words") {
  Cluster cluster("words");
  const std::string b = cluster.b.Name().ToString();
  const auto well = Diagnose("doctor@127.0.0.1", b, ClusterOptions());
  REQUIRE(well);
  CHECK(well->find(b) != std::string::npos);

  ErlangOptions other_cookie = ClusterOptions();
  other_cookie.cookie = "other";
  const auto cookie = Diagnose("doctor@127.0.0.1", b, other_cookie);
  REQUIRE_FALSE(cookie);
  CHECK(cookie.error().ToString().find("cookie") != std::string::npos);
  CHECK(cookie.error().ToString().find("secret") == std::string::npos);

  // Of two that are connected nothing is ended.
  CHECK(Ping(cluster.a, cluster.b.Name()));
  const auto connected = Diagnose(cluster.a.Name().ToString(), b, ClusterOptions());
  REQUIRE(connected);
  CHECK(connected->find("is connected with " + cluster.a.Name().ToString()) != std::string::npos);
  CHECK(Ping(cluster.a, cluster.b.Name()));
  CHECK_FALSE(cluster.log_b.Contains("no connection with " + cluster.a.Name().ToString()));

  const auto nobody = Diagnose("doctor@127.0.0.1", "nobody@127.0.0.1", ClusterOptions());
  REQUIRE_FALSE(nobody);
  CHECK(nobody.error() == gen::ErrNoConnection);
  CHECK(nobody.error().ToString().find("nobody") != std::string::npos);

  kit::LogCapture log;
  const auto taken = TryStart(b, log);
  REQUIRE_FALSE(taken);
  CHECK(taken.error() == gen::ErrTaken);

  const auto unreachable = Ping(cluster.a, "nobody@127.0.0.1");
  CHECK(unreachable.error() == gen::ErrNoConnection);
}

TEST_CASE(
    "cluster: who has not proved himself costs a socket for a bounded time, and disturbs nobody") {
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  options.handshake_timeout = 300ms;
  options.max_handshakes = 4;
  kit::LogCapture log_b;
  auto b = TryStart("hostileb@127.0.0.1", log_b, options).value();
  kit::LogCapture log_a;
  auto a = TryStart("hostilea@127.0.0.1", log_a).value();
  const auto seen = std::make_shared<Seen>();
  b.SpawnRegister("listener", gen::Factory<Listener>(seen)).value();
  // That is a short time, for an honest one as well.
  CHECK(kit::Eventually([&] { return Ping(a, b.Name()).has_value(); }));
  const auto port = static_cast<std::uint16_t>(options.listen_port);
  std::atomic<int> closed{0};
  kit::Threads hostile;
  for (int i = 0; i < 8; ++i) {
    hostile.Start([&, i] {
      Client client(port);
      switch (i % 4) {
        case 0:
          break;  // says nothing
        case 1:
          client.Write("GET / HTTP/1.1\r\n\r\n");
          break;
        case 2:
          client.Write(std::string("\xff\xffN", 3));
          break;
        default:
          client.Write(std::string("\0\x10N\0\0\0\x0d\x07\x4f\x5f\xbc\0\0\0\x01\0\x40", 17));
      }
      if (client.IsClosed()) ++closed;
    });
  }
  for (int i = 0; i < 100; ++i) {
    const gen::ProcessID to{"listener", b.Name()};
    CHECK(a.Call(to, Sum{{1, i}}, {.timeout = kit::kDeadline}).value() == 1 + i);
  }
  hostile.Join();
  CHECK(closed == 8);
  CHECK(log_b.Contains("was not let in"));
}

TEST_CASE(
    "cluster: frames that are none, or too long, end the connection of the one who sent them") {
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  options.max_frame_bytes = 64 * 1024;
  options.max_term_depth = 20;
  kit::LogCapture log;  // of warnings
  auto node =
      TryStart("frames@127.0.0.1", log, options, {.log_level = gen::LogLevel::kWarning}).value();
  const auto port = static_cast<std::uint16_t>(options.listen_port);
  const std::vector<std::string> frames = {
      std::string("\xff\xff\xff\xff", 4),      // 4 GiB
      std::string("\0\0\0\x03xyz", 7),         // not 'p'
      std::string("\0\0\0\x04p\x83h\xff", 8),  // a tuple of 255 elements that are not there
      std::string("\0\0\0\x07p\x83m\x7f\xff\xff\xff", 11),  // a binary that is not there
      std::string("\0\0\0\x34p\x83", 6) + std::string(50, 'h') + std::string(50, '\1'),
      std::string("\0\0\0\x03p\x83P", 7),        // compressed
      std::string("\0\0\0\x04\x83\x44\0\0", 8),  // a distribution header
  };
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Client client(port);
    REQUIRE(client.ShakeHands("hostile" + std::to_string(i) + "@127.0.0.1", "frames@127.0.0.1"));
    client.Write(frames[i]);
    CHECK(client.IsClosed());
  }
  CHECK(kit::Eventually([&] {
    return log.Count("it sent a malformed frame") + log.Count("it sent a frame of") ==
           frames.size();
  }));
  kit::LogCapture other;
  auto well = TryStart("framesother@127.0.0.1", other).value();
  CHECK(Ping(well, node.Name()));
}

TEST_CASE("cluster: a peer that says nothing any more is gone after the tick time") {
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  options.tick_time = 1s;
  kit::LogCapture log;  // of warnings
  auto node =
      TryStart("ticks@127.0.0.1", log, options, {.log_level = gen::LogLevel::kWarning}).value();
  Client client(static_cast<std::uint16_t>(options.listen_port));
  REQUIRE(client.ShakeHands("silent@127.0.0.1", "ticks@127.0.0.1"));
  REQUIRE(kit::Eventually([&] { return Nodes(node).size() == 1; }));
  // It is given up after five quarters of the tick time, and has got a tick in each before, or a question about
  // groups, which is as good.
  CHECK(client.ReadToTheEnd().size() >= 4 * 4);
  CHECK(kit::Eventually([&] { return log.Contains("it has said nothing for"); }));
  CHECK(Nodes(node).empty());
}

TEST_CASE("cluster: a peer that comes again under its name gets another connection") {
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  kit::LogCapture log;
  auto node = TryStart("meets@127.0.0.1", log, options).value();
  std::vector<std::unique_ptr<Client>> clients;
  for (int time = 0; time < 3; ++time) {
    clients.push_back(std::make_unique<Client>(static_cast<std::uint16_t>(options.listen_port)));
    std::atomic<bool> watches{false};
    std::atomic<int> downs{0};
    gen::PID watching;
    if (time != 0) {
      watching = node.Spawn([&](gen::Process& self) {
                       self.Monitor(gen::ProcessID{"anybody", "again@127.0.0.1"}).value();
                       watches = true;
                       const auto down = self.Receive<gen::MessageDownProcessID>(20s);
                       if (down && down->reason == gen::Reason::NoConnection()) ++downs;
                       if (self.Receive<gen::MessageDownProcessID>(0ns)) ++downs;
                     })
                     .value();
      REQUIRE(kit::Eventually([&] { return watches.load(); }));
    }
    // The node says that it has a connection, and hears that this one is to replace that.
    REQUIRE(clients.back()->ShakeHands("again@127.0.0.1", "meets@127.0.0.1"));
    REQUIRE(kit::Eventually([&] { return Nodes(node).size() == 1; }));
    if (time == 0) continue;
    CHECK(clients[clients.size() - 2]->IsClosed());
    CHECK(node.WaitProcess(watching));
    CHECK(downs == 1);
  }
  CHECK(log.Count("the same node has connected anew") == 2);
}

// A certificate of an authority of the test, as both sides of TLS want it.
class Certificates {
 public:
  // `names`: the alternative names of the subject.
  explicit Certificates(const std::string& names = "DNS:127.0.0.1,IP:127.0.0.1") {
    char name[] = "/tmp/ergon_certificates_XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    folder_ = name;
    const std::string in = "cd " + folder_ + " && ";
    REQUIRE(std::system((in +
                         "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
                         "-keyout ca.key -out ca.pem -days 2 "
                         "-subj /CN=authority 2>/dev/null && openssl req -newkey ec -pkeyopt "
                         "ec_paramgen_curve:P-256 -nodes -keyout "
                         "node.key -out node.csr -subj /CN=node 2>/dev/null && printf "
                         "'subjectAltName=" +
                         names +
                         "' > names && openssl x509 -req -in "
                         "node.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out node.pem -days 2 "
                         "-extfile names 2>/dev/null")
                            .c_str()) == 0);
  }
  ~Certificates() { (void)std::system(("rm -r " + folder_).c_str()); }
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;
  [[nodiscard]] TlsOptions Options() const {
    return {folder_ + "/node.pem", folder_ + "/node.key", folder_ + "/ca.pem"};
  }
  // With a key that needs a passphrase.
  [[nodiscard]] TlsOptions Encrypted() const {
    REQUIRE(std::system(("cd " + folder_ +
                         " && openssl pkey -in node.key -aes128 -passout "
                         "pass:secret -out locked.key")
                            .c_str()) == 0);
    return {folder_ + "/node.pem", folder_ + "/locked.key", folder_ + "/ca.pem"};
  }

 private:
  std::string folder_;
};

TEST_CASE("cluster: over TLS, with certificates on both sides") {
  const Certificates mine;
  ErlangOptions options = ClusterOptions();
  options.tls = mine.Options();
  const std::uint16_t port = FreePort();
  options.listen_port = port;
  kit::LogCapture log_a;
  auto a = TryStart("tlsa@127.0.0.1", log_a, options).value();
  options.listen_port = 0;
  kit::LogCapture log_b;
  auto b = TryStart("tlsb@127.0.0.1", log_b, options).value();
  const auto seen = std::make_shared<Seen>();
  b.SpawnRegister("listener", gen::Factory<Listener>(seen)).value();
  const gen::ProcessID to{"listener", b.Name()};
  CHECK(a.Call(to, Sum{{20, 22}}).value() == 42);
  for (int i = 0; i < 1000; ++i) CHECK(a.Send(to, Line{i, "text"}));
  REQUIRE(kit::Eventually([&] { return seen->size() == 1000; }));
  // Without TLS, and with a certificate of another authority.
  CHECK_FALSE(Diagnose("doctor@127.0.0.1", "tlsa@127.0.0.1", ClusterOptions()));
  CHECK(kit::Eventually([&] { return log_a.Contains("TLS: the peer speaks no TLS: give both"); }));
  const Certificates other;
  ErlangOptions stranger = ClusterOptions();
  stranger.tls = other.Options();
  const auto refused = Diagnose("doctor@127.0.0.1", "tlsa@127.0.0.1", stranger);
  REQUIRE_FALSE(refused);
  CHECK_MESSAGE(
      refused.error().ToString().find("TLS: the peer's certificate: ") != std::string::npos,
      refused.error().ToString());
  // Garbage instead of a greeting.
  {
    Client client(port);
    client.Write(std::string(300, 'x'));
    CHECK(client.IsClosed());
  }
  CHECK(a.Call(to, Sum{{1, 2}}).value() == 3);
  // A session of a former connection is not taken up again, which would show no certificates, and does no harm.
  const TlsOptions files = mine.Options();
  asio::ssl::context tls(asio::ssl::context::tls);
  tls.use_certificate_chain_file(files.certificate_file);
  tls.use_private_key_file(files.private_key_file, asio::ssl::context::pem);
  SSL_CTX_set_max_proto_version(tls.native_handle(), TLS1_2_VERSION);  // the session comes at once
  std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> session(nullptr, &SSL_SESSION_free);
  for (int time = 0; time < 2; ++time) {
    asio::io_context context;
    asio::ssl::stream<asio::ip::tcp::socket> stream(context, tls);
    stream.lowest_layer().connect({asio::ip::make_address("127.0.0.1"), port});
    if (session != nullptr) SSL_set_session(stream.native_handle(), session.get());
    asio::error_code error;
    stream.handshake(asio::ssl::stream_base::client, error);
    CHECK_MESSAGE(!error, error.message());
    CHECK(SSL_session_reused(stream.native_handle()) == 0);
    session.reset(SSL_get1_session(stream.native_handle()));
    REQUIRE(session != nullptr);
    CHECK(SSL_SESSION_is_resumable(session.get()) == 0);
  }
  // A peer that closes says no farewell of TLS; the words are those of TCP.
  ErlangOptions wrong = options;
  wrong.cookie = "wrong";
  const auto turned_away = Diagnose("doctor@127.0.0.1", "tlsa@127.0.0.1", wrong);
  REQUIRE_FALSE(turned_away);
  CHECK_MESSAGE(turned_away.error().ToString().find("cookie") != std::string::npos,
                turned_away.error().ToString());
  b.Stop();
  CHECK(kit::Eventually([&] {
    return log_a.Contains("no connection with tlsb@127.0.0.1: closed by the other side");
  }));
}

TEST_CASE(
    "cluster: over TLS, the host may be a name or an address of the certificate, or it is told") {
  const auto diagnosed = [](const char* names) {
    const Certificates mine(names);
    ErlangOptions options = ClusterOptions();
    options.tls = mine.Options();
    kit::LogCapture log;
    auto node = TryStart("tlsn@127.0.0.1", log, options).value();
    auto found = Diagnose("doctor@127.0.0.1", "tlsn@127.0.0.1", options);
    return found ? std::string() : found.error().ToString();
  };
  CHECK(diagnosed("DNS:127.0.0.1").empty());
  CHECK(diagnosed("IP:127.0.0.1").empty());
  const std::string other = diagnosed("DNS:elsewhere,IP:127.0.0.2");
  CHECK_MESSAGE(other.find("the peer's certificate: it does not name the host '127.0.0.1'") !=
                    std::string::npos,
                other);
}

TEST_CASE("cluster: over TLS, who shows a certificate that the peer does not accept is told so") {
  const Certificates mine;
  const Certificates other;
  ErlangOptions options = ClusterOptions();
  options.tls = mine.Options();
  kit::LogCapture log;
  auto node = TryStart("tlsr@127.0.0.1", log, options).value();
  options.tls = TlsOptions{other.Options().certificate_file, other.Options().private_key_file,
                           mine.Options().authorities_file};
  const auto refused = Diagnose("doctor@127.0.0.1", "tlsr@127.0.0.1", options);
  REQUIRE_FALSE(refused);
  // The connection may end before this side has read the alert.
  const std::string text = refused.error().ToString();
  CHECK_MESSAGE((text.find("the peer refuses this node's certificate: ") != std::string::npos ||
                 text.find("or refuses this node's certificate") != std::string::npos),
                text);
  CHECK(kit::Eventually([&] { return log.Contains("TLS: the peer's certificate: "); }));
}

TEST_CASE("cluster: nobody is asked for the passphrase of a key") {
  const Certificates mine;
  ErlangOptions options = ClusterOptions();
  options.tls = mine.Encrypted();
  kit::LogCapture log;
  const auto node = TryStart("locked@127.0.0.1", log, options);
  REQUIRE_FALSE(node);
  CHECK(node.error() == gen::ErrIncorrect);
  CHECK_MESSAGE(node.error().ToString().find("locked.key': it is encrypted") != std::string::npos,
                node.error().ToString());
}

TEST_CASE("cluster: a plain node is told that its peer speaks TLS") {
  kit::LogCapture log;
  auto node = TryStart("plain@127.0.0.1", log).value();
  const Certificates mine;
  ErlangOptions options = ClusterOptions();
  options.tls = mine.Options();
  const auto found = Diagnose("doctor@127.0.0.1", "plain@127.0.0.1", options);
  REQUIRE_FALSE(found);
  CHECK_MESSAGE(
      found.error().ToString().find("TLS: the peer has closed the connection: it speaks no TLS") !=
          std::string::npos,
      found.error().ToString());
  CHECK(
      kit::Eventually([&] { return log.Contains("the peer speaks TLS, and this node does not"); }));
}

TEST_CASE("cluster: options are checked before anything is opened") {
  const auto error_of = [](auto change) {
    ErlangOptions options = ClusterOptions();
    change(options);
    kit::LogCapture log;
    const auto node = TryStart("options@127.0.0.1", log, options);
    return node ? std::string("it has started") : node.error().ToString();
  };
  const auto contains = [](const std::string& text, const char* part) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  };
  contains(error_of([](auto& options) { options.listen_port = 70'000; }), "listen_port: 70000");
  contains(error_of([](auto& options) { options.listen_address = "here"; }),
           "listen_address: 'here'");
  contains(error_of([](auto& options) { options.tick_time = 1ms; }),
           "network: tick_time: 1ms is outside 1s..1440min");
  contains(error_of([](auto& options) { options.max_term_depth = 0; }), "max_term_depth: 0");
  contains(error_of([](auto& options) {
             options.cookie.clear();
             options.cookie_file = "/nowhere/at/all";
           }),
           "/nowhere/at/all");
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("ergon_cookie_{}", ::getpid());
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  contains(error_of([&](auto& options) {
             options.cookie.clear();
             options.cookie_file = folder.string();
           }),
           ": cannot be read: Is a directory");
  std::filesystem::remove(folder);
  contains(error_of([](auto& options) {
             options.tls = TlsOptions{"no.pem", "no.pem", "no.pem"};
           }),
           "certificate_file 'no.pem'");
  contains(error_of([](auto& options) { options.epmd_port = 1; }), "EPMD");
}

}  // namespace ergon::dist
