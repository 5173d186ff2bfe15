#include <ergon/node/cluster/tools/trace_answers.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <fmt/core.h>

#include <ergon/gen/error.h>
#include <ergon/gen/node.h>
#include <ergon/gen/notices.h>
#include <ergon/node/cluster/tools/observer_terms.h>
#include <ergon/node/cluster/tools/silent_port.h>
#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/erlang/terms/tags.h>

namespace ergon::dist {
namespace {

// In front of a function's module: tag, size, arity, digest, index, number of variables.
constexpr std::size_t kFunctionHead = 1 + 4 + 1 + 16 + 4 + 4;
// Behind it: the old index, the old digest, the PID of who has made it.
constexpr int kPartsBeforeVariables = 3;

// Each tool that traces takes a socket of the program's.
constexpr int kMostRelays = 4;
std::atomic<int> relays{0};

// Returns the port of dbg:trace_port(ip, {Port, QueueSize}), a function whose last variable that is; none if it is
// something else.
std::optional<std::uint16_t> PortOf(const Term& function) {
  // `fun Module:Name/Arity` is a function, too, and has another form.
  const std::string_view raw = function.raw();
  if (raw.empty() || raw.front() != static_cast<char>(TermTag::kNewFunction)) return {};
  TermReader reader(raw.substr(kFunctionHead));  // it has been checked: it is longer
  std::string module;
  if (!reader.ReadAtomText(module) || module != "dbg") return {};
  for (int i = 0; i < kPartsBeforeVariables; ++i) reader.Skip();
  std::uint64_t value = 0;
  while (!reader.AtEnd()) {
    if (!reader.ReadUnsigned(value)) return {};
  }
  if (value == 0 || value > std::numeric_limits<std::uint16_t>::max()) return {};
  return static_cast<std::uint16_t>(value);
}

// do_relay([SessionName, ] Tool, {port, Function}): answers {started, Tracer [, Session]}, and runs until the tool is
// gone. The session is new in OTP 27.
Answer Relay(gen::Process& self, const Arguments& arguments) {
  const auto tool = arguments[arguments.size() - 2].AsPid();
  const Term& source = arguments.back();
  const bool is_port =
      source.kind() == Term::Kind::kTuple && source.size() == 2 && source[0].AsAtomText() == "port";
  const auto port = is_port ? PortOf(source[1]) : std::nullopt;
  // Tools look from other nodes: one of this node would not end with the connection.
  if (!tool || !port || tool->node == self.Node().Name()) return gen::ErrUnsupported;
  const std::shared_ptr<void> counted(nullptr, [](void*) { --relays; });
  if (++relays > kMostRelays) {
    return gen::Error(gen::ErrorCode::kBusy,
                      fmt::format("dbg:do_relay: {} tools trace already", kMostRelays));
  }
  const auto watched = self.Monitor(*tool);
  if (!watched) return watched.error();
  const auto opened = SilentPort::Open(ListenAddressOf(self), *port);
  const bool has_session = arguments.size() == 3;
  const auto told = self.Send(*tool, MakeTerm([&](TermWriter& writer) {
    writer.Tuple(has_session ? 3 : 2);
    writer.Atom("started");
    writer.Pid(self.Self());
    if (has_session) writer.Atom("no_traces");
  }));
  // The tool waits for what it was told for ever, but not for a port that is not there.
  if (!opened) return opened.error();
  if (!told) return told.error();
  for (;;) {
    const auto heard = self.Receive<gen::MessageDownPID, gen::OtherMessage>();
    if (!heard || std::holds_alternative<gen::MessageDownPID>(*heard)) return Term::Atom("ok");
  }
}

// Where the tool finds that port.
Answer LocalHost(gen::Process& self, const Arguments&) {
  const std::string_view name = self.Node().Name().Text();
  return MakeTerm([&](TermWriter& writer) { writer.Charlist(name.substr(name.find('@') + 1)); });
}

}  // namespace

void AddTraceAnswers(std::vector<detail::RemoteFunction>& table) {
  table.push_back({"dbg", "do_relay", 2, Relay});
  table.push_back({"dbg", "do_relay", 3, Relay});
  table.push_back({"net_adm", "localhost", 0, LocalHost});
}

}  // namespace ergon::dist
