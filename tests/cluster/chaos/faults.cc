#include <cluster/chaos/faults.h>

#include <algorithm>
#include <utility>

#include <cluster/chaos/stage.h>

namespace ergon::chaos {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

// Of the slow faults there are fewer: each lets a pair, or a node, do nothing for seconds.
constexpr Fault kDeck[] = {Fault::kCut,  Fault::kCut,        Fault::kCut,        Fault::kCut,
                           Fault::kCut,  Fault::kDisconnect, Fault::kDisconnect, Fault::kPart,
                           Fault::kPart, Fault::kDelay,      Fault::kDelay,      Fault::kHold,
                           Fault::kHold, Fault::kSilence,    Fault::kStop,       Fault::kKill};

}  // namespace

Faults::Faults(Cluster& cluster, std::uint64_t seed) : cluster_(cluster), random_(seed) {}

std::chrono::milliseconds Faults::Between(std::int64_t least, std::int64_t most) {
  return std::chrono::milliseconds(least + static_cast<std::int64_t>(random_.Below(
                                               static_cast<std::uint64_t>(most - least + 1))));
}

std::string Faults::SomeNode() {
  const auto& names = cluster_.names();
  const std::size_t first = random_.Below(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& node = names[(first + i) % names.size()];
    if (cluster_.IsRunning(node)) return node;
  }
  return {};
}

std::chrono::milliseconds Faults::LongerThanTick() {
  const std::int64_t tick = cluster_.plan().tick.count();
  return Between(tick * 14 / 10, tick * 18 / 10);
}

Fault Faults::NextFault() {
  if (deck_.empty()) {
    deck_.assign(std::begin(kDeck), std::end(kDeck));
    for (std::size_t i = deck_.size(); i > 1; --i) std::swap(deck_[i - 1], deck_[random_.Below(i)]);
  }
  const Fault fault = deck_.back();
  deck_.pop_back();
  return fault;
}

void Faults::Later(std::chrono::milliseconds delay, std::function<void()> does) {
  undoings_.push_back({Clock::now() + delay, std::move(does)});
}

void Faults::UndoWhatIsDue() {
  const auto now = Clock::now();
  for (std::size_t i = 0; i < undoings_.size();) {
    if (undoings_[i].when > now) {
      ++i;
      continue;
    }
    const auto does = std::move(undoings_[i].does);
    undoings_.erase(undoings_.begin() + static_cast<std::ptrdiff_t>(i));
    does();
  }
}

void Faults::Undo() {
  for (const Undoing& undoing : std::exchange(undoings_, {})) undoing.does();
}

void Faults::Run(std::chrono::milliseconds duration) {
  const auto end = Clock::now() + duration;
  // A whole deck, also in a short run; sanitizers need time between two faults.
  const std::int64_t pause = std::min<std::int64_t>(
      400 * (kit::kSanitized ? 2 : 1), duration.count() / std::int64_t{std::size(kDeck)});
  auto next = Clock::now() + std::chrono::milliseconds(pause);
  while (Clock::now() < end && cluster_.problems().empty()) {
    cluster_.Step();
    UndoWhatIsDue();
    if (Clock::now() >= next) {
      Begin(NextFault());
      next = Clock::now() + Between(pause / 2, pause * 3 / 2);
    }
    std::this_thread::sleep_for(2ms);
  }
}

void Faults::Begin(Fault fault) {
  const auto pairs = cluster_.Pairs();
  const Pair pair = pairs[random_.Below(pairs.size())];
  // All chances are taken first: what the next ones are must not depend on what happens.
  const std::uint64_t chance = random_.Next();
  const auto shortly = Between(50, 600);
  const auto longer = LongerThanTick();
  const std::string node = SomeNode();
  const auto change = [this, pair](auto how) { cluster_.Change(pair, how); };
  switch (fault) {
    case Fault::kCut:
      cluster_.CutAll(pair, static_cast<Cut>(chance % kCuts));
      break;
    case Fault::kDisconnect: {
      if (node.empty()) return;
      const auto& names = cluster_.names();
      const std::string& other = names[chance % names.size()];
      cluster_.Disconnect(node, other == node ? names[(chance + 1) % names.size()] : other);
      break;
    }
    case Fault::kPart:
      change([](Weather& weather) { weather.refuses = true; });
      cluster_.CutAll(pair, static_cast<Cut>(chance % 2));
      Later(shortly, [change] { change([](Weather& weather) { weather.refuses = false; }); });
      break;
    case Fault::kDelay:
      change([chance](Weather& weather) {
        weather.delay = std::chrono::milliseconds(1 + chance % 40);
      });
      Later(2 * shortly, [change] { change([](Weather& weather) { weather.delay = 0ms; }); });
      break;
    case Fault::kHold:
    case Fault::kSilence: {
      const bool dialler = chance % 3 != 0;
      const bool dialled = chance % 3 != 1;
      change([=](Weather& weather) {
        weather.stalls_dialler = dialler;
        weather.stalls_dialled = dialled;
      });
      Later(fault == Fault::kHold ? shortly : longer, [change] {
        change([](Weather& weather) { weather.stalls_dialler = weather.stalls_dialled = false; });
      });
      break;
    }
    case Fault::kStop:
      if (node.empty()) return;
      cluster_.Stop(node);
      Later(longer, [this, node] { cluster_.Continue(node); });
      break;
    case Fault::kKill:
      if (node.empty()) return;
      cluster_.Kill(node);
      Later(shortly, [this, node] { cluster_.Restart(node); });
      break;
  }
  ++counts_[static_cast<std::size_t>(fault)];
}

}  // namespace ergon::chaos
