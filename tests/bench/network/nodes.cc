#include <bench/network/nodes.h>

#include <chrono>
#include <functional>
#include <future>
#include <iostream>
#include <stdexcept>
#include <utility>

#include <ergon/act/actor.h>
#include <ergon/node/erlang.h>
#include <ergon/node/node.h>

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

class Server final : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (message.Is<std::string>()) ++count_;
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
node::Node StartNode(const std::string& name) {
  gen::NodeOptions options;
  options.network = dist::Erlang({.start_epmd = false});
  return Must(node::Start(name, options));
}

// What a process measures that gets the PID of `server` on the peer.
double MeasureInProcess(const std::string& name, const std::string& peer, const char* server,
                        const std::function<double(gen::Process&, gen::PID)>& measure) {
  node::Node node = StartNode(name);
  std::promise<double> outcome;
  Must(node.Spawn([&](gen::Process& self) {
    try {
      const gen::ProcessID to{gen::Atom(server), gen::Atom(peer)};
      outcome.set_value(measure(self, Must(self.Call<gen::PID>(to, gen::Atom("self")))));
    } catch (...) {
      outcome.set_exception(std::current_exception());
    }
  }));
  const double measured = outcome.get_future().get();
  node.Stop();
  return measured;
}

double NanosecondsOfOne(Clock::time_point start, std::int64_t count) {
  const std::chrono::duration<double, std::nano> time = Clock::now() - start;
  return time.count() / static_cast<double>(count);
}

}  // namespace

void Serve(const std::string& name) {
  node::Node node = StartNode(name);
  Must(node.SpawnRegister("echo", gen::Factory<Server>()));
  Must(node.SpawnRegister("counter", gen::Factory<Server>()));
  std::cout << "ready" << std::endl;  // NOLINT(performance-avoid-endl): somebody waits for it
  while (std::cin.get() != std::istream::traits_type::eof()) {
  }
}

double MeasureCalls(const std::string& name, const std::string& peer, std::int64_t count) {
  return MeasureInProcess(name, peer, "echo", [&](gen::Process& self, gen::PID echo) {
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

double MeasureStream(const std::string& name, const std::string& peer, std::int64_t count) {
  return MeasureInProcess(name, peer, "counter", [&](gen::Process& self, gen::PID counter) {
    const std::string payload(kPayloadBytes, 'x');
    const auto send = [&](std::int64_t messages) {
      // A Send that finds too much waiting for the peer suspends the process until there is room.
      for (std::int64_t i = 0; i < messages; ++i) Must(self.Send(counter, payload));
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

}  // namespace ergon::bench
