// Lines of the log as objects of JSON.
#include <chrono>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <ergon/act/pool.h>

#include <node/observer/json.h>
#include <node/subject.h>

namespace ergon::node::log_record_test {

using observer_test::Tree;

const gen::NodeOptions kJson{.log_level = gen::LogLevel::kTrace,
                             .log_format = gen::LogFormat::kJson};

// Throws for what is no JSON.
Tree Parse(const std::string& line) {
  CHECK(line.find('\n') == std::string::npos);
  std::istringstream stream(line);
  Tree tree;
  boost::property_tree::read_json(stream, tree);
  return tree;
}
std::string Keys(const Tree& tree) {
  std::string keys;
  for (const auto& [key, unused] : tree) keys += key + " ";
  return keys;
}
std::string Get(const Tree& tree, const char* key) { return tree.get<std::string>(key); }
// The one line with that text.
Tree LineWith(const TestNode& t, const std::string& text) {
  Tree found;
  int count = 0;
  for (const auto& line : t.log.Lines()) {
    Tree tree = Parse(line.text);
    if (Get(tree, "text") != text) continue;
    CHECK(Get(tree, "level") == ToString(line.level));
    found = std::move(tree);
    ++count;
  }
  REQUIRE(count == 1);
  return found;
}

TEST_CASE(
    "log in JSON: a line of each level, of a process that handles something with a trace id") {
  TestNode t(kJson);
  const gen::PID pid =
      t.node
          .SpawnRegister("teller", Make({.message =
                                             [](Subject& self, gen::PID, gen::Message&) {
                                               self.Log().Trace("T");
                                               self.Log().Debug("D");
                                               self.Log().Info("I {}", 7);
                                               self.Log().Warning("W");
                                               self.Log().Error("E");
                                               self.Log().Panic("P");
                                               return gen::Stop(gen::Reason::Normal());
                                             }}))
          .value();
  CHECK(t.node.SendTraced(pid, std::string("job"), 255));
  CHECK(t.Ended(pid));
  const std::vector<std::pair<std::string, std::string>> levels = {
      {"T", "trace"},   {"D", "debug"}, {"I 7", "info"},
      {"W", "warning"}, {"E", "error"}, {"P", "panic"}};
  for (const auto& [text, level] : levels) {
    const Tree line = LineWith(t, text);
    CHECK(Keys(line) == "time level node pid name behavior trace message text ");
    CHECK(Get(line, "level") == level);
    CHECK(Get(line, "node") == "test@localhost");
    CHECK(Get(line, "pid") == pid.ToString());
    CHECK(Get(line, "name") == "teller");
    CHECK(Get(line, "behavior") == "ergon::node::Subject");
    CHECK(Get(line, "trace") == "00000000000000ff");
    CHECK(Get(line, "message") == core::TypeOf<std::string>()->TagOrName());
  }
}

TEST_CASE("log in JSON: what is not known is left out") {
  class Logging : public act::Pool {
    gen::Result<act::PoolOptions> Init(const gen::Args&) override {
      return act::PoolOptions{.pool_size = 1,
                              .worker_factory = Make({.init = [](Subject& self, const gen::Args&) {
                                self.Log().Info("begins");
                                return gen::Continue();
                              }})};
    }
  };
  TestNode t(kJson);
  t.node.Log().Info("of the node");
  CHECK(Keys(LineWith(t, "of the node")) == "time level node text ");
  CHECK(t.node.SpawnRegister("loggers", gen::Factory<Logging>()));
  const Tree worker = LineWith(t, "begins");
  CHECK(Keys(worker) == "time level node pid behavior pool text ");
  CHECK(Get(worker, "pool") == "loggers");
}

TEST_CASE("log in JSON: any bytes are a line of valid JSON, of any length") {
  gen::NodeOptions options = kJson;
  options.watchdog_after = 0ns;  // which has lines of its own
  TestNode t(options);
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const std::string text = "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \"\\/\b\f\n\r\t\x7f";
  const std::string cut = "\xe2\x82";            // a character without its end
  const std::string surrogate = "\xed\xa0\x80";  // of UTF-16
  const std::string line(100'000, 'x');
  for (const std::string& each : {bytes, text, cut, surrogate, line}) t.node.Log().Info("{}", each);
  const auto lines = t.log.Lines();
  REQUIRE(lines.size() == 5);
  std::string replaced = bytes.substr(0, 128);
  for (int i = 0; i < 128; ++i) replaced += "\xef\xbf\xbd";
  CHECK(Get(Parse(lines[0].text), "text") == replaced);
  CHECK(Get(Parse(lines[1].text), "text") == text);
  CHECK(Get(Parse(lines[2].text), "text") == "\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(Get(Parse(lines[3].text), "text") == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(Get(Parse(lines[4].text), "text") == line);
}

TEST_CASE("log in JSON: the time is that of the node's wall clock, in UTC") {
  gen::NodeOptions options = kJson;
  options.wall_clock = [] {
    using namespace std::chrono;  // NOLINT(google-build-using-namespace)
    return system_clock::time_point(sys_days(2024y / February / 29) + 13h + 5min + 9s + 1234us);
  };
  TestNode t(options);
  t.node.Log().Info("a day of few years");
  CHECK(Get(LineWith(t, "a day of few years"), "time") == "2024-02-29T13:05:09.001234Z");
}

TEST_CASE("log in JSON: a format that is none is refused") {
  auto node = Start("test@localhost", {.log_format = static_cast<gen::LogFormat>(2)});
  REQUIRE(!node);
  CHECK(node.error().detail() == "log_format: 2, must be a LogFormat");
}

TEST_CASE("log as text: what users write does not look like another line, and moves no cursor") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  const std::string forged =
      "key x\n2026-01-01 00:00:00 error <a@b.1.1> all is lost\r\x1b[2J\x7f\tend \xC3\xA9 \xC2\xA9 "
      "\xC2\x9B";
  CHECK(t.Run(pid, [&](Subject& self) { self.Log().Info("no {}", forged); }));
  t.node.Log().Warning("{}", forged);
  for (const std::string begin : {"no ", ": "}) {
    CHECK(t.log.Count(begin +
                      "key x\n    2026-01-01 00:00:00 error <a@b.1.1> all is lost\\x0d\\x1b[2J"
                      "\\x7f\tend \xC3\xA9 \xC2\xA9 \\x9b") == 1);
  }
}

}  // namespace ergon::node::log_record_test
