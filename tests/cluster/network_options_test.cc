// Options of the network from a file, at the start of a node and while it runs.
#include <fstream>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include <ergon/node/options_file.h>

#include <cluster.h>
#include <kit/options_file.h>

namespace ergon::dist::network_options_test {
namespace {

class CookieFile {
 public:
  explicit CookieFile(const std::string& cookie) { Write(cookie); }
  ~CookieFile() { std::filesystem::remove(path()); }
  CookieFile(const CookieFile&) = delete;
  CookieFile& operator=(const CookieFile&) = delete;
  void Write(const std::string& cookie) const {
    std::ofstream(path()) << cookie << '\n';
    REQUIRE(::chmod(path().c_str(), S_IRUSR | S_IWUSR) == 0);
  }
  [[nodiscard]] static std::string path() {
    return (std::filesystem::temp_directory_path() / ("ergon_cookie_" + std::to_string(::getpid())))
        .string();
  }
};

std::string StartProblem(const std::string& contents) {
  auto options = node::ParseOptions(contents, "f");
  if (!options) return std::string(options.error().detail());
  kit::LogCapture log;
  const auto started = TryStart("fromfile@127.0.0.1", log, ClusterOptions(), *options);
  return started ? std::string() : std::string(started.error().detail());
}

TEST_CASE("network options: what is wrong is told with its line") {
  CHECK(StartProblem("[network]\ntick_time = \"1s\"\ntik_time = 1") ==
        "f:3: network.tik_time: unknown, the nearest is network.tick_time");
  CHECK(StartProblem("[network]\nmax_handshakes = \"few\"") ==
        "f:2: network.max_handshakes: \"few\", must be a whole number");
  CHECK(StartProblem("[network]\nmax_queued_bytes = 1023") ==
        "f:2: network: max_queued_bytes: 1023 is outside 1024..1099511627776");
  CHECK(StartProblem("\n[network]\nmax_handshakes = 0") ==
        "f:3: network: max_handshakes: 0 is outside 1..10000");
  CHECK(StartProblem("[network]\nlisten = true\nlisten_address = \"here\"") ==
        "f:3: network: listen_address: 'here' is no IP address");
  CHECK(StartProblem("[network]\nabsent = \"null\"") ==
        "f:2: network.absent: \"null\", must be undefined or nil");
  CHECK(StartProblem("[network]\nmax_handshakes = [1]") ==
        "f:2: network.max_handshakes: a list or a date, must be a text, a number, true or false");
  CHECK(StartProblem("[network]\nmax_handshakes = 2.5") ==
        "f:2: network.max_handshakes: \"2.5\", must be a whole number");
  const std::string cookie = StartProblem("[network]\ncookie = \"hush\"");
  CHECK(cookie == "f:2: network.cookie: is no option of a file; give cookie_file instead");
  CHECK(StartProblem("[network.tls]\nauthorities_file = \"/nowhere/ca.pem\"")
            .starts_with("network: tls.certificate_file ''"));
  // What the program says is not wrong where the file says something else.
  kit::LogCapture log;
  ErlangOptions wrong = ClusterOptions();
  wrong.max_handshakes = 0;
  const auto other = node::ParseOptions("[network]\nobservable = true", "f").value();
  CHECK(TryStart("fromfile@127.0.0.1", log, wrong, other).error().detail() ==
        "network: max_handshakes: 0 is outside 1..10000");
  // A node without network.
  const auto options = node::ParseOptions("[network]\ncookie = \"hush\"", "f").value();
  CHECK(node::Start("alone@localhost", options).error().detail() ==
        "f:2: network.cookie: given, but the node has no network");
}

TEST_CASE("network options: a file goes before the program, and is read again") {
  const CookieFile cookie("secret");
  const std::string own = "[network]\ncookie_file = \"" + CookieFile::path() + "\"\n";
  const kit::OptionsFile file(own);
  gen::NodeOptions options = node::LoadOptions(file.path()).value();
  options.options_file = file.path();
  kit::LogCapture log;
  kit::LogCapture log_of_other;
  ErlangOptions wrong = ClusterOptions();
  wrong.cookie = "wrong";
  auto node = TryStart("reads@127.0.0.1", log, wrong, options).value();
  auto other = TryStart("knows@127.0.0.1", log_of_other).value();
  CHECK(Ping(other, node.Name()));

  // Another cookie, for connections that are made from now on.
  cookie.Write("renewed");
  file.Write(own + "observable = true\nhandshake_timeout = \"20s\"\n");
  CHECK(node.ReloadOptions());
  CHECK(log.Count("network: the cookie was changed") == 1);
  CHECK(log.Count("network.observable: true, was false") == 1);
  CHECK(log.Count("network.handshake_timeout: 20s, was 7s") == 1);
  CHECK_FALSE(log.Contains("renewed"));
  ErlangOptions renewed = ClusterOptions();
  renewed.cookie = "renewed";
  CHECK(kit::Eventually(
      [&] { return Diagnose("doctor@127.0.0.1", "reads@127.0.0.1", renewed).has_value(); }));
  CHECK_FALSE(Diagnose("doctor@127.0.0.1", "reads@127.0.0.1", ClusterOptions()));
  CHECK(Ping(other, node.Name()));  // over the connection that there is
  CHECK(Rpc(other, node.Name(), "erlang", "registered", {}));

  // What cannot be changed, and what is wrong, changes nothing.
  cookie.Write("lost");
  file.Write("mailbox_size = 3\n" + own + "observable = false\nhidden = false\n");
  CHECK(node.ReloadOptions().error().detail() ==
        file.path() +
            ":5: network.hidden: false, but it is true, and a change takes a restart of "
            "the node");
  file.Write("mailbox_size = 3\n" + own + "tls.certificate_file = \"/nowhere/node.pem\"\n");
  CHECK(node.ReloadOptions().error().detail() ==
        file.path() +
            ":4: network.tls.certificate_file: /nowhere/node.pem, but it is not given, "
            "and a change takes a restart of the node");
  file.Write(own + "observable = false\n[pools.reader]\npool_size = 1\n");
  node.SpawnRegister("reader", [](gen::Process& self) { (void)self.Receive<std::string>(); })
      .value();
  CHECK(node.ReloadOptions().error() == gen::ErrIncorrect);
  CHECK_FALSE(log.Contains("mailbox_size"));
  CHECK_FALSE(log.Contains("network.observable: false"));
  CHECK(Diagnose("doctor@127.0.0.1", "reads@127.0.0.1", renewed));
}

}  // namespace
}  // namespace ergon::dist::network_options_test
