#include <ergon/node/cluster/handshake/epmd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <cluster/client.h>
#include <cluster/cluster.h>

namespace ergon::dist::epmd_test {
namespace {

using gen::ErrorCode;

std::string Bytes(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text += static_cast<char>(byte);
  return text;
}

// Sets a variable of the environment, and puts back what it was.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    const char* former = std::getenv(name);
    if (former != nullptr) former_ = former;
    had_one_ = former != nullptr;
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  ~Variable() { had_one_ ? ::setenv(name_, former_.c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
  std::string former_;
  bool had_one_ = false;
};
class PortVariable : public Variable {
 public:
  explicit PortVariable(const char* value) : Variable("ERL_EPMD_PORT", value) {}
};

// "cpp" at port 4711, hidden, versions 6 to 6, without anything else.
const std::string kFound =
    Bytes({119, 0, 0x12, 0x67, 72, 0, 0, 6, 0, 6, 0, 3}) + "cpp" + Bytes({0, 0});

TEST_CASE("epmd: its port is that of the environment, or the usual one") {
  {
    const PortVariable unset(nullptr);
    CHECK(EpmdPort().value() == 4369);
  }
  {
    const PortVariable set("14369");
    CHECK(EpmdPort().value() == 14369);
  }
  for (const char* wrong : {"", "0", "65536", "-1", "4369x", " 4369", "epmd"}) {
    CAPTURE(wrong);
    const PortVariable set(wrong);
    const auto port = EpmdPort();
    REQUIRE_FALSE(port.has_value());
    CHECK(port.error() == gen::ErrIncorrect);
    CHECK(port.error().detail() ==
          "ERL_EPMD_PORT: '" + std::string(wrong) + "' is outside 1..65535");
  }
}

TEST_CASE("epmd: a program of that name that stays in the foreground does not hold the start up") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ergon_epmd_" + std::to_string(::getpid()));
  std::filesystem::remove_all(folder);  // of a run that was killed
  std::filesystem::create_directory(folder);
  const std::filesystem::path script = folder / "epmd";
  const std::filesystem::path pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), S_IRUSR | S_IWUSR) == 0);
  std::ofstream(script) << "#!/bin/sh\nread -r end <" << pipe.string() << '\n';
  REQUIRE(::chmod(script.c_str(), S_IRWXU) == 0);
  {
    ErlangOptions options = ClusterOptions();  // first: it may start an EPMD
    const Variable path("PATH", folder.c_str());
    options.listen = true;
    options.epmd_port = FreePort();
    options.start_epmd = true;
    options.handshake_timeout = std::chrono::milliseconds(20);
    kit::LogCapture log;
    gen::NodeOptions node;
    node.network = Erlang(options);
    CHECK(node::Start("foreground@127.0.0.1", log.Into(node)).error() == gen::ErrNoConnection);
  }
  int end = -1;  // of the script, which still waits for it
  CHECK(kit::Eventually([&] {
    end = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    return end >= 0;
  }));
  ::close(end);
  std::filesystem::remove_all(folder);
}

TEST_CASE("epmd: requests, byte for byte") {
  CHECK(EpmdRegister("cpp", 4711, true) ==
        Bytes({0, 16, 120, 0x12, 0x67, 72, 0, 0, 6, 0, 6, 0, 3}) + "cpp" + Bytes({0, 0}));
  CHECK(EpmdRegister("cpp", 65535, false) ==
        Bytes({0, 16, 120, 0xff, 0xff, 77, 0, 0, 6, 0, 6, 0, 3}) + "cpp" + Bytes({0, 0}));
  CHECK(EpmdLookUp("cpp") == Bytes({0, 4, 122}) + "cpp");
}

TEST_CASE("epmd: a registration is answered with a creation") {
  CHECK(ParseRegistered(Bytes({118, 0, 1, 2, 3, 4}), "cpp").value() == 0x01020304);
  CHECK(ParseRegistered(Bytes({121, 0, 0, 3}), "cpp").value() == 3);
}

TEST_CASE("epmd: answers in pieces") {
  const std::string registered = Bytes({118, 0, 1, 2, 3, 4});
  for (std::size_t size = 0; size < registered.size(); ++size) {
    CHECK(ParseRegistered(registered.substr(0, size), "cpp").value() == std::nullopt);
  }
  for (std::size_t size = 0; size < kFound.size(); ++size) {
    CHECK_FALSE(ParseLookUp(kFound.substr(0, size), "cpp").value().has_value());
  }
}

TEST_CASE("epmd: a name that is taken") {
  for (const std::string& answer :
       {Bytes({118, 1}), Bytes({118, 1, 0, 0, 0, 0}), Bytes({121, 1, 0, 0})}) {
    const auto registered = ParseRegistered(answer, "cpp");
    REQUIRE_FALSE(registered.has_value());
    CHECK(registered.error().code() == ErrorCode::kTaken);
    CHECK(registered.error().detail() ==
          "EPMD refuses the name 'cpp': another node of this host has it; choose another name, or "
          "end that node");
  }
}

TEST_CASE("epmd: where a node is") {
  const EpmdNode node = ParseLookUp(kFound, "cpp").value().value();
  CHECK(node.port == 4711);
  CHECK(node.hidden);
  CHECK(node.lowest_version == 6);
  CHECK(node.highest_version == 6);

  const std::string normal =
      Bytes({119, 0, 0, 1, 77, 0, 0, 6, 0, 5, 0, 1}) + "x" + Bytes({0, 4}) + "more";
  const EpmdNode other = ParseLookUp(normal, "x").value().value();
  CHECK(other.port == 1);
  CHECK_FALSE(other.hidden);
  CHECK(other.lowest_version == 5);
  CHECK(other.highest_version == 6);
}

TEST_CASE("epmd: a node that is not there") {
  const auto found = ParseLookUp(Bytes({119, 1}), "cpp");
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().code() == ErrorCode::kNoConnection);
  CHECK(found.error().detail() ==
        "EPMD of that host knows no node 'cpp': it does not run, or not under this name");
}

TEST_CASE("epmd: what is no answer") {
  const auto text = [](const auto& result) {
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error() == gen::ErrIncorrect);
    return std::string(result.error().detail());
  };
  CHECK(text(ParseRegistered("HTTP/1.1 400 Bad Request", "cpp")) ==
        "EPMD: an answer that begins with 72: is something else at its port?");
  CHECK(text(ParseLookUp(Bytes({118, 0}), "cpp")) ==
        "EPMD: an answer that begins with 118: is something else at its port?");
  CHECK(text(ParseRegistered(Bytes({118, 0, 0, 0, 0, 0}), "cpp")) == "EPMD: the creation 0");
  CHECK(text(ParseRegistered(Bytes({118, 0, 0, 0, 0, 1, 9}), "cpp")) ==
        "EPMD: more than one answer to a registration");
  CHECK(text(ParseLookUp(kFound + "x", "cpp")) == "EPMD: more than one answer to a look-up");
  CHECK(text(ParseLookUp(kFound, "erl")) == "EPMD: it was asked for 'erl' and tells of 'cpp'");
  std::string no_port = kFound;
  no_port[2] = no_port[3] = 0;
  CHECK(text(ParseLookUp(no_port, "cpp")) == "EPMD: 'cpp' at the port 0");
}

}  // namespace
}  // namespace ergon::dist::epmd_test
