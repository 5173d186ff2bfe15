// Messages about groups of another node: none, or one whose processes are of that node and whose names are parts of it;
// and a node that takes it knows who was told to be there, each as often.
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fuzz/fuzz.h>

#include <ergon/node/cluster/groups/group_messages.h>
#include <ergon/node/cluster/groups/process_groups.h>
#include <ergon/node/erlang/terms/check.h>

namespace dist = ergon::dist;
namespace gen = ergon::gen;
using dist::GroupMessage;
using ergon::fuzz::Require;

namespace {

constexpr std::size_t kDepth = 64;
const gen::Atom kPeer("peer@h");

class NoLog final : public gen::LogSink {
 public:
  [[nodiscard]] gen::LogLevel Level() const override { return gen::LogLevel::kTrace; }
  void Write(gen::LogLevel, std::string_view text) override {
    Require(text.find('\n') == std::string_view::npos, "a log line is one line");
  }
};

class Members final : public ergon::node::RemoteMembers {
 public:
  std::vector<std::uint64_t> JoinFromAfar(gen::Atom group,
                                          const std::vector<gen::PID>& remote) override {
    Require(!remote.empty() && !group.empty(), "somebody joins something");
    std::vector<std::uint64_t> memberships;
    for (const gen::PID pid : remote) {
      Require(pid.node == kPeer, "who is told of is of the node that tells");
      all[{group, ++newest_}] = pid;
      memberships.push_back(newest_);
    }
    return memberships;
  }
  void LeaveFromAfar(gen::Atom group, const std::vector<std::uint64_t>& memberships) override {
    Require(!memberships.empty(), "somebody leaves");
    for (const std::uint64_t membership : memberships) {
      Require(all.erase({group, membership}) == 1, "nobody leaves twice");
    }
  }
  std::map<std::pair<gen::Atom, std::uint64_t>, gen::PID> all;

 private:
  std::uint64_t newest_ = 0;
};

bool IsWithin(std::string_view part, std::string_view whole) {
  const std::less_equal<> is_not_behind;
  return part.empty() || (is_not_behind(whole.data(), part.data()) &&
                          is_not_behind(part.data() + part.size(), whole.data() + whole.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Terms one after the other, each a copy of its size: whatever is read behind its end is noticed.
  std::string_view rest = ergon::fuzz::TextOf(data, size);
  // The same budget for all inputs: atoms are never freed.
  static const auto atoms = std::make_shared<dist::AtomBudget>(1000);
  NoLog log;
  Members members;
  dist::ProcessGroups groups({.members = members,
                              .atoms = *atoms,
                              .log = log,
                              .self = {1, "own@h", 7},
                              .max_term_depth = kDepth,
                              .max_frame_bytes = 4096,
                              .send = [](gen::Atom, const dist::Signal&) {},
                              .remind = [] {},
                              .not_believed = [](gen::Atom, gen::PID) {}});
  groups.Joined("web", {2, "own@h", 7});
  groups.Connected(kPeer);
  while (!rest.empty()) {
    const auto length = dist::CheckTerm(rest, kDepth);
    if (!length) break;
    const auto copy = std::make_unique<char[]>(*length);
    std::memcpy(copy.get(), rest.data(), *length);
    rest.remove_prefix(*length);
    const std::string_view term(copy.get(), *length);
    const auto message = dist::ReadGroupMessage(term, kPeer, kDepth);
    Require(groups.Handle(kPeer, term) == message.has_value(), "taken is what is a message");
    if (!message) continue;
    if (message->of_another) {
      Require(message->of_another->node != kPeer, "it is another one's");
      continue;
    }
    Require(message->peer.node == kPeer, "it is of the one who tells it");
    Require(IsWithin(message->left_out, term), "what is left out is a part of it");
    std::size_t pids = 0;
    for (const GroupMessage::Group& group : message->groups) {
      Require(IsWithin(group.name, term) && !group.name.empty(), "names are parts of it");
      pids += group.pids.size();
    }
    if (message->kind == GroupMessage::Kind::kSync) {
      Require(members.all.size() <= pids, "nobody is there who was not told of");
    }
  }
  groups.Lost(kPeer);
  Require(members.all.empty(), "nobody of a lost node is left");
  return 0;
}
