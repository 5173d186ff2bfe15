#include <cluster/chaos/load.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/gen/notices.h>
#include <ergon/testkit/random.h>

#include <cluster/chaos/messages.h>
#include <cluster/chaos/receivers.h>
#include <cluster/chaos/spawner.h>

namespace ergon::chaos {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using testkit::Random;

constexpr int kOpenRequests = 8;
// A call never takes so long, however slow the machine is: whoever waits longer waits for ever, and the test says so.
constexpr gen::CallOptions kPatient{.timeout = gen::kInfinite};

std::chrono::milliseconds Pause(Random& random, int least, int most) {
  const auto range = static_cast<std::uint64_t>(most - least + 1);
  return std::chrono::milliseconds((least + static_cast<int>(random.Below(range))) * kSlowness);
}

// Sends numbered messages to the sink or the tight process of another node, in sessions: each lasts until it is long
// enough, or the monitor that it begins with tells of the loss of the connection.
class Sender {
 public:
  Sender(gen::Process& self, Stage& stage, Peer peer, std::string name, bool tight,
         std::uint64_t seed)
      : self_(self),
        stage_(stage),
        peer_(std::move(peer)),
        name_(std::move(name)),
        tight_(tight),
        to_(peer_.Process(tight ? kTight : kSink)),
        random_(seed) {}

  void Run() {
    for (int number = 1; !stage_.stopping; ++number) {
      session_ = fmt::format("{}/{}", name_, number);
      RunSession();
      self_.Sleep(Pause(random_, 1, 5));
    }
  }

 private:
  void RunSession() {
    stage_.ledger.Note("session {} {} {}", session_, peer_.node, tight_ ? "tight" : "ordered");
    stage_.ledger.Note("watch {} {}", session_, peer_.node);
    // First: from here on the loss of any connection that messages are sent on is told of.
    ref_ = self_.Monitor(to_).value();
    pid_ = {};
    // The answer comes after the news that there is no such process, if that is so.
    const auto opened = tight_
                            ? self_.Call<gen::PID>(peer_.Process(kSink), gen::Atom("who"), kPatient)
                            : self_.Call(to_, Open{session_}, kPatient);
    if (!opened) {
      End();
      return;
    }
    if (!tight_) pid_ = *opened;
    const int length = tight_ ? 1'000'000'000 : 1 + static_cast<int>(random_.Below(500));
    int number = 0;
    while (number < length && !stage_.stopping) {
      for (auto burst = random_.Below(8); burst > 0 && number < length; --burst) {
        if (IsTold()) return;
        if (SendOne(number + 1)) ++number;
      }
      self_.Sleep(Pause(random_, 2, 8));
    }
    if (number > 0) Finish(number);
    End();
  }

