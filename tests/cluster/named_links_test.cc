// Links by a name or an alias of another Ergon node: they end as those of one node do.
#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/foreign_aliases.h>
#include <ergon/node/erlang/terms/writer.h>

#include <cluster/client.h>
#include <cluster/cluster.h>

namespace ergon::dist::named_links_test {
namespace {

// What two linked processes tell, one after the other.
class Words {
 public:
  void Add(std::string word) {
    std::lock_guard lock(mutex_);
    words_.push_back(std::move(word));
  }
  [[nodiscard]] std::vector<std::string> All() {
    std::lock_guard lock(mutex_);
    return words_;
  }
  [[nodiscard]] bool Has(const std::string& word) {
    const auto all = All();
    return std::find(all.begin(), all.end(), word) != all.end();
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> words_;
};

// A process of `node` that tells of each exit signal, and ends when it is told to by a line, with its text as the
// reason.
gen::PID SpawnTelling(node::Node& node, Words& words, const char* name, gen::Alias* alias = nullptr,
                      const std::function<void(gen::Process&)>& first = {}) {
  std::promise<void> is_ready;
  auto* const ready = &is_ready;
  const gen::PID pid =
      node.Spawn([&words, name = std::string(name), alias, first, ready](gen::Process& self) {
            self.SetTrapExit(true);
            if (alias != nullptr) *alias = self.CreateAlias().value();
            if (first) first(self);
            ready->set_value();
            for (;;) {
              auto got = self.Receive<Line, gen::MessageExitPID, gen::MessageExitProcessID,
                                      gen::MessageExitAlias>(1min);
              if (!got) return gen::Reason::Error(got.error().ToString());
              if (auto* line = std::get_if<Line>(&*got)) {
                if (line->number != 0) {
                  words.Add(name + ": line");
                  continue;
                }
                return gen::Reason::Error(line->text);
              }
              if (auto* exit = std::get_if<gen::MessageExitPID>(&*got)) {
                words.Add(name + ": exit of a PID, " + exit->reason.ToString());
              } else if (auto* named = std::get_if<gen::MessageExitProcessID>(&*got)) {
                words.Add(name + ": exit of " + named->process_id.ToString() + ", " +
                          named->reason.ToString());
              } else {
                words.Add(name + ": exit of an alias, " +
                          std::get<gen::MessageExitAlias>(*got).reason.ToString());
              }
            }
          })
          .value();
  is_ready.get_future().get();
  return pid;
}

// What goes to a process there after a link, and has come: the link is known there, too.
void AwaitLine(node::Node& from, gen::PID to, Words& words, const std::string& word) {
  CHECK(from.SendImportant(to, Line{1, {}}));
  REQUIRE(kit::Eventually([&] { return words.Has(word + ": line"); }));
}

}  // namespace

TEST_CASE("named links: the end of who has the name or the alias is told to the maker") {
  Words words;  // the nodes end first
  Cluster cluster("named_end");
  gen::Alias alias;
  const gen::PID named = SpawnTelling(cluster.b, words, "b");
  REQUIRE(cluster.b.RegisterName("linked", named));
  const gen::PID aliased = SpawnTelling(cluster.b, words, "c", &alias);
  const gen::PID maker = SpawnTelling(cluster.a, words, "a", nullptr, [&](gen::Process& self) {
    self.Link(cluster.OnB("linked")).value();
    self.Link(cluster.OnB("linked")).value();  // twice is once
    self.Link(alias).value();
  });
  CHECK(cluster.a.Send(named, Line{0, "over"}));
  CHECK(kit::Eventually([&] { return words.All().size() == 1; }));
  CHECK(cluster.a.Send(aliased, Line{0, "tired"}));
  CHECK(kit::Eventually([&] { return words.All().size() == 2; }));
  CHECK(words.All() ==
        std::vector<std::string>{"a: exit of " + cluster.OnB("linked").ToString() + ", over",
                                 "a: exit of an alias, tired"});
  CHECK(cluster.a.SendExit(maker, gen::Reason::Kill()));
}

TEST_CASE("named links: one that is made again after very many other aliases is the same") {
  Words words;  // the nodes end first
  Cluster cluster("again");
  gen::Alias alias;
  const gen::PID aliased = SpawnTelling(cluster.b, words, "c", &alias);
  const gen::PID maker = SpawnTelling(cluster.a, words, "a", nullptr, [&](gen::Process& self) {
    self.Link(alias).value();
    const gen::PID before = node::PidOfAlias(alias);
    for (std::uint64_t i = 1; i <= node::kMostForeignAliases; ++i) {
      (void)node::PidOfAlias(gen::Alias{alias.id + i, alias.node, alias.creation});
    }
    CHECK(node::PidOfAlias(alias) != before);
    self.Link(alias).value();
  });
  CHECK(cluster.a.Send(aliased, Line{0, "tired"}));
  CHECK(kit::Eventually([&] { return !words.All().empty(); }));
  AwaitLine(cluster.b, maker, words, "a");  // after all that was told of the link
  CHECK(words.All() == std::vector<std::string>{"a: exit of an alias, tired", "a: line"});
}

TEST_CASE("named links: the end of the maker is told to who has the name or the alias") {
  Words words;  // the nodes end first
  Cluster cluster("maker_end");
  gen::Alias alias;
  REQUIRE(cluster.b.RegisterName("linked", SpawnTelling(cluster.b, words, "b")));
  (void)SpawnTelling(cluster.b, words, "c", &alias);
  const gen::PID maker = SpawnTelling(cluster.a, words, "a", nullptr, [&](gen::Process& self) {
    self.Link(cluster.OnB("linked")).value();
    self.Link(alias).value();
  });
  CHECK(cluster.a.Send(maker, Line{0, "over"}));
  CHECK(kit::Eventually([&] { return words.All().size() == 2; }));
  CHECK(words.Has("b: exit of a PID, over"));
  CHECK(words.Has("c: exit of a PID, over"));
}

TEST_CASE("named links: one ends with the name, and who had that hears no more of the maker") {
  Words words;  // the nodes end first
  Cluster cluster("given_up");
  const gen::PID named = SpawnTelling(cluster.b, words, "b");
  REQUIRE(cluster.b.RegisterName("linked", named));
  const gen::PID maker = SpawnTelling(cluster.a, words, "a", nullptr, [&](gen::Process& self) {
    self.Link(cluster.OnB("linked")).value();
  });
  AwaitLine(cluster.a, named, words, "b");
  REQUIRE(cluster.b.UnregisterName("linked"));
  CHECK(kit::Eventually([&] {
    return words.Has("a: exit of " + cluster.OnB("linked").ToString() + ", unregistered");
  }));
  CHECK(cluster.a.Send(maker, Line{0, "over"}));
  CHECK(cluster.a.WaitProcess(maker));
  CHECK(cluster.a.SendImportant(named, Line{1, {}}));
  CHECK(words.All().size() <= 3);
  CHECK_FALSE(words.Has("b: exit of a PID, over"));
}

TEST_CASE("named links: either of the two can end one, and nobody hears of it") {
  Words words;  // the nodes end first
  Cluster cluster("named_unlink");
  const gen::PID named = SpawnTelling(cluster.b, words, "b");
  REQUIRE(cluster.b.RegisterName("linked", named));
  gen::PID maker;
  SUBCASE("the maker") {
    maker = SpawnTelling(cluster.a, words, "a", nullptr, [&](gen::Process& self) {
      self.Link(cluster.OnB("linked")).value();
      self.Unlink(cluster.OnB("linked")).value();
    });
    AwaitLine(cluster.a, named, words, "b");
  }
  SUBCASE("the other one") {
    std::promise<void> linked;
    std::atomic<bool> done{false};
    const gen::PID second = cluster.b
                                .Spawn([&](gen::Process& self) {
                                  REQUIRE(cluster.b.RegisterName("second", self.Self()));
                                  linked.set_value();
                                  (void)self.Receive<Line>(1min);
                                  self.Unlink(maker).value();
                                  (void)self.SendImportant(maker, Line{1, {}});
                                  done = true;
                                  return gen::Reason::Error("over");
                                })
                                .value();
    linked.get_future().get();
    // The maker links itself with the second one, which unlinks itself.
    (void)SpawnTelling(cluster.a, words, "a", nullptr, [&](gen::Process& self) {
      maker = self.Self();
      self.Link(gen::ProcessID{"second", cluster.b.Name()}).value();
      CHECK(self.SendImportant(second, Line{1, {}}));
    });
    CHECK(kit::Eventually([&] { return done.load(); }));
    CHECK(cluster.b.WaitProcess(second));
    REQUIRE(kit::Eventually([&] { return words.Has("a: line"); }));
  }
  CHECK(cluster.a.Send(named, Line{0, "over"}));
  CHECK(cluster.b.WaitProcess(named));
  CHECK(cluster.a.Send(maker, Line{0, "tired"}));
  CHECK(cluster.a.WaitProcess(maker));
  for (const std::string& word : words.All()) CHECK(word.find("exit") == std::string::npos);
}

TEST_CASE("named links: a name that nobody has, and a lost connection, are told to both once") {
  Words words;  // the nodes end first
  Cluster cluster("named_lost");
  const gen::PID named = SpawnTelling(cluster.b, words, "b");
  REQUIRE(cluster.b.RegisterName("linked", named));
  (void)SpawnTelling(cluster.a, words, "x", nullptr,
                     [&](gen::Process& self) { self.Link(cluster.OnB("nobody")).value(); });
  CHECK(kit::Eventually(
      [&] { return words.Has("x: exit of " + cluster.OnB("nobody").ToString() + ", noproc"); }));
  (void)SpawnTelling(cluster.a, words, "a", nullptr,
                     [&](gen::Process& self) { self.Link(cluster.OnB("linked")).value(); });
  AwaitLine(cluster.a, named, words, "b");
  CHECK(Disconnect(cluster.a, cluster.b.Name()));
  CHECK(kit::Eventually([&] {
    return words.Has("a: exit of " + cluster.OnB("linked").ToString() + ", noconnection") &&
           words.Has("b: exit of a PID, noconnection");
  }));
  // What is made anew is another link.
  (void)SpawnTelling(cluster.a, words, "again", nullptr, [&](gen::Process& self) {
    self.Link(cluster.OnB("linked")).value();
    CHECK(self.SendImportant(named, Line{1, {}}));
    CHECK(Disconnect(cluster.a, cluster.b.Name()));
    const auto lost = self.Receive<gen::MessageExitProcessID>(1min);
    CHECK(lost.value().reason == gen::Reason::NoConnection());
    self.Link(cluster.OnB("linked")).value();
    CHECK(self.SendImportant(named, Line{1, {}}));
  });
  CHECK(cluster.a.Send(named, Line{0, "over"}));
  CHECK(kit::Eventually(
      [&] { return words.Has("again: exit of " + cluster.OnB("linked").ToString() + ", over"); }));
}

TEST_CASE("named links: an Ergon node that is too old for them says so, and the maker is told") {
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  kit::LogCapture log;
  auto node = TryStart("young@127.0.0.1", log, options).value();
  Client old(static_cast<std::uint16_t>(options.listen_port));
  REQUIRE(old.ShakeHands("old@127.0.0.1", "young@127.0.0.1"));
  REQUIRE(kit::Eventually([&] { return Nodes(node).size() == 1; }));
  std::atomic<bool> is_told{false};
  const gen::PID maker =
      node.Spawn([&](gen::Process& self) {
            self.SetTrapExit(true);
            if (!self.Link(gen::ProcessID{"anybody", "old@127.0.0.1"})) return;
            const auto exit = self.Receive<gen::MessageExitProcessID>(20s);
            is_told = exit && exit->reason.ToString().find("too old") != std::string::npos;
          })
          .value();
  std::string said;
  std::string_view reference;  // stands behind the word
  for (;;) {
    said += old.Read();
    const std::size_t at = said.find("link");
    if (at == std::string::npos) continue;
    if (ControlReader(std::string_view(said).substr(at + 4), 100).ReadReference(reference)) break;
  }
  std::string answer;
  TermWriter writer(answer);
  writer.Tuple(2);
  writer.Raw(reference);
  AppendError(answer, gen::Error(gen::ErrorCode::kUnsupported, "it is too old for that"));
  std::string frame;
  AppendFrame(frame,
              {.kind = SignalKind::kSendToAlias,
               .from = {7, "old@127.0.0.1", 77},
               .ref = reference,
               .payload = answer},
              kOwnFlags);
  old.Write(frame);
  CHECK(node.WaitProcess(maker));
  CHECK(is_told);
  node.Stop();
  kit::CheckBalance(node);
}

TEST_CASE("named links: who does not trap exits ends with the other one") {
  Words words;  // the nodes end first
  Cluster cluster("named_die");
  const gen::PID named = SpawnTelling(cluster.b, words, "b");
  REQUIRE(cluster.b.RegisterName("linked", named));
  std::promise<void> linked;
  const gen::PID maker = cluster.a
                             .Spawn([&](gen::Process& self) {
                               self.Link(cluster.OnB("linked")).value();
                               linked.set_value();
                               (void)self.Sleep(1h);
                             })
                             .value();
  linked.get_future().get();
  CHECK(cluster.a.Send(named, Line{0, "over"}));
  CHECK(cluster.a.WaitProcess(maker));
}

}  // namespace ergon::dist::named_links_test
