// Erlang's observer asks appmon_info:start_link2 for a process, and tells that process what it wants to see. The
// process sends that once, and again when it has changed:
//
//   {'$gen_cast', {Client, Command, Which, IsOn, Options}}  ->  {delivery, Self, Command, Which, Result}
//
//   app_ctrl   [{Pid, Name, {Name, Description, Version}}] of the applications
//   app        {Root, [{Pid, Text}], [{Text, TextOfChild}], []} of one: who has spawned whom
#include <ergon/node/cluster/tools/application_answers.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include <ergon/gen/error.h>
#include <ergon/gen/node.h>
#include <ergon/gen/notices.h>
#include <ergon/gen/process.h>
#include <ergon/node/cluster/tools/observer_terms.h>
#include <ergon/node/cluster/tools/process_answers.h>

namespace ergon::dist {
namespace {

constexpr std::string_view kName = "appmon_info";
constexpr std::chrono::nanoseconds kPeriod = std::chrono::seconds(2);  // as Erlang's
constexpr int kMostAttempts = 100;
constexpr std::chrono::milliseconds kBetweenAttempts{10};
constexpr std::size_t kMostClients = 100;
constexpr std::size_t kMostWorks = 1000;
// Of a tree: a tool draws a box for each process.
constexpr std::size_t kMostBoxes = 500;

// A request; the answer says whether there is room for one more client.
struct NewClient {
  using Reply = bool;
  gen::PID pid;
};

// Processes that belong to no application are shown as one that has the node's name.
std::string OthersOf(const gen::Node& node) {
  const std::string name = node.Name().ToString();
  return name.substr(0, name.find('@'));
}

// Returns the processes behind the applications that run, by the names of the applications.
std::map<std::string, gen::PID> Masters(gen::Process& self) {
  std::map<std::string, gen::PID> masters;
  VisitProcesses(self, [&](const gen::ProcessInfo& info) {
    if (!info.application.empty()) masters[info.application.ToString()] = info.leader;
  });
  masters.emplace(OthersOf(self.Node()), self.Node().Self());
  return masters;
}

// {Name, Description, Version}
void WriteApplication(TermWriter& writer, const gen::Node& node, std::string_view name) {
  const auto known = gen::Atom::Find(name);
  const auto info = known ? node.ApplicationInfo(*known)
                          : gen::Result<gen::ApplicationInfo>(gen::ErrProcessUnknown);
  writer.Tuple(3);
  WriteName(writer, name);
  writer.Charlist(info ? std::string_view(info->description) : "processes of no application");
  writer.Charlist("");
}

Term ApplicationList(gen::Process& self) {
  ListOfTerms list;
  for (const auto& [name, master] : Masters(self)) {
    TermWriter writer = list.Add();
    writer.Tuple(3);
    writer.Pid(master);
    WriteName(writer, name);
    WriteApplication(writer, self.Node(), name);
  }
  return list.ToTerm();
}

// Returns the text in the box of a process. It is unique, because the links are between texts.
std::string BoxOf(const gen::ProcessInfo& info) {
  if (!info.name.empty()) return info.name.ToString();
  // As Erlang shows the PIDs of its own node.
  std::string pid = info.pid.ToString();
  pid.replace(pid.find(info.pid.node.Text()), info.pid.node.Text().size(), "0");
  return fmt::format("{} {}", ShortName(info.behavior), pid);
}

// Which process of an application has spawned which.
struct Tree {
  gen::PID root;
  std::map<gen::PID, std::string> boxes;
  std::vector<std::pair<gen::PID, gen::PID>> children;  // each behind its parent
};

gen::Result<Tree> TreeOf(gen::Process& self, const std::string& name) {
  const auto masters = Masters(self);
  const auto master = masters.find(name);
  if (master == masters.end()) return gen::ErrProcessUnknown;
  Tree tree{master->second, {}, {}};
  const bool is_rest = tree.root == self.Node().Self();
  std::string text = is_rest ? self.Node().Name().ToString() : name + " (application)";
  tree.boxes[tree.root];
  std::size_t left_out = 0;
  VisitProcesses(self, [&](const gen::ProcessInfo& info) {
    if (is_rest ? !info.application.empty() : info.application.Text() != name) return;
    if (tree.boxes.size() == kMostBoxes) {
      ++left_out;
    } else if (tree.boxes.emplace(info.pid, BoxOf(info)).second) {
      tree.children.emplace_back(info.parent, info.pid);
    }
  });
  if (left_out != 0) text += fmt::format(", and {} more", left_out);
  tree.boxes[tree.root] = std::move(text);
  return tree;
}

// {Root, [{Pid, Text}], [{Text, TextOfChild}], []}
Term TreeTerm(const gen::Result<Tree>& tree) {
  ListOfTerms boxes;
  ListOfTerms links;
  std::string root;
  if (tree) {
    root = tree->boxes.at(tree->root);
    for (const auto& [pid, text] : tree->boxes) {
      TermWriter box = boxes.Add();
      box.Tuple(2);
      box.Pid(pid);
      box.Charlist(text);
    }
    for (const auto& [parent, child] : tree->children) {
      TermWriter link = links.Add();
      link.Tuple(2);
      // Who has spawned it may have ended.
      const auto known = tree->boxes.find(parent);
      link.Charlist(known == tree->boxes.end() ? root : known->second);
      link.Charlist(tree->boxes.at(child));
    }
  }
  return MakeTerm([&](TermWriter& writer) {
    writer.Tuple(4);
    writer.Charlist(root);
    boxes.Write(writer);
    links.Write(writer);
    writer.Nil();
  });
}

// The process that observer is told of.
class Monitoring {
 public:
  explicit Monitoring(gen::Process& self) : self_(self) {}