  // False: it was refused, and the next one gets its number.
  bool SendOne(int number) {
    Note note{session_, number, {}};
    if (random_.Below(10) == 0) note.padding.assign(4096 + random_.Below(40'000), 'x');
    const gen::Target to = pid_ && random_.Below(2) == 0 ? gen::Target(pid_) : gen::Target(to_);
    const bool important = !tight_ && !IsErlang(peer_.node) && random_.Below(10) == 0;
    const auto sent =
        important ? self_.SendImportant(to, std::move(note)) : self_.Send(to, std::move(note));
    if (sent) {
      stage_.ledger.Note("sent {} {} {}", session_, number, important ? "important" : "plain");
      return true;
    }
    // Nobody knows whether it has arrived.
    if (important && sent.error() == gen::ErrNoConnection) {
      stage_.ledger.Note("unsure {} {}", session_, number);
      return true;
    }
    stage_.ledger.Note("refused {} {} {}", session_, number, WordFor(sent.error()));
    return false;
  }

  // The answer comes when all that was sent before is in the receiver's mailbox, unless the connection was lost: then
  // the notice is there before.
  void Finish(int number) {
    if (tight_) {
      (void)self_.Call<gen::PID>(peer_.Process(kSink), gen::Atom("who"), kPatient);
      return;
    }
    const auto closed = self_.Call(to_, Close{session_}, kPatient);
    if (closed && !HasNotice()) stage_.ledger.Note("closed {} {}", session_, number);
  }

  bool HasNotice() {
    if (notice_) return true;
    auto down = self_.Receive<gen::MessageDownProcessID>(0ns);
    if (down) notice_ = std::move(*down);
    return down.has_value();
  }
  bool IsTold() {
    if (!HasNotice()) return false;
    stage_.ledger.Note("signal {} {}", session_, notice_->reason.ToString());
    notice_.reset();
    return true;
  }
  void End() {
    if (IsTold()) return;
    (void)self_.Demonitor(ref_);
    stage_.ledger.Note("unwatch {}", session_);
  }

  gen::Process& self_;
  Stage& stage_;
  const Peer peer_;
  const std::string name_;
  const bool tight_;
  const gen::ProcessID to_;
  Random random_;
  std::string session_;
  gen::Ref ref_;
  gen::PID pid_;
  std::optional<gen::MessageDownProcessID> notice_;
};

// Decides whether to ask in a form that a node of Erlang does not have.
bool IsPackedFor(const Peer& peer, Random& random) {
  return !IsErlang(peer.node) && random.Below(2) == 0;
}

void NoteOutcome(Stage& stage, const std::string& name, int number,
                 const gen::Result<std::int64_t>& answer) {
  if (answer) {
    stage.ledger.Note("answer {} {} {}", name, number, *answer);
  } else {
    stage.ledger.Note("error {} {} {}", name, number, WordFor(answer.error()));
  }
}

// Calls that the process is suspended in. Some do not wait long.
void CallOn(gen::Process& self, Stage& stage, const Peer& peer, const std::string& name,
            std::uint64_t seed) {
  Random random(seed);
  for (int number = 1; !stage.stopping; ++number) {
    const bool hasty = random.Below(8) == 0;
    stage.ledger.Note("call {} {} {} {}", name, number, peer.node, hasty ? "hasty" : "patient");
    const auto to = peer.Process(random.Below(2) == 0 ? kPool : kSink);
    const gen::CallOptions patience{
        .timeout = hasty ? std::chrono::nanoseconds(Pause(random, 0, 10)) + 100us : gen::kInfinite};
    const auto answer = IsPackedFor(peer, random)
                            ? self.Call(to, PackedAsk{{name, number}}, patience)
                            : self.Call(to, Ask{name, number}, patience);
    NoteOutcome(stage, name, number, answer);
    self.Sleep(Pause(random, 0, 4));
  }
}

struct AskMore {};  // does not leave this node

// Many calls at a time, for which it does not wait.
class Asker : public act::Actor {
 public:
  Asker(Stage* stage, Peer peer, std::string name, std::uint64_t seed)
      : stage_(*stage), peer_(std::move(peer)), name_(std::move(name)), random_(seed) {}

 private:
  gen::Status Init(const gen::Args&) override { return More(); }

  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (message.Is<AskMore>()) return More();
    return Actor::HandleMessage(from, message);
  }
  gen::Status HandleResponse(gen::Ref ref, gen::Response& response) override {
    const auto found = open_.find(ref.id);
    if (found == open_.end()) {
      stage_.ledger.Note("error {} {} {}", name_, 0, "second_outcome");
      return gen::Continue();
    }
    NoteOutcome(stage_, name_, found->second, response.Take<std::int64_t>());
    open_.erase(found);
    return Next();
  }

  gen::Status More() {
    while (!stage_.stopping && open_.size() < kOpenRequests) {
      const int number = ++number_;
      stage_.ledger.Note("call {} {} {} {}", name_, number, peer_.node, "async");
      const auto to = peer_.Process(kPool);
      const auto ref = IsPackedFor(peer_, random_)
                           ? Request(to, PackedAsk{{name_, number}}, kPatient)
                           : Request(to, Ask{name_, number}, kPatient);
      if (ref) {
        open_[ref->id] = number;
      } else {
        stage_.ledger.Note("error {} {} {}", name_, number, WordFor(ref.error()));
        break;
      }
    }
    is_waiting_ = false;
    return Next();
  }
  gen::Status Next() {
    if (stage_.stopping && open_.empty()) return gen::Stop(gen::Reason::Normal());
    if (!is_waiting_ && open_.size() < kOpenRequests) {
      is_waiting_ = true;
      (void)SendAfter(Self(), AskMore{}, Pause(random_, 1, 8));
    }
    return gen::Continue();
  }
  void Terminate(const gen::Reason&) override { --stage_.busy; }

  Stage& stage_;
  const Peer peer_;
  const std::string name_;
  Random random_;
  std::unordered_map<std::uint64_t, int> open_;  // numbers by reference
  int number_ = 0;
  bool is_waiting_ = false;
};

// Monitors a process by its PID, twice, and by its name, and links itself with it. Some of these it ends after a while;
// each of the others must bring one signal.
class Watcher {
 public:
  Watcher(gen::Process& self, Stage& stage, Peer peer, std::string name, std::uint64_t seed)
      : self_(self), stage_(stage), peer_(std::move(peer)), name_(std::move(name)), random_(seed) {}

