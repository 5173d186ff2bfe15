// A C++ pool inside an Erlang cluster. In a terminal:
//   erl -name shell@127.0.0.1 -setcookie secret
//   1> gen_server:call({words, 'cpp@127.0.0.1'}, {count, <<"to be or not to be">>}).
//   {ok,6}
#include <csignal>
#include <sstream>
#include <string>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/node/erlang.h>
#include <ergon/node/node.h>

using namespace ergon;

struct Count {  // {count, <<"...">>}
  std::string text;
  static constexpr const char* kTag = "count";
  template <class Archive>
  void serialize(Archive& archive) {  // cereal: one description for every wire
    archive(text);
  }
};
struct Counted {  // {ok, N}
  int words = 0;
  static constexpr const char* kTag = "ok";
  template <class Archive>
  void serialize(Archive& archive) {
    archive(words);
  }
};

class WordWorker : public act::Actor {
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (auto* count = request.As<Count>()) {
      std::istringstream text(count->text);
      Counted counted;
      for (std::string word; text >> word;) ++counted.words;
      return gen::Reply(counted);
    }
    return Actor::HandleCall(from, ref, request);
  }
};

class WordPool : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{
        .pool_size = 4, .worker_factory = gen::Factory<WordWorker>(), .worker_mailbox_size = 1000};
  }
};

int main() {
  std::signal(SIGPIPE, SIG_IGN);  // who reads the log may go: that is an error of a write
  gen::NodeOptions options;
  options.network = dist::Erlang({.cookie = "secret"});
  options.types.Register<Count>().Register<Counted>();
  auto node = node::Start("cpp@127.0.0.1", options).value();
  node.SpawnRegister("words", gen::Factory<WordPool>()).value();
  node.WaitForSignal().value();  // SIGINT and SIGTERM stop the node gracefully
}
