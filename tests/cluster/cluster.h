// Nodes of one cluster in one program, with an EPMD of their own.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ergon/act/actor.h>
#include <ergon/node/erlang.h>
#include <ergon/node/node.h>

#include <kit/balance.h>
#include <kit/eventually.h>
#include <kit/log_capture.h>

namespace ergon::dist {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

// The port mapper, as a child of this program; it ends with it.
class Epmd {
 public:
  // At the first port from that one on which nobody has: another test's EPMD may be there.
  explicit Epmd(int first_port) : port_(first_port) {
    while (!Begins()) REQUIRE(++port_ < first_port + 100);
  }
  ~Epmd() { Stop(); }
  Epmd(const Epmd&) = delete;
  Epmd& operator=(const Epmd&) = delete;

  // Once more, at the same port.
  void Start() { REQUIRE(Begins()); }
  void Stop() {
    if (child_ == 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  [[nodiscard]] int port() const noexcept { return port_; }

  // That of the test program.
  static Epmd& OfThisProgram() {
    static Epmd epmd(20'000 + ::getpid() % 6'000);
    return epmd;
  }

 private:
  // False: the port is another's, to whom nodes would talk.
  [[nodiscard]] bool Begins() {
    if (Answers()) return false;
    std::string number = std::to_string(port_);
    char* arguments[] = {const_cast<char*>("epmd"), const_cast<char*>("-port"), number.data(),
                         nullptr};
    REQUIRE(::posix_spawnp(&child_, "epmd", nullptr, nullptr, arguments, environ) == 0);
    if (!kit::Eventually([&] { return HasEnded() || Answers(); })) {
      Stop();
      FAIL("EPMD does not listen at port ", number);
    }
    return !HasEnded();
  }
  // Somebody listens at the port.
  [[nodiscard]] bool Answers() const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool answers =
        ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    return answers;
  }
  // As EPMD does at once if it cannot have the port.
  [[nodiscard]] bool HasEnded() {
    if (child_ != 0 && ::waitpid(child_, nullptr, WNOHANG) == child_) child_ = 0;
    return child_ == 0;
  }

  int port_;
  pid_t child_ = 0;
};

[[nodiscard]] inline ErlangOptions ClusterOptions() {
  ErlangOptions options;
  options.cookie = "secret";
  options.epmd_port = Epmd::OfThisProgram().port();
  options.start_epmd = false;
  return options;
}

struct Line {  // {line, N, Text}
  static constexpr const char* kTag = "line";
  int number = 0;
  std::string text;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, text);
  }
};
struct Sum {  // {sum, [N]}
  using Reply = std::int64_t;
  static constexpr const char* kTag = "sum";
  std::vector<int> numbers;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(numbers);
  }
};

// A node of the cluster; names are unique in the test program.
inline gen::Result<node::Node> TryStart(const std::string& name, kit::LogCapture& log,
                                        const ErlangOptions& network = ClusterOptions(),
                                        gen::NodeOptions options = {}) {
  options.network = Erlang(network);
  options.types.Register<Line>().Register<Sum>();
  gen::Result<node::Node> node = gen::ErrNoConnection;
  // EPMD may be slow to answer when the machine has much to do.
  for (int attempt = 0; attempt < 200; ++attempt) {
    node = node::Start(name, log.Into(options));
    if (node || node.error() != gen::ErrNoConnection) break;
    std::this_thread::sleep_for(20ms);
  }
  return node;
}

// Two nodes of one cluster; checks at the end that neither has lost a message without a count.
class Cluster {
 public:
  explicit Cluster(const std::string& names, const ErlangOptions& options = ClusterOptions())
      : a(Start(names + "a@127.0.0.1", log_a, options)),
        b(Start(names + "b@127.0.0.1", log_b, options)) {}
  ~Cluster() {
    a.Stop();
    b.Stop();
    kit::CheckBalance(a);
    kit::CheckBalance(b);
  }
  [[nodiscard]] gen::ProcessID OnB(const char* name) const {
    return gen::ProcessID{gen::Atom(name), b.Name()};
  }

  // EPMD may not know yet that a node of an earlier part of the test, with this name, has ended.
  static node::Node Start(const std::string& name, kit::LogCapture& log,
                          const ErlangOptions& options) {
    gen::Result<node::Node> started = gen::ErrTaken;
    REQUIRE(kit::Eventually([&] {
      started = TryStart(name, log, options);
      return started || started.error() != gen::ErrTaken;
    }));
    return std::move(started).value();
  }

  kit::LogCapture log_a;
  kit::LogCapture log_b;
  node::Node a;
  node::Node b;
};

// What a process of `node` does there; what it throws is thrown here.
inline void InProcess(node::Node& node, const std::function<void(gen::Process&)>& does) {
  std::promise<void> done;
  auto* const told = &done;
  const auto pid = node.Spawn([&does, told](gen::Process& self) {
    try {
      does(self);
      told->set_value();
    } catch (...) {
      told->set_exception(std::current_exception());
    }
  });
  REQUIRE(pid);
  done.get_future().get();
  CHECK(node.WaitProcess(*pid));
}

}  // namespace ergon::dist