  void Run() {
    self_.SetTrapExit(true);
    while (!stage_.stopping) {
      const auto pid = self_.Call<gen::PID>(peer_.Process(kSink), gen::Atom("who"), kPatient);
      if (pid) Watch(*pid);
      self_.Sleep(Pause(random_, 1, 10));
    }
  }

 private:
  std::string NewName(const char* kind) {
    std::string name = fmt::format("{}:{}{}", name_, kind, ++number_);
    stage_.ledger.Note("watch {} {}", name, peer_.node);
    return name;
  }

  void Watch(gen::PID pid) {
    const bool lasts = random_.Below(3) == 0;
    const auto watch = [&](const gen::Target& to) {
      const std::string name = NewName("m");
      monitors_[self_.Monitor(to).value()] = name;
    };
    watch(pid);
    watch(pid);
    watch(peer_.Process(kSink));
    link_ = NewName("l");
    self_.Link(pid).value();
    if (!lasts) Take(Pause(random_, 0, 40));
    if (!lasts && (!link_.empty() || !monitors_.empty())) Undo(pid);
    while (!link_.empty() || !monitors_.empty()) Take(gen::kInfinite);
  }

  // Ends what has not told anything, or one half of it.
  void Undo(gen::PID pid) {
    if (!link_.empty() && random_.Below(2) == 0) {
      self_.Unlink(pid).value();
      stage_.ledger.Note("unwatch {}", link_);
      link_.clear();
    }
    const bool all = link_.empty();
    for (auto at = monitors_.begin(); at != monitors_.end();) {
      if (!all && random_.Below(2) == 0) {
        ++at;
        continue;
      }
      (void)self_.Demonitor(at->first);
      stage_.ledger.Note("unwatch {}", at->second);
      at = monitors_.erase(at);
    }
  }

  void Take(std::chrono::nanoseconds patience) {
    auto got = self_.Receive<gen::MessageDownPID, gen::MessageDownProcessID, gen::MessageExitPID>(
        patience);
    if (!got) return;
    if (const auto* exit = std::get_if<gen::MessageExitPID>(&*got)) {
      TakeSignal(std::exchange(link_, {}), exit->reason);
    } else if (const auto* down = std::get_if<gen::MessageDownPID>(&*got)) {
      TakeDown(down->ref, down->reason);
    } else {
      const auto& name = std::get<gen::MessageDownProcessID>(*got);
      TakeDown(name.ref, name.reason);
    }
  }
  void TakeDown(gen::Ref ref, const gen::Reason& reason) {
    const auto found = monitors_.find(ref);
    if (found == monitors_.end()) {
      TakeSignal({}, reason);
      return;
    }
    TakeSignal(found->second, reason);
    monitors_.erase(found);
  }
  void TakeSignal(const std::string& name, const gen::Reason& reason) {
    stage_.ledger.Note("signal {} {}", name.empty() ? name_ + ":none" : name, reason.ToString());
  }

  gen::Process& self_;
  Stage& stage_;
  const Peer peer_;
  const std::string name_;
  Random random_;
  int number_ = 0;
  std::map<gen::Ref, std::string> monitors_;  // their names
  std::string link_;                          // its name; empty: none
};

// Subscribes to the event of another node, for a while or until it is told of an end. Each subscription has a process
// of its own, so that no value of a former one is in its mailbox.
class Subscriber {
 public:
  Subscriber(gen::Process& self, Stage& stage, Peer peer, std::string name, std::uint64_t seed)
      : self_(self),
        stage_(stage),
        peer_(std::move(peer)),
        name_(std::move(name)),
        event_{kBeats, gen::Atom(FullName(peer_.node))},
        random_(seed) {}

  void Run() {
    stage_.ledger.Note("subscribe {} {}", name_, peer_.node);
    auto values = self_.MonitorEvent(event_);
    if (!values) {
      stage_.ledger.Note("no_event {} {}", name_, WordFor(values.error()));
      return;
    }
    for (const auto& value : *values) Take(value);
    const auto until = std::chrono::steady_clock::now() + Pause(random_, 20, 500);
    while (!stage_.stopping && std::chrono::steady_clock::now() < until) {
      if (!Receive(Pause(random_, 1, 20))) return;
    }
    Finish();
  }

