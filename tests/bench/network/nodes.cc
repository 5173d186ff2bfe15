#include <bench/network/nodes.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/node/cereal.h>
#include <ergon/node/erlang.h>
#include <ergon/node/node.h>

#include <cluster/victim.h>

namespace ergon::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr gen::CallOptions kPatient{.timeout = std::chrono::minutes(5)};

template <class T>
T Must(gen::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().ToString());
  return std::move(*result);
}
void Must(const gen::Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().ToString());
}

struct Reading {
  static constexpr const char* kTag = "reading";
  std::int64_t sensor = 12345;
  std::int64_t time = 1'700'000'000'000;
  double value = 21.5;
  std::string unit = std::string(kPayloadBytes, 'x');
  template <class Archive>
  void serialize(Archive& archive) {
    archive(sensor, time, value, unit);
  }
};
struct PackedReading : Reading {};

class Server final : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (message.Is<std::string>() || message.Is<Reading>() || message.Is<PackedReading>()) {
      ++count_;
    }
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    if (auto* binary = request.As<std::string>()) return gen::Reply(std::move(*binary));
    const auto* word = request.As<gen::Atom>();
    if (word != nullptr && *word == gen::Atom("self")) return gen::Reply(Self());
    if (word != nullptr && *word == gen::Atom("count")) {
      return gen::Reply(std::exchange(count_, 0));
    }
    return gen::ReplyError(gen::ErrUnsupported);
  }

  std::int64_t count_ = 0;
};

// The cookie is that of the environment.
node::Node StartNode(const std::string& name, std::uint16_t port = 0) {
  constexpr std::size_t kMuch = 100'000;
  dist::ErlangOptions network{.start_epmd = false};
  network.listen_port = port;
  network.max_frame_bytes = 1024 * 1024;
  const std::size_t more_than_a_frame = network.max_frame_bytes + 1;
  network.functions.Register("words", "much", [] { return std::string(kMuch, 'x'); });
  network.functions.Register("words", "huge", [=] { return std::string(more_than_a_frame, 'x'); });
  gen::NodeOptions options;
  options.network = dist::Erlang(network);
  options.types.Register<Reading>().Register<dist::Cereal<PackedReading>>();
  return Must(node::Start(name, options));
}

// What a process measures that gets the PID of `server` on the peer.
template <class T>
T MeasureInProcess(const std::string& name, const std::string& peer, const char* server,
                   const std::function<T(gen::Process&, gen::PID)>& measure) {
  node::Node node = StartNode(name);
  std::promise<T> outcome;
  Must(node.Spawn([&](gen::Process& self) {
    try {
      const gen::ProcessID to{gen::Atom(server), gen::Atom(peer)};
      outcome.set_value(measure(self, Must(self.Call<gen::PID>(to, gen::Atom("self")))));
    } catch (...) {
      outcome.set_exception(std::current_exception());
    }
  }));
  T measured = outcome.get_future().get();
  node.Stop();
  return measured;
}

double NanosecondsOfOne(Clock::time_point start, std::int64_t count) {
  const std::chrono::duration<double, std::nano> time = Clock::now() - start;
  return time.count() / static_cast<double>(count);
}

template <class Message>
double MeasureStreamOf(const std::string& name, const std::string& peer, const Message& message,
                       std::int64_t count) {
  return MeasureInProcess<double>(name, peer, "counter", [&](gen::Process& self, gen::PID counter) {
    const auto send = [&](std::int64_t messages) {
      // A Send that finds too much waiting for the peer suspends the process until there is room.
      for (std::int64_t i = 0; i < messages; ++i) Must(self.Send(counter, message));
      if (Must(self.Call<std::int64_t>(counter, gen::Atom("count"), kPatient)) != messages) {
        throw std::runtime_error("messages are missing");
      }
    };
    send(count / 10);
    const Clock::time_point start = Clock::now();
    send(count);
    return NanosecondsOfOne(start, count);
  });
}

}  // namespace

void Serve(const std::string& name, std::uint16_t port) {
  node::Node node = StartNode(name, port);
  Must(node.SpawnRegister("echo", gen::Factory<Server>()));
  Must(node.SpawnRegister("counter", gen::Factory<Server>()));
  Must(node.SpawnRegister(dist::kVictim, gen::Factory<dist::Victim>()));
  Must(node.SpawnRegister(dist::kLured, gen::Factory<dist::Lured>()));
  std::cout << "ready" << std::endl;  // NOLINT(performance-avoid-endl): somebody waits for it
  while (std::cin.get() != std::istream::traits_type::eof()) {
  }
}

double MeasureCalls(const std::string& name, const std::string& peer, std::int64_t count) {
  return MeasureInProcess<double>(name, peer, "echo", [&](gen::Process& self, gen::PID echo) {
    const std::string payload(kPayloadBytes, 'x');
    const auto call = [&](std::int64_t times) {
      for (; times > 0; --times) {
        if (Must(self.Call<std::string>(echo, payload)) != payload) {
          throw std::runtime_error("an answer is not the request");
        }
      }
    };
    call(count / 10);
    const Clock::time_point start = Clock::now();
    call(count);
    return NanosecondsOfOne(start, count);
  });
}

Latency MeasureLatency(const std::string& name, const std::string& peer, std::int64_t count) {
  constexpr std::int64_t kCallsOfAConnection = 100;
  return MeasureInProcess<Latency>(name, peer, "echo", [&](gen::Process& self, gen::PID echo) {
    const std::string payload(kPayloadBytes, 'x');
    Latency measured;
    std::vector<double> times;
    for (std::int64_t i = 0; i < count; ++i) {
      if (i % kCallsOfAConnection == kCallsOfAConnection - 1) {
        dist::Disconnect(self.Node(), gen::Atom(peer));
        while (!dist::Nodes(self.Node()).empty()) (void)self.Sleep(std::chrono::milliseconds(1));
        ++measured.connects;
        const Clock::time_point begin = Clock::now();
        if (!dist::Ping(self, gen::Atom(peer), kPatient)) ++measured.failed_connects;
        measured.longest_connect = std::max(measured.longest_connect, NanosecondsOfOne(begin, 1));
      }
      const Clock::time_point start = Clock::now();
      const auto answer = self.Call<std::string>(echo, payload, kPatient);
      if (answer && *answer == payload) times.push_back(NanosecondsOfOne(start, 1));
    }
    measured.answered = static_cast<std::int64_t>(times.size());
    if (times.empty()) throw std::runtime_error("no call is answered");
    std::sort(times.begin(), times.end());
    measured.p50 = times[times.size() / 2];
    measured.p99 = times[times.size() * 99 / 100];
    measured.most = times.back();
    return measured;
  });
}

double MeasureStream(const std::string& name, const std::string& peer, const std::string& what,
                     std::int64_t count) {
  if (what == "terms") return MeasureStreamOf(name, peer, Reading(), count);
  if (what == "packed") return MeasureStreamOf(name, peer, PackedReading(), count);
  return MeasureStreamOf(name, peer, std::string(kPayloadBytes, 'x'), count);
}

}  // namespace ergon::bench
