#include <cluster/chaos/spawner.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <variant>

#include <ergon/act/actor.h>
#include <ergon/gen/notices.h>
#include <ergon/testkit/random.h>

namespace ergon::chaos {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

constexpr const char* kModule = "chaos";
constexpr const char* kFunction = "child";
constexpr const char* kTold = "told";

struct Enough {};  // does not leave its node

// Lives for ever, or as long as it is told.
class ChildProcess : public act::Actor {
  gen::Status Init(const gen::Args& args) override {
    const auto life = args.Get<dist::Term>(0);
    if (life)
      (void)SendAfter(Self(), Enough{}, std::chrono::milliseconds(life->AsInteger().value_or(0)));
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    return gen::Stop(gen::Reason::Normal());
  }
};

std::string WordFor(const gen::Reason& reason) {
  std::string text = reason.ToString();
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

// One process, from the request to the news of its end.
class Spawn {
 public:
  Spawn(gen::Process& self, Stage& stage, const Peer& peer, std::string name,
        testkit::Random& random)
      : self_(self), stage_(stage), peer_(peer), name_(std::move(name)), random_(random) {}

  void Run() {
    const bool links = random_.Below(2) == 0;
    stage_.ledger.Note("spawn {} {} {}", name_, peer_.node, links ? "linked" : "monitored");
    const auto child = Begin(links);
    if (!child) {
      stage_.ledger.Note("no_spawn {} {}", name_, chaos::WordFor(child.error()));
      return;
    }
    stage_.ledger.Note("spawned {}", name_);
    if (links || random_.Below(2) == 0) {
      self_.Sleep(std::chrono::milliseconds(random_.Below(30)) * kSlowness);
      (void)self_.SendExit(child->pid, gen::Reason::Error(kTold));
    }
    for (int open = links ? 2 : 1; open > 0; --open) Take(*child);
  }

 private:
  // One that is not linked with this process ends by itself, for nobody else may be there to end it.
  gen::Result<dist::Monitored> Begin(bool links) {
    const dist::SpawnOptions options{.link = links, .call = {.timeout = gen::kInfinite}};
    const auto life = static_cast<std::int64_t>(random_.Below(60)) * kSlowness;
    const gen::Atom node(FullName(peer_.node));
    if (IsErlang(peer_.node)) {
      return dist::SpawnMonitored(self_, node, "timer", "sleep", {links ? 1'000'000 : life},
                                  options);
    }
    if (links) return dist::SpawnMonitored(self_, node, kModule, kFunction, {}, options);
    return dist::SpawnMonitored(self_, node, kModule, kFunction, {life}, options);
  }
  void Take(const dist::Monitored& child) {
    const auto got = self_.Receive<gen::MessageDownPID, gen::MessageExitPID>(gen::kInfinite);
    if (!got) return;
    if (const auto* down = std::get_if<gen::MessageDownPID>(&*got)) {
      stage_.ledger.Note("child_down {} {}", down->ref == child.monitor ? name_ : "none",
                         WordFor(down->reason));
    } else {
      const auto& exit = std::get<gen::MessageExitPID>(*got);
      stage_.ledger.Note("child_exit {} {}", exit.pid == child.pid ? name_ : "none",
                         WordFor(exit.reason));
    }
  }

  gen::Process& self_;
  Stage& stage_;
  const Peer& peer_;
  const std::string name_;
  testkit::Random& random_;
};

}  // namespace

void RegisterChildren(dist::ErlangOptions& options) {
  options.behaviors.Register(kModule, kFunction, gen::Factory<ChildProcess>());
}

void SpawnOn(gen::Process& self, Stage& stage, const Peer& peer, const std::string& name,
             std::uint64_t seed) {
  testkit::Random random(seed);
  self.SetTrapExit(true);
  for (int number = 1; !stage.stopping; ++number) {
    Spawn(self, stage, peer, fmt::format("{}/{}", name, number), random).Run();
    self.Sleep(std::chrono::milliseconds(1 + random.Below(8)) * kSlowness);
  }
  // What would come twice has had some time.
  const auto late = self.Receive<gen::MessageDownPID, gen::MessageExitPID>(50ms * kSlowness);
  if (late) stage.ledger.Note("child_down none late");
}

}  // namespace ergon::chaos