 private:
  // The answer comes when all that was published before is in the mailbox, unless the connection was lost.
  void Finish() {
    const auto latest =
        self_.Call<std::int64_t>(peer_.Process(kPublisher), gen::Atom("latest"), kPatient);
    while (last_ < latest.value_or(0) && Receive(0ns)) {
    }
    if (is_told_) return;
    (void)self_.DemonitorEvent(event_);
    // It may have ended before; then there is a notice of that, and no further value.
    if (latest) stage_.ledger.Note("latest {} {}", name_, *latest);
  }
  // False: there is nothing, or it was the end.
  bool Receive(std::chrono::nanoseconds patience) {
    auto got = self_.Receive<gen::MessageEvent, gen::MessageDownEvent>(patience);
    if (!got) return patience != 0ns;
    if (const auto* value = std::get_if<gen::MessageEvent>(&*got)) {
      Take(*value);
      return true;
    }
    is_told_ = true;
    stage_.ledger.Note("event_end {} {}", name_,
                       std::get<gen::MessageDownEvent>(*got).reason.ToString());
    return false;
  }
  void Take(const gen::MessageEvent& value) {
    last_ = value.As<Beat>()->number;
    stage_.ledger.Note("value {} {}", name_, last_);
  }

  gen::Process& self_;
  Stage& stage_;
  const Peer peer_;
  const std::string name_;
  const gen::Event event_;
  Random random_;
  std::int64_t last_ = 0;
  bool is_told_ = false;
};

// One subscription after the other.
void Subscribe(gen::Process& self, Stage& stage, const Peer& peer, const std::string& name,
               std::uint64_t seed) {
  for (int number = 1; !stage.stopping; ++number) {
    const auto pid = self.Spawn(
        [&stage, &peer, own = fmt::format("{}/{}", name, number),
         chance = seed + 1'000'000 * static_cast<std::uint64_t>(number)](gen::Process& subscriber) {
          Subscriber(subscriber, stage, peer, own, chance).Run();
        });
    self.Monitor(pid.value()).value();
    self.Receive<gen::MessageDownPID>().value();
    self.Sleep(5ms);
  }
}

}  // namespace

void StartLoad(gen::Node& node, Stage& stage, const Peer& peer) {
  std::uint64_t seed = stage.seed + static_cast<std::uint64_t>(peer.node.front()) * 1000;
  const auto name = [&](const char* kind) {
    return fmt::format("{}.{}{}", stage.name, kind, peer.node);
  };
  const auto start = [&](std::atomic<int>& counter, auto run) {
    ++counter;
    auto* const count = &counter;
    node.Spawn([count, run, peer, own = ++seed](gen::Process& self) {
          run(self, peer, own);
          --*count;
        })
        .value();
  };
  Stage* const all = &stage;
  for (const char* kind : {"s", "r", "t"}) {
    start(stage.busy, [all, kind = *kind, own = name(kind)](gen::Process& self, const Peer& to,
                                                            std::uint64_t chance) {
      Sender(self, *all, to, own, kind == 't', chance).Run();
    });
  }
  for (const char* kind : {"c", "d"}) {
    start(stage.busy,
          [all, own = name(kind)](gen::Process& self, const Peer& to, std::uint64_t chance) {
            CallOn(self, *all, to, own, chance);
          });
  }
  for (const char* kind : {"w", "v"}) {
    start(stage.watching,
          [all, own = name(kind)](gen::Process& self, const Peer& to, std::uint64_t chance) {
            Watcher(self, *all, to, own, chance).Run();
          });
  }
  start(stage.watching,
        [all, own = name("p")](gen::Process& self, const Peer& to, std::uint64_t chance) {
          SpawnOn(self, *all, to, own, chance);
        });
  if (!IsErlang(peer.node)) {
    start(stage.busy,
          [all, own = name("e")](gen::Process& self, const Peer& to, std::uint64_t chance) {
            Subscribe(self, *all, to, own, chance);
          });
  }
  ++stage.busy;
  node.Spawn(gen::Factory<Asker>(all, peer, name("q"), ++seed)).value();
}

}  // namespace ergon::chaos
