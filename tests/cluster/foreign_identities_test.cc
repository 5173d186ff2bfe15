// Identities in what other nodes send: a PID that no process can have, an alias that stands for another one, a
// reference that comes back.
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/node/delivery/foreign_aliases.h>
#include <ergon/node/erlang/packed/packed.h>

#include <cluster/cluster.h>
#include <cluster/erlang_peer.h>

namespace ergon::dist::foreign_identities_test {
namespace {

// Tells what it gets first. It answers to a PID.
class Listener final : public act::Actor {
 public:
  explicit Listener(std::promise<std::string>* told) : told_(told) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (const auto* pid = message.As<gen::PID>()) {
      (void)Send(*pid, Line{1, "answer"});
      (void)Monitor(*pid);
    }
    told_->set_value(message.Describe());
    return gen::Stop(gen::Reason::Normal());
  }
  std::promise<std::string>* told_;
};

void AppendBigEndian(std::string& out, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift & 0xff);
}

std::string PidTerm(std::string_view node, std::uint32_t number, std::uint32_t serial,
                    std::uint32_t creation) {
  std::string term = "\x58\x77";
  term += static_cast<char>(node.size());
  term += node;
  for (const std::uint32_t part : {number, serial, creation}) AppendBigEndian(term, part);
  return term;
}

// What a process says of `payload` that a peer sends to it.
std::string Described(const std::string& name, std::string_view payload) {
  std::promise<std::string> told;
  NodeForPeers t(name);
  ErlangPeer peer(t.node, name + "_peer@127.0.0.1", t.port());
  const gen::PID listener = t.node.Spawn(gen::Factory<Listener>(&told)).value();
  peer.Add({.kind = SignalKind::kSend, .from = peer.Pid(1), .to = listener, .payload = payload});
  peer.FlushAndWait();
  CHECK(t.node.WaitProcess(listener));
  CHECK(peer.IsConnected());
  return told.get_future().get();
}

TEST_CASE("foreign identities: a PID of creation 0 stays a term, and stands for no name") {
  // The second one would be an alias of this program.
  int number = 0;
  for (const std::uint32_t serial : {0U, 0x80000000U}) {
    const std::string name = "creation_0_" + std::to_string(number++);
    const std::string term = PidTerm(name + "_peer@127.0.0.1", 0xffffffff, serial, 0);
    CHECK(Described(name, term).find("creation_0") != std::string::npos);
  }
  CHECK_FALSE(Term::FromBytes("\x83" + PidTerm("nonode@nohost", 85, 0, 0))->AsPid());
  CHECK(Term::FromBytes("\x83" + PidTerm("a@b", 85, 0, 1))->AsPid() == gen::PID{85, "a@b", 1});
}

TEST_CASE("foreign identities: a reference that a process has sent comes back to it") {
  gen::Ref ref;
  std::promise<gen::PID> asked;
  std::promise<std::optional<std::int64_t>> answered;
  NodeForPeers t("own_reference");
  ErlangPeer peer(t.node, "own_reference_peer@127.0.0.1", t.port());
  const auto pid = t.node.Spawn([&](gen::Process& self) {
    ref = self.MakeRef();
    asked.set_value(self.Self());
    auto answer = self.Receive<Term>(kit::kDeadline);
    if (!answer) return answered.set_value(std::nullopt);
    const std::vector<Term> parts = answer->Elements();
    const bool is_ours = parts.size() == 2 && parts[0] == Term::Of(ref);
    answered.set_value(is_ours ? parts[1].AsInteger() : std::nullopt);
  });
  REQUIRE(pid);
  const gen::PID to = asked.get_future().get();
  const Term answer = Term::Tuple({Term::Of(ref), Term(42)});
  peer.Add({.kind = SignalKind::kSend, .from = peer.Pid(1), .to = to, .payload = answer.raw()});
  peer.Flush();
  CHECK(answered.get_future().get() == 42);
}

template <class T>
T Unpacked(const T& value) {
  std::string bytes;
  detail::PackedOut out(bytes);
  detail::Pack(out, value);
  out.Close();
  detail::PackedIn in(bytes, ReadLimits{});
  T read{};
  detail::Unpack(in, read);
  return read;
}

TEST_CASE("foreign identities: packed") {
  CHECK(Unpacked(gen::PID()) == gen::PID());
  CHECK(Unpacked(gen::PID{7, "a@b", 1}) == gen::PID{7, "a@b", 1});
  CHECK_THROWS_AS((void)Unpacked(gen::PID{7, "a@b", 0}), detail::PackedProblem);
  CHECK(Unpacked(gen::Alias{7, "a@b", 1}) == gen::Alias{7, "a@b", 1});
  CHECK_THROWS_AS((void)Unpacked(gen::Alias{node::kStandsForAnother | 7, "a@b", 1}),
                  detail::PackedProblem);
}

}  // namespace
}  // namespace ergon::dist::foreign_identities_test
