// A pool of C++ beside an Erlang system: it counts words, and prices orders. dialogue.sh starts both sides and prints
// what they say to each other; cpp_pool.erl starts this program as a child of an Erlang supervisor.
//
//   RELEASE_COOKIE=secret erlang_pool cpp@127.0.0.1
//
// It ends with SIGTERM, or when its standard input ends.
#include <csignal>
#include <cstdint>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/node/end_of_input.h>
#include <ergon/node/erlang.h>
#include <ergon/node/node.h>

namespace {

using namespace ergon;  // NOLINT(google-build-using-namespace)

struct Counted {  // {ok, N}
  static constexpr const char* kTag = "ok";
  int words = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(words);
  }
};
struct Count {  // {count, <<"...">>}
  using Reply = Counted;
  static constexpr const char* kTag = "count";
  std::string text;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text);
  }
};

struct Item {  // #{name => <<"tea">>, price => 250}
  std::string name;
  std::int64_t price = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(dist::Field("name", name), dist::Field("price", price));
  }
};
struct Order {  // #{customer => <<"Ann">>, items => [...]}
  std::string customer;
  std::vector<Item> items;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(dist::Field("customer", customer), dist::Field("items", items));
  }
};

class Worker : public act::Actor {
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (auto* count = request.As<Count>()) {
      std::istringstream text(count->text);
      Counted counted;
      for (std::string word; text >> word;) ++counted.words;
      return gen::Reply(counted);
    }
    if (auto* order = request.As<Order>()) {
      std::int64_t total = 0;
      for (const Item& item : order->items) {
        if (__builtin_add_overflow(total, item.price, &total)) {
          return gen::ReplyError(gen::Error("the sum does not fit"));
        }
      }
      return gen::Reply(total);
    }
    if (request.Is<gen::Atom>())
      throw std::runtime_error("a bug");  // any atom: see dialogue.escript
    return Actor::HandleCall(from, ref, request);
  }
};

class Words : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{
        .pool_size = 4, .worker_factory = gen::Factory<Worker>(), .worker_mailbox_size = 1000};
  }
};

}  // namespace

int main(int count, char** arguments) {
  // Who reads the output or the log may go: that is an error of a write.
  std::signal(SIGPIPE, SIG_IGN);
  const std::string_view name = count == 2 ? arguments[1] : "";
  const bool is_help = name == "--help" || name == "-h";
  if (count != 2 || is_help) {
    (is_help ? std::cout : std::cerr)
        << "usage: erlang_pool NAME, as in: RELEASE_COOKIE=secret erlang_pool cpp@127.0.0.1\n";
    return is_help ? 0 : 2;
  }
  gen::NodeOptions options;
  // The cookie: RELEASE_COOKIE, or ~/.erlang.cookie. Erlang's etop and observer may look at it.
  options.network = dist::Erlang({.observable = true});
  options.types.Register<Count>().Register<Counted>().Register<Order>().Register<Item>();
  options.stop_on_signal = true;
  auto node = node::Start(arguments[1], options);
  if (!node) {
    std::cerr << "erlang_pool: " << node.error().ToString() << '\n';
    return 1;
  }
  const auto pool = node->SpawnRegister("words", gen::Factory<Words>());
  if (!pool) {
    std::cerr << "erlang_pool: " << pool.error().ToString() << '\n';
    return 1;
  }
  const auto watch = node::StopAtEndOfInput(*node);
  if (!watch) {
    std::cerr << "erlang_pool: " << watch.error().ToString() << '\n';
    return 1;
  }
  node->Wait();
}
