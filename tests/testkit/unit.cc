#include <ergon/testkit/unit.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/core/time/deadline.h>
#include <ergon/gen/notices.h>

namespace ergon::testkit {

namespace {

std::unique_ptr<gen::ProcessBehavior> MakeFrom(const gen::ProcessFactory& factory) {
  if (!factory) throw std::invalid_argument("factory: is empty");
  if (factory.IsFunction()) {
    throw std::invalid_argument(
        "factory: it makes processes of a function, which need a node: use a Simulation");
  }
  auto behavior = factory.Make();
  if (behavior == nullptr) throw std::invalid_argument("factory: it has made no behaviour");
  return behavior;
}

}  // namespace

Unit::Unit(const gen::ProcessFactory& factory, const gen::Args& args, gen::Environment environment)
    : behavior_(MakeFrom(factory)) {
  host_.environment = std::move(environment);
  bool started = false;
  Guarded([&] {
    gen::Status status = behavior_->ProcessInit(host_, args);
    started = !status.stops();
    return status;
  });
  if (!started) {
    behavior_.reset();  // without Terminate
  } else if (ended_) {
    behavior_->ProcessTerminate(*ended_);  // by the function that Init gave to ContinueWith
  } else {
    AnswerRequests();
  }
}

Unit::~Unit() = default;

void Unit::CheckAlive() const {
  if (ended_) throw std::logic_error("the process has ended: " + ended_->ToString());
}

void Unit::Guarded(const std::function<gen::Status()>& function) {
  gen::Status status;
  try {
    status = function();
    while (status.has_next() && host_.next) status = std::exchange(host_.next, nullptr)();
  } catch (...) {
    std::string text = core::ThrownText();
    if (host_.handled != nullptr && *host_.handled != nullptr) {
      text += " (handling " + (*host_.handled)->type->Name() + ")";
    }
    status = gen::Stop(gen::Reason::Panic(std::move(text)));
  }
  if (!status.stops()) return;
  ended_ = status.reason();
}

void Unit::Handle(gen::PID from, core::EnvelopePtr envelope) {
  CheckAlive();
  envelope->from = from.ToAddress();
  host_.handled = &envelope;
  if (gen::IsUserMessage(static_cast<gen::EnvelopeKind>(envelope->kind))) ++host_.handled_messages;
  Guarded([&] { return behavior_->ProcessMessage(*envelope); });
  host_.handled = nullptr;
  if (ended_) {
    behavior_->ProcessTerminate(*ended_);
  } else {
    AnswerRequests();
  }
}

std::vector<gen::Ref> Unit::OpenRequests() const {
  std::vector<gen::Ref> refs;
  for (const auto& asked : host_.asked) refs.push_back(asked.ref);
  return refs;
}

void Unit::Answer(gen::Ref ref, core::EnvelopePtr response) {
  const auto found = std::find_if(host_.asked.begin(), host_.asked.end(),
                                  [&](const auto& asked) { return asked.ref == ref; });
  if (found == host_.asked.end()) throw std::logic_error("no open request " + ref.ToString());
  const gen::PID from = found->to;
  host_.asked.erase(found);
  response->ref = ref.id;
  Handle(from, std::move(response));
}

void Unit::AnswerRequests() {
  if (is_answering_) return;
  struct Answering {
    explicit Answering(bool& it_is) : is(it_is) { is = true; }
    ~Answering() { is = false; }
    bool& is;
  } const answering(is_answering_);
  while (!ended_) {
    const auto due = std::find_if(host_.asked.begin(), host_.asked.end(),
                                  [](const auto& asked) { return asked.answer != nullptr; });
    if (due == host_.asked.end()) return;
    core::EnvelopePtr answer = std::move(due->answer);
    Answer(due->ref, std::move(answer));  // its handler may ask again
  }
}

gen::Ref Unit::Request(gen::PID from, core::EnvelopePtr envelope) {
  const gen::Ref ref = host_.MakeRef();
  envelope->ref = ref.id;
  Handle(from, std::move(envelope));
  return ref;
}

core::EnvelopePtr Unit::TakeAnswer(gen::Ref ref) {
  const auto found = std::find_if(host_.responses.begin(), host_.responses.end(),
                                  [&](const auto& response) { return response.ref.id == ref.id; });
  return found == host_.responses.end() ? nullptr : std::move(found->envelope);
}

gen::Error Unit::WhyNoAnswer() const {
  if (!ended_) return gen::ErrTimeout;
  return gen::Error(gen::ErrorCode::kProcessTerminated,
                    "the process has ended: " + ended_->ToString());
}

void Unit::Down(gen::PID pid, const gen::Reason& reason) {
  const auto found = std::find_if(host_.monitors.begin(), host_.monitors.end(),
                                  [&](const auto& monitor) { return monitor.first == pid; });
  if (found == host_.monitors.end()) {
    throw std::logic_error("Down: " + pid.ToString() + " is not monitored");
  }
  const gen::Ref ref = found->second;
  host_.monitors.erase(found);
  Handle(pid, core::MakeEnvelope<gen::MessageDownPID>(
                  static_cast<std::uint8_t>(gen::EnvelopeKind::kDown), core::Lane::kSystem,
                  gen::MessageDownPID{pid, ref, reason}));
}

void Unit::Exit(gen::PID pid, const gen::Reason& reason) {
  std::erase(host_.links, pid);
  const bool is_of_parent = pid == host_.Parent();
  if (host_.traps_exits && !is_of_parent) {
    Handle(pid, core::MakeEnvelope<gen::MessageExitPID>(
                    static_cast<std::uint8_t>(gen::EnvelopeKind::kExit), core::Lane::kUrgent,
                    gen::MessageExitPID{pid, reason}));
    return;
  }
  CheckAlive();
  if (reason.IsNormal() && !is_of_parent) return;
  Guarded([&] { return behavior_->ProcessStop(reason); });
  if (ended_) behavior_->ProcessTerminate(*ended_);
}

gen::Inspection Unit::Inspect(std::vector<std::string> items) {
  const core::EnvelopePtr answer = TakeAnswer(
      Request(NewPID(), core::MakeEnvelope<gen::InspectRequest>(
                            static_cast<std::uint8_t>(gen::EnvelopeKind::kInspect),
                            core::Lane::kUrgent, gen::InspectRequest{std::move(items)})));
  auto* inspection = answer == nullptr ? nullptr : answer->ValueAs<gen::Inspection>();
  return inspection == nullptr ? gen::Inspection() : std::move(*inspection);
}

bool Unit::EndLateRequest(std::int64_t until) {
  const auto late =
      std::min_element(host_.asked.begin(), host_.asked.end(),
                       [](const auto& a, const auto& b) { return a.deadline < b.deadline; });
  if (ended_ || late == host_.asked.end() || late->deadline > until ||
      late->deadline == core::kNever)
    return false;
  host_.now = std::max(host_.now, late->deadline);
  Answer(late->ref, gen::detail::MakeErrorResponse(gen::ErrTimeout));
  return true;
}

void Unit::Advance(std::chrono::nanoseconds time) {
  constexpr int kMost = 10'000'000;
  const std::int64_t end = core::DeadlineAfter(host_.now, time);
  for (int arrivals = 0;; ++arrivals) {
    if (arrivals == kMost) {
      throw std::logic_error(
          "Advance: ten million messages have arrived: what is planned again and again, as by "
          "SendEvery, never comes to rest");
    }
    auto next = std::min_element(host_.planned.begin(), host_.planned.end(),
                                 [](const auto& a, const auto& b) { return a.at < b.at; });
    const bool has_next =
        next != host_.planned.end() && next->at <= end && next->at != core::kNever;
    if (EndLateRequest(has_next ? std::min(next->at - 1, end) : end)) continue;
    if (!has_next) break;
    UnitHost::Planned due = std::move(*next);
    host_.planned.erase(next);
    if (due.again ? *due.cancelled : std::exchange(*due.cancelled, true)) continue;
    if (due.again && ended_) continue;  // ticks end with the process that began them
    host_.now = std::max(host_.now, due.at);
    if (due.again) {
      core::EnvelopePtr tick = due.again();
      tick->from = due.envelope->from;
      const std::int64_t at = core::DeadlineAfter(due.at, std::chrono::nanoseconds(due.period));
      host_.planned.push_back({at, due.to, std::move(tick), due.cancelled, due.again, due.period});
    }
    if (due.to != Self()) {
      host_.sent.push_back({due.to, std::move(due.envelope)});
    } else if (!ended_) {
      Handle(Self(), std::move(due.envelope));
    }
  }
  host_.now = std::max(host_.now, end);
}

void Unit::ExpectNothingSent() const {
  if (host_.sent.empty()) return;
  const auto& first = host_.sent.front();
  throw ExpectationFailed("expected nothing to be sent, but there was " +
                          gen::Message(*first.envelope).TypeName() + " to " + first.to.ToString());
}

void Unit::ExpectLog(gen::LogLevel level, std::string_view text) const {
  std::string lines;
  for (const auto& line : host_.lines) {
    if (line.level == level && line.text.find(text) != std::string::npos) return;
    lines += "\n  " + std::string(gen::ToString(line.level)) + ": " + line.text;
  }
  throw ExpectationFailed("expected a log line of level " + std::string(gen::ToString(level)) +
                          " with '" + std::string(text) +
                          "'; there were:" + (lines.empty() ? std::string(" none") : lines));
}

void Unit::Forget() {
  host_.sent.clear();
  host_.lines.clear();
}

}  // namespace ergon::testkit
