#include <soak/labourer.h>

#include <stdexcept>
#include <thread>

#include <soak/caller.h>

namespace ergon::soak {

Labourer::Labourer(Stage* stage, Helpers helpers, LabourerOptions options)
    : stage_(*stage), helpers_(helpers), options_(options) {
  if (options_.may_fail_to_start && Stage::TakeOne(stage_.factories_to_fail)) {
    stage_.Note(Fault::kFactoryFailed);
    throw std::runtime_error("the factory is told to fail");
  }
}

gen::Status Labourer::Init(const gen::Args&) {
  if (options_.may_fail_to_start && Stage::TakeOne(stage_.inits_to_fail)) {
    stage_.Note(Fault::kInitFailed);
    return gen::Stop(gen::Reason::Error("Init is told to fail"));
  }
  return gen::Continue();
}

gen::Status Labourer::HandleMessage(gen::PID from, gen::Message& message) {
  AnswerDeferred();
  if (auto* parcel = message.As<Parcel>()) {
    parcel->ticket.Start();
    return Do(parcel->errand, parcel->ticket);
  }
  if (auto* passed_on = message.As<gen::MessageFallback>()) {
    gen::Message inner = passed_on->message.View();
    auto* parcel = inner.As<Parcel>();
    if (parcel == nullptr) return gen::Continue();
    parcel->ticket.Start(false);
    return Do(parcel->errand, parcel->ticket);
  }
  if (message.Is<gen::MessageDownEvent>()) return gen::Continue();
  return Actor::HandleMessage(from, message);
}

gen::CallResult Labourer::HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) {
  AnswerDeferred();
  auto* question = request.As<Question>();
  if (question == nullptr) return Actor::HandleCall(from, ref, request);
  const Ticket& ticket = question->ticket;
  question->ticket.Start();
  Answer answer{ticket.sequence()};
  switch (question->errand.deed) {
    case Deed::kDefer:
      if (!options_.may_defer) break;
      deferred_.push_back({from, ref, ticket.sequence()});
      return gen::NoReply();
    case Deed::kFailAnswer:
      return gen::ReplyError(gen::Error("told to fail"));
    case Deed::kAnswerAndStop:
      stage_.Note(Fault::kStopped);
      return gen::ReplyAndStop(answer, gen::Reason::Error("told to answer and stop"));
    case Deed::kMakeAlias:
      if (aliases_.size() < 4) {
        if (auto alias = CreateAlias()) aliases_.push_back(answer.alias = *alias);
      }
      return gen::Reply(answer);
    default:
      break;
  }
  const gen::Status status = Do(question->errand, ticket);
  if (status.stops()) {
    ticket.Crash();  // nobody has answered it
    return gen::Stop(status.reason());
  }
  return gen::Reply(answer);
}

gen::Status Labourer::HandleEvent(const gen::MessageEvent& event) {
  if (event.Is<News>()) stage_.news_handled.fetch_add(1);
  return gen::Continue();
}

gen::Status Labourer::Do(const Errand& errand, const Ticket& ticket) {
  switch (errand.deed) {
    case Deed::kSleep:
      (void)Sleep(errand.time);
      break;
    case Deed::kBlock:
      stage_.Note(Fault::kBlocked);
      std::this_thread::sleep_for(errand.time);
      break;
    case Deed::kAsk:
      AskClerk();
      break;
    case Deed::kDropAlias:
      if (!aliases_.empty()) {
        (void)DeleteAlias(aliases_.back());
        aliases_.pop_back();
      }
      break;
    case Deed::kSubscribe:
      (void)MonitorEvent(gen::Event{errand.event, {}});
      break;
    case Deed::kThrow:
      stage_.Note(Fault::kException);
      ticket.Crash();
      throw std::runtime_error("told to throw");
    case Deed::kThrowOddly:
      stage_.Note(Fault::kException);
      ticket.Crash();
      throw 42;
    case Deed::kStop:
      stage_.Note(Fault::kStopped);
      return gen::Stop(gen::Reason::Error("told to stop"));
    case Deed::kStopNormally:
      stage_.Note(Fault::kStopped);
      return gen::Stop(gen::Reason::Normal());
    case Deed::kKillItself:
      stage_.Note(Fault::kKilledItself);
      (void)Node().Kill(Self());
      break;
    default:
      break;
  }
  return gen::Continue();
}

void Labourer::AskClerk() {
  const IncarnationPtr clerk = helpers_.clerk == nullptr ? nullptr : helpers_.clerk->Holder();
  if (clerk == nullptr || clerk->pid == Self() || !helpers_.book->HasRoom()) return;
  (void)Ask(stage_, Host(), *helpers_.book, clerk->pid, clerk, {}, std::chrono::milliseconds(2));
}

void Labourer::AnswerDeferred() {
  while (!deferred_.empty()) {
    const Deferred next = deferred_.front();
    deferred_.pop_front();
    (void)SendResponse(next.from, next.ref, Answer{next.sequence});
  }
}

}  // namespace ergon::soak
