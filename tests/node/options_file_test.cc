#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>

#include <ergon/gen/process_options.h>
#include <ergon/node/node.h>
#include <ergon/node/option_keys.h>
#include <ergon/node/options_file.h>

namespace ergon::node {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

TEST_CASE("options file: every key") {
  const gen::NodeOptions options = ParseOptions(R"(
# a comment
workers = 4
policy = "work-sharing"
throughput = 7
turn_time = "30us"
turn_limit = "2ms"
handler_stack_bytes = "64KiB"
search_time = 0
blocking_threads = 3
watchdog_after = "2s"
measure_running_time = true
measure_latency = true
dump_on_sigquit = true
log_level = "warning"
log_format = "json"
shutdown_timeout = "infinite"
creation = 4000000000
[stealing]
aggressive.attempts = 100
moderate = { attempts = 500, pause = "50us" }
[stealing.relaxed]
attempts = 9
pause = "10ms"
)",
                                                "node.toml")
                                       .value();
  CHECK(options.workers == 4);
  CHECK(options.policy == gen::DispatcherPolicy::kWorkSharing);
  CHECK(options.throughput == 7);
  CHECK(options.turn_time == 30us);
  CHECK(options.turn_limit == 2ms);
  CHECK(options.handler_stack_bytes == 65536);
  CHECK(options.search_time == 0ns);
  CHECK(options.blocking_threads == 3);
  CHECK(options.watchdog_after == 2s);
  CHECK(options.measure_running_time);
  CHECK(options.measure_latency);
  CHECK(options.dump_on_sigquit);
  CHECK(options.log_level == gen::LogLevel::kWarning);
  CHECK(options.log_format == gen::LogFormat::kJson);
  CHECK(options.shutdown_timeout == gen::kInfinite);
  CHECK(options.creation == 4'000'000'000);
  CHECK(options.stealing.aggressive.attempts == 100);
  CHECK(options.stealing.aggressive.pause == 0ns);
  CHECK(options.stealing.moderate.attempts == 500);
  CHECK(options.stealing.moderate.pause == 50us);
  CHECK(options.stealing.relaxed.attempts == 9);
  CHECK(options.stealing.relaxed.pause == 10ms);
  auto node = Start("test@localhost", options).value();
  CHECK(node.Info().dispatcher == "work-sharing");
  CHECK(node.Info().workers == 4);
}

TEST_CASE("options file: what it does not say stays") {
  const gen::NodeOptions defaults{.workers = 9, .throughput = 3};
  const gen::NodeOptions options = ParseOptions("throughput = 5", "", defaults).value();
  CHECK(options.workers == 9);
  CHECK(options.throughput == 5);
  CHECK(ParseOptions("", "", defaults).value().workers == 9);
}

struct BadFile {
  std::string contents;
  std::string error;
};

TEST_CASE("options file: errors name file, line, key and value") {
  const std::vector<BadFile> cases = {
      {"\n\nthroughput = 0", "node.toml:3: throughput: 0 is outside 1..4096"},
      {"workers = 1", "node.toml:1: workers: 1 is outside 2..1024 (0: one per core)"},
      {"workers = \"four\"", "node.toml:1: workers: \"four\", must be a whole number"},
      {"workers = 1.5", "node.toml:1: workers: \"1.5\", must be a whole number"},
      {"workers = [1]", "node.toml:1: workers: a list or a date, must be a whole number"},
      {"workers = 99999999999",
       "node.toml:1: workers: \"99999999999\", must be a whole number from -2147483648 to "
       "2147483647"},
      {"creation = 99999999999",
       "node.toml:1: creation: \"99999999999\", must be a whole number from 0 to 4294967295"},
      {"handler_stack_bytes = \"99999999999GiB\"",
       "node.toml:1: handler_stack_bytes: \"99999999999GiB\", must be a size that is not so large"},
      {"worker = 4", "node.toml:1: worker: unknown, the nearest is workers"},
      {"[stealing]\nmoderat.pause = \"1us\"",
       "node.toml:2: stealing.moderat.pause: unknown, the nearest is stealing.moderate.pause"},
      {"[stealing.relaxed]\npause = \"2s\"",
       "node.toml:2: stealing.relaxed.pause: 2s is outside 0..1s"},
      {"turn_time = 20",
       "node.toml:1: turn_time: \"20\", must be a whole number with its unit (ns, us, ms, s or "
       "min), as 20us, 5ms or 3s"},
      {"turn_time = \"20 parsecs\"",
       "node.toml:1: turn_time: \"20 parsecs\", must be a whole number with its unit (ns, us, ms, "
       "s or min), as 20us, 5ms or 3s"},
      {"turn_time = \"9223372036854775807s\"",
       "node.toml:1: turn_time: \"9223372036854775807s\", must be a time that is not so long: "
       "9223372036s are the most"},
      {"[stealng]",
       "node.toml:1: stealng: there is no such table, only stealing, pools, log_levels, network "
       "and "
       "environment"},
      {"network = 5", "node.toml:1: network: must be a table, as [network]"},
      {"[[pools]]", "node.toml:1: pools: must be a table, as [pools]"},
      {"stealing = 3", "node.toml:1: stealing: must be a table, as [stealing]"},
      {"handler_stack_bytes = -1",
       "node.toml:1: handler_stack_bytes: \"-1\", must be a size in bytes or with its unit (KiB, "
       "MiB or GiB), as 262144 or 256KiB"},
      {"policy = \"fair\"", "node.toml:1: policy: \"fair\", must be work-stealing or work-sharing"},
      {"log_level = \"loud\"",
       "node.toml:1: log_level: \"loud\", must be trace, debug, info, warning, error, panic or "
       "off"},
      {"log_format = \"yaml\"", "node.toml:1: log_format: \"yaml\", must be text or json"},
      {"measure_running_time = 1",
       "node.toml:1: measure_running_time: \"1\", must be true or false"},
      {"creation = 3", "node.toml:1: creation: 3 is less than 4 (0: chosen)"},
      {"shutdown_deadline = \"-1s\"", "node.toml:1: shutdown_deadline: -1s, must not be negative"},
      {"watchdog_after = \"1us\"",
       "node.toml:1: watchdog_after: 1us, must be at least 1ms (0: never)"},
  };
  for (const BadFile& bad : cases) {
    CAPTURE(bad.contents);
    const auto options = ParseOptions(bad.contents, "node.toml");
    REQUIRE(!options);
    CHECK(options.error() == gen::ErrIncorrect);
    CHECK(options.error().detail() == bad.error);
  }
  for (const std::string broken :
       {"\nworkers = ", "\nworkers 4", "\n[stealing", "\na = 1\na = 2"}) {
    CAPTURE(broken);
    const auto options = ParseOptions(broken, "node.toml");
    REQUIRE(!options);
    const std::string text(options.error().detail());
    CAPTURE(text);
    CHECK((text.starts_with("node.toml:2: ") || text.starts_with("node.toml:3: ")));
  }
}

TEST_CASE("options file: a name that the parser does not expect is an error with its line") {
  for (const std::string wrong : {"[!a'", "[stealing]\n[!a'\nworkers = 2", "\n[ ]"}) {
    CAPTURE(wrong);
    const auto options = ParseOptions(wrong, "node.toml");
    REQUIRE_FALSE(options);
    const std::string line = wrong.front() == '[' && wrong[1] == '!' ? "1" : "2";
    CHECK(std::string(options.error().detail()).starts_with("node.toml:" + line + ": "));
  }
}

TEST_CASE("options file: a key of very many parts is an error with its line, no deep recursion") {
  std::string dotted = "a";
  for (int i = 0; i < 100'000; ++i) dotted += ".a";
  std::string nested = "b = ";
  for (int i = 0; i < 30; ++i) nested += "[{" + dotted.substr(0, 101) + " = ";
  for (const std::string& wrong :
       {dotted + " = 1", "[" + dotted + "]", "b = {" + dotted + " = 1}",
        R"("\"".)" + dotted + " = 1", R"(b = {t = """\"""""", )" + dotted + " = 1}", nested}) {
    CAPTURE(wrong.substr(0, 100));
    const auto options = ParseOptions("workers = 2\n" + wrong + "\n", "node.toml");
    REQUIRE_FALSE(options);
    CHECK(std::string(options.error().detail()) ==
          "node.toml:2: a key has at most 100 dots, and all between brackets 1000");
  }
}

TEST_CASE("options file: dots elsewhere are no parts of a key") {
  const std::string dots(150, '.');
  const std::string contents = "workers = 3  # " + dots + "\n[log_levels]\n\"" + dots +
                               "\" = \"debug\"\n[environment]\ntext = \"\"\"\n" + dots + "\n\\\"" +
                               dots + "\"\"\"\"\nquoted = \"he said \\\"" + dots +
                               "\\\"\"\nplain = '" + dots + "'\n";
  const auto options = ParseOptions(contents, "node.toml");
  REQUIRE_MESSAGE(options, options.error().ToString());
  CHECK(options->workers == 3);
}

TEST_CASE("options file: the line of a malformed key is found in a long file, too") {
  std::string contents;
  for (int line = 1; line <= 20'000; ++line) {
    contents += line == 15'000 ? "[!a'\n" : "# comment\n";
  }
  const auto options = ParseOptions(contents, "node.toml");
  REQUIRE_FALSE(options);
  CHECK(std::string(options.error().detail()).starts_with("node.toml:15000: "));
}

TEST_CASE("options file: other characters than ASCII are welcome in comments only") {
  const auto options =
      ParseOptions("\xEF\xBB\xBFworkers = 3  # zwei w\xC3\xA4ren zu wenig\n", "node.toml");
  CHECK(options.value().workers == 3);
  const auto wrong = ParseOptions("workers = 3\nw\xC3\xB6rkers = 4\n", "node.toml");
  REQUIRE_FALSE(wrong);
  CHECK(std::string(wrong.error().detail()).starts_with("node.toml:2: "));
}

TEST_CASE("options file: from the disk") {
  const auto path = std::filesystem::temp_directory_path() /
                    ("ergon_options_" + std::to_string(getpid()) + ".toml");
  std::ofstream(path) << "workers = 3\nworkers_ = 3\n";
  const auto bad = LoadOptions(path.string());
  CHECK(bad.error().detail() == path.string() + ":2: workers_: unknown, the nearest is workers");
  std::ofstream(path) << "workers = 3\n";
  CHECK(LoadOptions(path.string()).value().workers == 3);
  std::filesystem::remove(path);
  CHECK(LoadOptions(path.string()).error().detail() ==
        path.string() + ": cannot be read: No such file or directory");
  CHECK(LoadOptions("/").error().detail() == "/: cannot be read: Is a directory");
}

TEST_CASE("option keys: a field's text means the field") {
  gen::NodeOptions options;
  CHECK(OptionText(options, "turn_time") == "20us");
  CHECK(OptionText(options, "handler_stack_bytes") == "256KiB");
  CHECK(OptionText(options, "policy") == "work-stealing");
  CHECK(OptionText(options, "watchdog_after") == "1s");
  CHECK(OptionText(options, "no_such_key").empty());
  options.shutdown_timeout = gen::kInfinite;
  options.turn_time = 1234ns;
  options.handler_stack_bytes = 100'001;
  for (const OptionKey& key : OptionKeys()) {
    CAPTURE(key.name);
    const std::string text = OptionText(options, key.name);
    gen::NodeOptions copy;
    CHECK(SetOption(copy, key.name, text));
    CHECK(OptionText(copy, key.name) == text);
  }
}

TEST_CASE("options file: log levels of behaviours") {
  const gen::NodeOptions options =
      ParseOptions(R"(
[log_levels]
"words::Counter" = "debug"
"words::Index<1.5>" = "node"
)",
                   "node.toml", {.log_levels = {{"Old", gen::LogLevel::kOff}}})
          .value();
  CHECK(options.log_levels == std::map<std::string, std::optional<gen::LogLevel>>{
                                  {"Old", gen::LogLevel::kOff},
                                  {"words::Counter", gen::LogLevel::kDebug},
                                  {"words::Index<1.5>", std::nullopt}});
  CHECK(OptionText(options, "log_levels.words::Counter") == "debug");
  CHECK(OptionText(options, "log_levels.words::Index<1.5>") == "node");
  CHECK(OptionText(options, "log_levels.nobody").empty());
  const auto problem = [](const std::string& contents) {
    return std::string(ParseOptions(contents, "f").error().detail());
  };
  CHECK(problem("[log_levels]\na = 3") ==
        "f:2: log_levels.a: \"3\", must be trace, debug, info, warning, error, panic or off, or "
        "node");
  CHECK(problem("[log_levels]\n\"\" = \"info\"") ==
        "f:2: log_levels.: the name of the behaviour is empty");
  const std::string table =
      "f:2: log_levels.words: is a table: put the name of the behaviour in quotes";
  CHECK(problem("[log_levels]\nwords.Counter = \"debug\"") == table);
  CHECK(problem("\n[log_levels.words]\nCounter = \"debug\"") == table);
  CHECK(problem("log_levels = \"info\"") == "f:1: log_levels: must be a table, as [log_levels]");
  CHECK(problem("[log_levels]\n\"b\xC3\xBC\" = \"info\"")
            .starts_with("f:2: log_levels.b??: the name of a behaviour is of ASCII's characters"));
}

TEST_CASE("options file: who forgets the quotes is told") {
  const auto problem = [](const std::string& contents) {
    return std::string(ParseOptions(contents, "f").error().detail());
  };
  const std::string hint = "; names, times and sizes stand in quotes, as in log_level = \"info\"";
  for (const std::string line : {"log_level = info", "turn_time = 20us", "policy=work-stealing"}) {
    const std::string told = problem("# first\n" + line + "\nworkers = 4");
    CHECK(told.starts_with("f:2: "));
    CHECK(told.ends_with(hint));
  }
  for (const std::string line : {"workers = 08", "workers = ", "workers = 1\nworkers = 2"}) {
    CHECK(problem(line).find("quotes") == std::string::npos);
  }
}

TEST_CASE("options file: the environment of the program's own processes") {
  const std::string file =
      "[environment]\n"
      "database = \"postgres://db1:5432/?sslmode=require\"  # wie \xC3\xBC"
      "blich\n"
      "name = \"\\u00e9t\\u00e9\"\n"
      "batch = 500\n"
      "ratio = 0.25\n"
      "cache.enabled = true\n"
      "[environment.index]\n"
      "size = -1\n";
  const gen::NodeOptions options =
      ParseOptions(file, "node.toml", {.environment = {{"old", 1}}}).value();
  const auto& environment = options.environment;
  CHECK(environment.size() == 7);
  CHECK(environment.at("database").Get<std::string>() == "postgres://db1:5432/?sslmode=require");
  CHECK(environment.at("name").Get<std::string>() == "\xC3\xA9t\xC3\xA9");
  CHECK(environment.at("batch").Get<std::int64_t>() == 500);
  CHECK(environment.at("batch").Get<int>() == 500);
  CHECK(environment.at("batch").Get<std::uint16_t>() == 500);
  CHECK_FALSE(environment.at("batch").Get<std::uint8_t>());
  CHECK_FALSE(environment.at("batch").Get<bool>());
  CHECK(environment.at("ratio").Get<double>() == 0.25);
  CHECK(environment.at("cache.enabled").Get<bool>() == true);
  CHECK(environment.at("index.size").Get<int>() == -1);
  CHECK_FALSE(environment.at("index.size").Get<std::uint64_t>());
  const auto problem = [](const std::string& contents) {
    return std::string(ParseOptions(contents, "f").error().detail());
  };
  CHECK(problem("[environment]\na = 1\nhours = [1, 2]\n") ==
        "f:3: environment.hours: a list or a date, must be a text, a number, true or false");
  CHECK(problem("[environment]\na = 1\n\"\" = 1\n") ==
        "f:3: environment.: the name of the value is empty");
  CHECK(problem("[environment]\nname = \"\xC3\xA9t\xC3\xA9\"\n")
            .starts_with("f:2: environment.name: names and texts are of ASCII's characters here"));
  CHECK(problem("[environment.\"\xC3\xA9\"]\nsize = 1\n")
            .starts_with("f:1: environment.??: names and texts are of ASCII's characters here"));
  CHECK(problem("environment = 3\n") == "f:1: environment: must be a table, as [environment]");
}

TEST_CASE("options file: a key in quotes as a whole is looked at as any other") {
  const auto problem = [](const std::string& contents) {
    return std::string(ParseOptions(contents, "f").error().detail());
  };
  CHECK(problem("\n\"log_levels.Gr\xC3\xB6\xC3\x9F"
                "e\" = \"debug\"\n")
            .starts_with("f:2: log_levels.Gr????e: the name of a behaviour is of ASCII's"));
  CHECK(problem("\n\"environment.gr\xC3\xB6\xC3\x9F"
                "e\" = 5\n")
            .starts_with("f:2: environment.gr????e: names and texts are of ASCII's characters"));
  CHECK(problem("[\"environment.gr\xC3\xB6\xC3\x9F"
                "e\"]\nsize = 5\n")
            .starts_with("f:1: environment.gr????e: names and texts are of ASCII's characters"));
  CHECK(problem("\"pools.b\xC3\xBC.pool_size\" = 1\n")
            .starts_with("f:1: pools.b??.pool_size: the name of a pool is of ASCII's characters"));
  CHECK(problem("[\"log_levels.words\"]\nCounter = \"debug\"\n") ==
        "f:1: log_levels.words: is a table: put the name of the behaviour in quotes");
  const auto options = ParseOptions("\"log_levels.words::Counter\" = \"debug\"\n", "f").value();
  CHECK(options.log_levels.at("words::Counter") == gen::LogLevel::kDebug);
}

TEST_CASE("options file: two keys for one option are an error at the second, wherever they are") {
  const auto problem = [](const std::string& contents) {
    return std::string(ParseOptions(contents, "f").error().detail());
  };
  CHECK(problem("[environment]\ncache.enabled = true\n\"cache.enabled\" = false\n") ==
        "f:3: environment.cache.enabled: given twice, first in line 2");
  CHECK(problem("[environment]\n\"cache.enabled\" = false\ncache.enabled = true\n") ==
        "f:3: environment.cache.enabled: given twice, first in line 2");
  CHECK(problem("\"stealing.relaxed.attempts\" = 3\n[stealing.relaxed]\nattempts = 4\n") ==
        "f:3: stealing.relaxed.attempts: given twice, first in line 1");
  CHECK(problem("[network]\ntls.folder = \"a\"\n\"tls.folder\" = [1]\n") ==
        "f:3: network.tls.folder: given twice, first in line 2");
  CHECK(problem("[pools.\"eu.west\"]\npool_size = 1\n[pools.eu]\nwest.pool_size = 2\n") ==
        "f:4: pools.eu.west.pool_size: given twice, first in line 2");
}

TEST_CASE("options file: pools") {
  const gen::NodeOptions options = ParseOptions(R"(
[pools.thumbnails]
pool_size = 8
admission_limit = "50ms"
[pools]
"eu.west".max_restarts = 3
)",
                                                "node.toml", {.pools = {{"old", {.pool_size = 1}}}})
                                       .value();
  CHECK(options.pools == std::map<std::string, gen::PoolChange>{
                             {"eu.west", {.max_restarts = 3}},
                             {"old", {.pool_size = 1}},
                             {"thumbnails", {.pool_size = 8, .admission_limit = 50ms}}});
  CHECK(OptionText(options, "pools.thumbnails.admission_limit") == "50ms");
  CHECK(OptionText(options, "pools.eu.west.max_restarts") == "3");
  CHECK(OptionText(options, "pools.eu.west.pool_size").empty());
  CHECK(OptionText(options, "pools.nobody.pool_size").empty());
  const auto problem = [](const std::string& contents) {
    return std::string(ParseOptions(contents, "f").error().detail());
  };
  CHECK(problem("\n[pools.a]\npool_seize = 8") ==
        "f:3: pools.a.pool_seize: unknown, the nearest is pools.a.pool_size");
  CHECK(problem("[pools.a.\"gr\u00f6\u00dfe\"]\npool_size = 8")
            .ends_with(": the name of a pool is of ASCII's characters here, without \"?\""));
  CHECK(problem("[pools.a]\npool_size = 0") == "f:2: pools.a.pool_size: 0 is outside 1..10000");
  CHECK(problem("[pools.a]\npool_size = \"many\"") ==
        "f:2: pools.a.pool_size: \"many\", must be a whole number");
  CHECK(problem("[pools.a]\nadmission_limit = 50") ==
        "f:2: pools.a.admission_limit: \"50\", must be a whole number with its unit (ns, us, ms, s "
        "or min), as 20us, 5ms or 3s");
  CHECK(problem("[pools]\na = 1") ==
        "f:2: pools.a: must be a table, as [pools.a] with pool_size = 8");
  CHECK(problem("[pools]\n\"\".pool_size = 1") ==
        "f:2: pools..pool_size: the name of the pool is empty");
  CHECK(problem("[pools.\"b\xC3\xBC\"]\npool_size = 1")
            .starts_with("f:1: pools.b??: the name of a pool is of ASCII's characters here"));
}

}  // namespace
}  // namespace ergon::node