  void Run() {
    while (auto heard = Hear()) {
      if (auto* client = std::get_if<gen::Asked<NewClient>>(&*heard)) {
        (void)self_.Reply(*client, Add(client->value.pid));
      } else if (auto* wish = std::get_if<Term>(&*heard)) {
        TakeWish(*wish);
      } else if (auto* down = std::get_if<gen::MessageDownPID>(&*heard)) {
        Remove(down->pid);
      }
      if (clients_.empty()) return;
    }
  }

 private:
  struct Work {
    gen::PID client;
    std::string command;
    Term which;
    Term last;
  };
  using Heard = std::variant<gen::Asked<NewClient>, Term, gen::MessageDownPID, gen::OtherMessage>;

  // Waits for the next message. Meanwhile it tells the clients what has changed.
  gen::Result<Heard> Hear() {
    for (;;) {
      auto heard =
          self_.Receive<gen::Asked<NewClient>, Term, gen::MessageDownPID, gen::OtherMessage>(
              pause_);
      if (heard || heard.error() != gen::ErrTimeout) return heard;
      const std::int64_t began = self_.Now();
      for (Work& work : works_) Tell(work);
      // It looks less often if the node has very many processes.
      pause_ = std::max(kPeriod, std::chrono::nanoseconds((self_.Now() - began) * 20));
    }
  }

  bool Add(gen::PID client) {
    if (clients_.contains(client)) return true;
    if (clients_.size() == kMostClients) return false;
    const auto ref = self_.Monitor(client);
    if (ref) clients_[client] = *ref;
    return static_cast<bool>(ref);
  }
  void Remove(gen::PID client) {
    const auto found = clients_.find(client);
    if (found == clients_.end()) return;
    (void)self_.Demonitor(found->second);
    clients_.erase(found);
    std::erase_if(works_, [&](const Work& work) { return work.client == client; });
  }

  void TakeWish(const Term& wish) {
    if (wish.kind() != Term::Kind::kTuple || wish.size() != 5) return;
    const auto client = wish[0].AsPid();
    const auto command = wish[1].AsAtomText();
    if (!client || !command || !clients_.contains(*client)) return;
    Work work{*client, *command, wish[2], {}};
    std::erase_if(works_, [&](const Work& other) {
      return other.client == work.client && other.command == work.command &&
             other.which == work.which;
    });
    if (wish[3].AsBoolean() != true) {
      // The user has left the page.
      if (work.command == "app_ctrl") Remove(work.client);
      return;
    }
    if (works_.size() == kMostWorks) return;
    works_.push_back(std::move(work));
    Tell(works_.back());
  }

  void Tell(Work& work) {
    Term result;
    if (work.command == "app_ctrl") {
      result = ApplicationList(self_);
    } else if (work.command == "app") {
      result = TreeTerm(TreeOf(self_, work.which.AsAtomText().value_or("")));
    } else {
      return;
    }
    if (result == work.last) return;
    (void)self_.Send(work.client, Term::Tuple({Term::Atom("delivery"), Term(self_.Self()),
                                               Term::Atom(work.command), work.which, result}));
    work.last = std::move(result);
  }

  gen::Process& self_;
  std::chrono::nanoseconds pause_ = kPeriod;
  std::map<gen::PID, gen::Ref> clients_;  // and the monitors of them
  std::vector<Work> works_;
};

struct RunMonitoring {
  void operator()(gen::Process& self) const { Monitoring(self).Run(); }
};

// At most one such process runs, and has this name, as in Erlang.
gen::Result<gen::PID> FindOrStart(gen::Process& self) {
  auto pid = self.SpawnRegister(gen::Atom(kName), RunMonitoring());
  if (pid || pid.error() != gen::ErrTaken) return pid;
  pid = self.Node().Resolve(gen::Atom(kName));
  if (!pid) return pid;
  const auto info = self.Node().ProcessInfo(*pid);
  if (!info) return info.error();
  // A process of the user's may have the name.
  if (ShortName(info->behavior) != "RunMonitoring") return gen::Error(gen::Atom("name_is_taken"));
  return pid;
}

Answer StartLink(gen::Process& self, const Arguments& arguments) {
  const auto client = arguments[1].AsPid();
  if (!client) return BadArgument();
  // If the user has left a page just now, the process of that page is about to end.
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    const auto pid = FindOrStart(self);
    if (pid) {
      const auto is_client = self.Call(*pid, NewClient{*client});
      if (is_client && *is_client) return Term::Tuple({Term::Atom("ok"), Term(*pid)});
      if (is_client) return gen::Error(gen::Atom("system_limit"));
    } else if (pid.error() != gen::ErrProcessUnknown && pid.error() != gen::ErrProcessTerminated) {
      return pid.error();
    }
    if (!self.Sleep(kBetweenAttempts)) break;
  }
  return gen::ErrBusy;
}

Answer WhichApplications(gen::Process& self, const Arguments&) {
  ListOfTerms list;
  const std::string others = OthersOf(self.Node());
  for (const auto& [name, master] : Masters(self)) {
    if (name == others) continue;
    TermWriter writer = list.Add();
    WriteApplication(writer, self.Node(), name);
  }
  return list.ToTerm();
}

}  // namespace

void AddApplicationAnswers(std::vector<detail::RemoteFunction>& table) {
  table.push_back({"appmon_info", "start_link2", 3, StartLink});
  table.push_back({"application", "which_applications", 0, WhichApplications});
  table.push_back({"application", "which_applications", 1, WhichApplications});
}

}  // namespace ergon::dist
