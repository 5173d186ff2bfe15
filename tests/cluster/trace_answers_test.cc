// An etop of Erlang that traces, and what a node that has no traces tells it.
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

#include <cluster/cluster.h>
#include <kit/eventually.h>

namespace ergon::dist::trace_answers_test {
namespace {

ErlangOptions Observable() {
  ErlangOptions options = ClusterOptions();
  options.observable = true;
  return options;
}

Term Atom(const char* text) { return Term::Atom(text); }

// As Erlang's dbg:trace_port(ip, {Port, 5000}) makes it: a function of a module, with two variables.
Term TracePort(const char* module, std::uint16_t port) {
  std::string rest(1 + 16 + 4, '\0');  // arity, digest, index
  rest += std::string{0, 0, 0, 2};
  TermWriter writer(rest);
  writer.Atom(module);
  writer.Integer(17);
  writer.Integer(1);
  writer.Pid({1, "erl@127.0.0.1", 1});
  writer.Integer(5000);
  writer.Integer(port);
  std::string bytes{'\x83', 'p', 0, 0, 0, static_cast<char>(rest.size() + 4)};
  return Term::FromBytes(bytes + rest).value();
}

}  // namespace

// fun 'A...sdbgm...':f/0. As a function with variables, its 31st byte would begin the atom dbg, and a binary of 4 GiB
// behind it.
static Term ExportThatLooksLikeDbg() {
  using std::string_literals::operator""s;
  std::string bytes = "q"s + "d\0\x24"s + std::string(26, 'A') + "s\3dbg"s + "m\xff\xff\xff\xff"s;
  return Term::FromChecked(bytes + "s\1f"s + "a\0"s);
}

TEST_CASE("trace answers: a tool that traces gets a port that says nothing, as long as it lives") {
  Cluster cluster("silent", Observable());
  asio::io_context context;
  asio::ip::tcp::acceptor taken(context, {asio::ip::address_v4::loopback(), 0});
  asio::ip::tcp::endpoint free(asio::ip::address_v4::loopback(), 0);
  free.port(asio::ip::tcp::acceptor(context, free).local_endpoint().port());
  asio::ip::tcp::socket reader(context);
  InProcess(cluster.a, [&](gen::Process& self) {
    CHECK(Rpc(self, cluster.b.Name(), "net_adm", "localhost", {}).value().ToString() ==
          "\"127.0.0.1\"");
    const gen::PID tool = self.Spawn([](gen::Process& one) { (void)one.Receive<int>(); }).value();
    const auto arguments = [](gen::PID asks, const Term& source) {
      return std::vector<Term>{Atom("etop"), Term(asks), source};
    };
    const auto port = [](const Term& source) { return Term::Tuple({Atom("port"), source}); };
    const auto refused = [&](const std::vector<Term>& asked) {
      return Rpc(self, cluster.b.Name(), "dbg", "do_relay", asked).error();
    };
    // Only for that function; other tools have processes that relay.
    for (const Term& wrong :
         {port(TracePort("other", 1)), port(TracePort("dbg", 0)), port(Term(1)), Term(tool)}) {
      CHECK(refused(arguments(tool, wrong)) == gen::ErrUnsupported);
    }
    CHECK(refused(arguments(tool, port(ExportThatLooksLikeDbg()))) == gen::ErrUnsupported);
    // A tool does not wait for a port that is not there.
    const std::uint16_t other = taken.local_endpoint().port();
    const gen::Error error = refused(arguments(self.Self(), port(TracePort("dbg", other))));
    CHECK(error.ToString().find(std::to_string(other)) != std::string::npos);
    CHECK(self.Receive<Term>(kit::kDeadline).value()[0] == Atom("started"));
    const auto asked = arguments(tool, port(TracePort("dbg", free.port())));
    const auto relaying = self.Spawn([&cluster, asked](gen::Process& one) {
      const auto ended = Rpc(one, cluster.b.Name(), "dbg", "do_relay", asked,
                             {.timeout = std::chrono::minutes(1)});
      return ended ? gen::Reason::Normal() : gen::Reason::Error(ended.error().ToString());
    });
    CHECK(self.Monitor(relaying.value()));
    REQUIRE(kit::Eventually([&] {
      std::error_code problem;
      reader.close(problem);
      reader.connect(free, problem);
      return !problem;
    }));
    CHECK(self.Send(tool, 1));
    CHECK(self.Receive<gen::MessageDownPID>(kit::kDeadline)->reason.ToString() == "normal");
  });
  // Nothing was said.
  std::error_code error;
  char byte = 0;
  CHECK(reader.read_some(asio::buffer(&byte, 1), error) == 0);
  CHECK(error);
}

}  // namespace ergon::dist::trace_answers_test
