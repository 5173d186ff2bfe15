#include <ergon/node/cluster/groups/group_messages.h>

#include <utility>

#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/erlang/terms/utf8.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {
namespace {

// Reads the parts of a message one after the other. False: the next one is something else.
class GroupMessageReader {
 public:
  GroupMessageReader(std::string_view term, gen::Atom node, std::size_t max_depth)
      : reader_(term, max_depth), node_(node) {}

  bool Read(GroupMessage& message) {
    std::size_t size = 0;
    std::string_view word;
    if (!reader_.ReadTuple(size) || !reader_.ReadAtom(word)) return false;
    if (word == "$gen_cast" && size == 2) {
      message.kind = GroupMessage::Kind::kSync;
      return reader_.ReadTuple(size) && size == 3 && reader_.ReadAtom(word) && word == "sync" &&
             ReadProcess(message, message.peer) && ReadGroups(message);
    }
    // The third element is the version of the protocol, which pg accepts since OTP 26.
    if (word == "discover" && (size == 2 || size == 3)) {
      message.kind = GroupMessage::Kind::kDiscover;
      return ReadProcess(message, message.peer);
    }
    if (size != 4 || (word != "join" && word != "leave") || !ReadProcess(message, message.peer)) {
      return false;
    }
    if (word == "leave") {
      message.kind = GroupMessage::Kind::kLeave;
      return ReadPids(message, message.pids) && ReadNames(message);
    }
    message.kind = GroupMessage::Kind::kJoin;
    return ReadGroup(message);
  }

 private:
  // A list of { Group, PIDs }.
  bool ReadGroups(GroupMessage& message) {
    std::size_t count = 0;
    if (reader_.ReadEmptyList()) return true;
    if (!reader_.ReadList(count)) return false;
    for (; count != 0; --count) {
      std::size_t size = 0;
      if (!reader_.ReadTuple(size) || size != 2 || !ReadGroup(message)) return false;
    }
    return reader_.ReadEmptyList();
  }

  // A group, and who is in it.
  bool ReadGroup(GroupMessage& message) {
    std::string_view name;
    const bool is_known = ReadName(message, name);
    std::vector<gen::PID> pids;
    if (!ReadPids(message, pids)) return false;
    if (is_known) message.groups.push_back({name, std::move(pids)});
    return true;
  }

  bool ReadNames(GroupMessage& message) {
    std::size_t count = 0;
    // Of small numbers.
    if (reader_.ReadEmptyList() || reader_.ReadString()) return true;
    if (!reader_.ReadList(count)) return false;
    for (; count != 0; --count) {
      std::string_view name;
      if (ReadName(message, name)) message.groups.push_back({name, {}});
    }
    return reader_.ReadEmptyList();
  }

  // False: it is no name here. It has been read in any case.
  bool ReadName(GroupMessage& message, std::string_view& name) {
    const std::string_view before = reader_.rest();
    if (reader_.ReadAtom(name) && !name.empty()) return true;
    std::string_view term;
    if (reader_.rest().size() != before.size()) {
      term = before.substr(0, before.size() - reader_.rest().size());
    } else {
      (void)reader_.ReadTerm(term);
    }
    if (message.left_out.empty()) message.left_out = term;
    return false;
  }

  // Of any node; empty: of another one.
  bool ReadProcess(GroupMessage& message, gen::PID& pid) {
    if (reader_.ReadPid(node_, pid)) return true;
    std::string_view node;
    gen::PID other;
    if (!reader_.ReadPid(node, other)) return false;
    other.node = gen::Atom::Find(node).value_or(gen::Atom());
    if (!message.of_another) message.of_another = other;
    pid = {};
    return true;
  }

  // One, or a list of them.
  bool ReadPids(GroupMessage& message, std::vector<gen::PID>& pids) {
    gen::PID pid;
    if (ReadProcess(message, pid)) {
      if (!pid.node.empty()) pids.push_back(pid);
      return true;
    }
    std::size_t count = 0;
    if (reader_.ReadEmptyList()) return true;
    if (!reader_.ReadList(count)) return false;
    for (; count != 0; --count) {
      if (!ReadProcess(message, pid)) return false;
      if (!pid.node.empty()) pids.push_back(pid);
    }
    return reader_.ReadEmptyList();
  }

  ControlReader reader_;
  const gen::Atom node_;
};

}  // namespace

std::optional<GroupMessage> ReadGroupMessage(std::string_view term, gen::Atom node,
                                             std::size_t max_depth) {
  GroupMessage message;
  if (!GroupMessageReader(term, node, max_depth).Read(message)) return std::nullopt;
  return message;
}

void AppendDiscover(std::string& out, gen::PID self) {
  TermWriter writer(out);
  writer.Tuple(2);
  writer.Atom("discover");
  writer.Pid(self);
}

void AppendSync(std::string& out, gen::PID self, const MembersByGroup& members) {
  TermWriter writer(out);
  writer.Tuple(2);
  writer.Atom("$gen_cast");
  writer.Tuple(3);
  writer.Atom("sync");
  writer.Pid(self);
  writer.List(members.size());
  for (const auto& [group, pids] : members) {
    writer.Tuple(2);
    writer.Atom(group.Text());
    writer.List(pids.size());
    for (const gen::PID pid : pids) writer.Pid(pid);
    writer.Nil();
  }
  writer.Nil();
}

void AppendJoin(std::string& out, gen::PID self, gen::Atom group, std::span<const gen::PID> pids) {
  TermWriter writer(out);
  writer.Tuple(4);
  writer.Atom("join");
  writer.Pid(self);
  writer.Atom(group.Text());
  if (pids.size() == 1) {
    writer.Pid(pids.front());
    return;
  }
  writer.List(pids.size());
  for (const gen::PID pid : pids) writer.Pid(pid);
  writer.Nil();
}

void AppendLeave(std::string& out, gen::PID self, gen::Atom group, gen::PID pid,
                 std::size_t times) {
  TermWriter writer(out);
  writer.Tuple(4);
  writer.Atom("leave");
  writer.Pid(self);
  writer.List(times);
  for (std::size_t i = 0; i < times; ++i) writer.Pid(pid);
  writer.Nil();
  writer.List(1);
  writer.Atom(group.Text());
  writer.Nil();
}

std::size_t MembersThatFit(std::size_t bytes, gen::Atom node) {
  // Tuples, lists, words, a name, and of each PID the tag, the node with its size, and twelve bytes of numbers.
  constexpr std::size_t kRest = 64 + gen::Atom::kMaxBytes;
  const std::size_t pid = 15 + node.Text().size();
  return bytes < kRest + 2 * pid ? 1 : (bytes - kRest) / pid - 1;
}

bool IsGroupOfErlang(gen::Atom group) { return CountCharacters(group.Text()).has_value(); }

}  // namespace ergon::dist
