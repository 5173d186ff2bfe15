#include <ergon/node/recording/tracks.h>

#include <iterator>
#include <utility>

#include <pthread.h>
#include <unistd.h>

#include <ergon/core/clock.h>
#include <ergon/gen/trace.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/process/current_process.h>
#include <ergon/node/process/process.h>

namespace ergon::node {
namespace {

using Kind = RecordedEvent::Kind;

// The turn that this thread runs, see TurnMeter.
struct RecordedTurn {
  const ProcessSlot* process = nullptr;
  std::uint64_t id = 0;
  std::uint64_t number = 0;  // of the track's turns
  std::uint64_t recording = 0;
  std::int64_t since = 0;
};
thread_local RecordedTurn recorded_turn;
thread_local std::uint64_t told_in_recording = 0;  // this thread has told its name there

bool IsWaiting(const ProcessSlot& process) {
  return process.activity().state() == gen::ProcessState::kWaiting;
}

}  // namespace

void Tracks::Begin(std::uint64_t only, bool sends) {
  static std::atomic<std::uint64_t> recordings{0};
  only_.store(only, std::memory_order_relaxed);
  records_sends_.store(sends, std::memory_order_relaxed);
  numbers_.store(0, std::memory_order_relaxed);
  left_out_.store(0, std::memory_order_relaxed);
  recording_.store(recordings.fetch_add(1, std::memory_order_relaxed) + 1,
                   std::memory_order_relaxed);
  for (Stripe& stripe : stripes_) {
    std::lock_guard lock(stripe.mutex);
    stripe.is_on = true;
  }
}

Tracks::Track* Tracks::FindOrMake(Stripe& stripe, const ProcessSlot& process) {
  const std::uint64_t id = process.Id();
  if (const auto found = stripe.tracks.find(id); found != stripe.tracks.end()) {
    return &found->second;
  }
  if (stripe.tracks.size() >= kMostTracks || stripe.events.size() >= kMostEvents) return nullptr;
  Track track;
  track.number = numbers_.fetch_add(1, std::memory_order_relaxed) + 1;
  // It asks the behavior, which may throw.
  track.label = std::make_shared<const std::string>(AsInItsLines(addresses_, addresses_.PidOf(id)));
  RecordedEvent event{Kind::kProcess};
  event.process = track.number;
  event.label = track.label;
  Put(stripe, std::move(event));
  return &stripe.tracks.emplace(id, std::move(track)).first->second;
}

void Tracks::Put(Stripe& stripe, RecordedEvent event) {
  if (stripe.events.size() >= kMostEvents) {
    left_out_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  stripe.events.push_back(std::move(event));
}

void Tracks::TellThread(Stripe& stripe) {
  const std::uint64_t recording = recording_.load(std::memory_order_relaxed);
  if (told_in_recording == recording) return;
  char name[16] = "";
  (void)::pthread_getname_np(::pthread_self(), name, sizeof name);
  RecordedEvent event{Kind::kThread};
  event.thread = ::gettid();
  event.label = std::make_shared<const std::string>(name);
  stripe.events.push_back(std::move(event));  // though it is full: there are few threads
  told_in_recording = recording;
}

void Tracks::BeginWait(Track& track, const ProcessSlot& process, std::int64_t begin,
                       gen::TraceId trace) {
  RecordedEvent wait{IsWaiting(process) ? Kind::kWaits : Kind::kGivesWay, begin};
  wait.trace = trace;
  const CallEdge::View call = process.Waited();
  if (call.id != 0 && wait.kind == Kind::kWaits) {
    wait.kind = Kind::kAwaitsAnswer;
    wait.type = call.type;
    if (call.to != 0) wait.to = addresses_.PidOf(call.to);
  }
  track.waits = true;
  track.resumed = 0;
  track.wait = std::move(wait);
}

void Tracks::EndWait(Stripe& stripe, Track& track, std::int64_t end) {
  if (!std::exchange(track.waits, false)) return;
  RecordedEvent wait = track.wait;
  wait.end = track.resumed != 0 ? track.resumed : end;
  wait.process = track.number;
  Put(stripe, std::move(wait));
}

void Tracks::EndBusy(Stripe& stripe, Track& track, std::int64_t end,
                     const core::TypeDescriptor* type) {
  EndWait(stripe, track, end);
  if (!std::exchange(track.is_busy, false)) return;
  RecordedEvent event{Kind::kHandles, track.since, end};
  event.process = track.number;
  event.type = type;
  Put(stripe, std::move(event));
}

bool Tracks::BeginTurn(const ProcessSlot& process) {
  const std::uint64_t id = process.Id();
  const auto is_wanted = [&] {
    const std::uint64_t only = only_.load(std::memory_order_relaxed);
    return only == 0 || only == id;
  };
  recorded_turn.process = nullptr;
  if (!is_wanted()) return false;
  Stripe& stripe = StripeOf(id);
  std::lock_guard lock(stripe.mutex);
  if (!stripe.is_on || !is_wanted()) return false;  // or another recording has begun
  Track* const track = FindOrMake(stripe, process);
  if (track == nullptr) {
    left_out_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  TellThread(stripe);
  // Under the lock: what a track has noted last is never later.
  const std::int64_t now = core::SteadyNow();
  ++track->turns;
  if (track->waits) {
    track->resumed = now;
  } else {
    // The thread of the turn before has not come to its EndTurn yet.
    EndBusy(stripe, *track, now, nullptr);
    track->is_busy = true;
    track->since = now;
  }
  recorded_turn = {&process, id, track->turns, recording_.load(std::memory_order_relaxed), now};
  return records_sends_.load(std::memory_order_relaxed);
}

bool Tracks::NoteSend(const ProcessSlot& process, gen::PID to, const core::Envelope& envelope) {
  RecordedEvent event{IsMessage(envelope) && !IsRequest(envelope) ? Kind::kSends : Kind::kCalls};
  event.type = envelope.type;
  event.to = to;
  event.trace = gen::TraceOf(envelope);
  const std::uint64_t id = process.Id();
  Stripe& stripe = StripeOf(id);
  std::lock_guard lock(stripe.mutex);
  const auto found = stripe.is_on ? stripe.tracks.find(id) : stripe.tracks.end();
  if (found == stripe.tracks.end()) return false;
  if (stripe.sends >= kMostSends) {
    left_out_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  event.begin = event.end = core::SteadyNow();
  event.process = found->second.number;
  try {
    Put(stripe, std::move(event));
    ++stripe.sends;
  } catch (const std::bad_alloc&) {  // no reason not to send
    left_out_.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

void Tracks::EndTurn(core::TurnEnd end) {
  if (recorded_turn.process == nullptr) return;
  const RecordedTurn turn = std::exchange(recorded_turn, {});
  // A turn that ends because its process suspends itself leaves the process the current one, and this thread's. After
  // any other the process may run elsewhere already: what follows may be read by any thread.
  const ProcessRunner* const runner = CurrentProcess();
  const bool suspends = end == core::TurnEnd::kIdle && runner != nullptr;
  const bool is_its_own = suspends && runner == turn.process;
  const gen::TraceId trace = is_its_own ? static_cast<const Process*>(runner)->Trace() : 0;
  Stripe& stripe = StripeOf(turn.id);
  std::lock_guard lock(stripe.mutex);
  if (!stripe.is_on || recording_.load(std::memory_order_relaxed) != turn.recording) return;
  const auto found = stripe.tracks.find(turn.id);
  if (found == stripe.tracks.end()) return;
  Track& track = found->second;
  const std::int64_t now = core::SteadyNow();
  // The next turn notes its number under the lock before it changes what is looked at here.
  const bool is_last = track.turns == turn.number;
  RecordedEvent event{Kind::kTurn, turn.since, now};
  event.thread = ::gettid();
  event.label = track.label;
  const core::TypeDescriptor* const type = is_last ? turn.process->activity().type() : nullptr;
  event.type = type;
  Put(stripe, std::move(event));
  if (!is_last) return;
  if (suspends && turn.process->activity().state() != gen::ProcessState::kIdle) {
    EndWait(stripe, track, now);
    BeginWait(track, *turn.process, now, trace);
  } else if (end == core::TurnEnd::kIdle && IsWaiting(*turn.process)) {
    // It has only answered an inspection, and waits on.
    if (track.waits) {
      track.resumed = 0;
    } else {
      BeginWait(track, *turn.process, now, 0);
    }
  } else {  // or it waits for messages in Receive, and has nothing else to do
    EndBusy(stripe, track, now, type);
    if (end == core::TurnEnd::kCompleted) stripe.tracks.erase(found);
  }
}

void Tracks::TakeEvents(std::vector<RecordedEvent>& events) {
  for (Stripe& stripe : stripes_) {
    std::vector<RecordedEvent> taken;
    {
      std::lock_guard lock(stripe.mutex);
      taken.swap(stripe.events);
      stripe.sends = 0;
    }
    std::move(taken.begin(), taken.end(), std::back_inserter(events));
  }
}

void Tracks::End(std::vector<RecordedEvent>& events) {
  for (Stripe& stripe : stripes_) {
    std::lock_guard lock(stripe.mutex);
    stripe.is_on = false;
    const std::int64_t now = core::SteadyNow();
    for (auto& [id, track] : stripe.tracks) {
      const ProcessSlot* const process = addresses_.Find(addresses_.PidOf(id));
      EndBusy(stripe, track, now, process == nullptr ? nullptr : process->activity().type());
    }
    stripe.tracks.clear();
  }
  TakeEvents(events);
}

void Tracks::Cancel() noexcept {
  for (Stripe& stripe : stripes_) {
    std::lock_guard lock(stripe.mutex);
    stripe.is_on = false;
    stripe.tracks.clear();
    stripe.events.clear();
    stripe.sends = 0;
  }
}

}  // namespace ergon::node
