#include <soak/caller.h>

#include <utility>

namespace ergon::soak {
namespace {

// What the outcome of a call says must agree with what has become of the request.
void Judge(Stage& stage, const gen::Result<Answer>& outcome, const CallWatch& watch,
           std::uint64_t sequence) {
  if (outcome) {
    stage.answers.fetch_add(1);
    if (outcome->sequence != sequence) stage.wrong_answers.fetch_add(1);
    if (!watch.started.load()) stage.unhandled_answers.fetch_add(1);
    return;
  }
  const gen::Error& error = outcome.error();
  stage.call_errors[static_cast<std::size_t>(error.code())].fetch_add(1);
  const bool never_taken = error == gen::ErrProcessMailboxFull || error == gen::ErrProcessUnknown ||
                           error == gen::ErrDeadlock;
  if ((never_taken || watch.refused.load()) && watch.started.load()) {
    stage.handled_refusals.fetch_add(1);
  }
}

}  // namespace

// Not inlined: the frame has to be that of this function, on the caller's stack.
[[gnu::noinline]] gen::Result<Answer> Ask(Stage& stage, gen::Messenger& messenger, Book& book,
                                          const gen::Target& to, const IncarnationPtr& incarnation,
                                          const Errand& errand, std::chrono::nanoseconds timeout) {
  auto watch = std::make_shared<CallWatch>();
  Question question{book.Issue(Kind::kCall, incarnation, watch), errand};
  const std::uint64_t sequence = question.ticket.sequence();
  stage.calls.fetch_add(1);
  watch->frame.store(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  auto outcome = messenger.Call<Answer>(to, std::move(question), {.timeout = timeout});
  watch->frame.store(0);
  if (watch->refused.load()) {
    book.Refused(Kind::kCall);
  } else {
    book.Accepted(Kind::kCall, incarnation.get());
  }
  Judge(stage, outcome, *watch, sequence);
  return outcome;
}

[[gnu::noinline]] void AskLater(Stage& stage, gen::Node& node, Book& book, gen::PID to,
                                const IncarnationPtr& incarnation, const Errand& errand,
                                std::chrono::nanoseconds timeout) {
  struct Pending {
    CallWatchPtr watch = std::make_shared<CallWatch>();
    std::atomic<int> outcomes{0};
  };
  auto pending = std::make_shared<Pending>();
  Question question{book.Issue(Kind::kCall, incarnation, pending->watch), errand};
  const std::uint64_t sequence = question.ticket.sequence();
  stage.calls.fetch_add(1);
  stage.async_calls.fetch_add(1);
  // A call that is refused may have timed out at the same moment: its outcome does not tell.
  pending->watch->frame.store(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  auto request =
      core::MakeEnvelope<Question>(static_cast<std::uint8_t>(gen::EnvelopeKind::kRequest),
                                   core::Lane::kMain, std::move(question));
  node.CallEnvelopeAsync(to, std::move(request), timeout,
                         [&stage, pending, sequence](gen::Result<core::EnvelopePtr> response) {
                           if (pending->outcomes.fetch_add(1) != 0)
                             stage.second_outcomes.fetch_add(1);
                           gen::Result<Answer> outcome = gen::ErrUnexpectedType;
                           if (!response) {
                             outcome = response.error();
                           } else if (const auto* error = (*response)->ValueAs<gen::Error>()) {
                             outcome = *error;
                           } else if (const auto* answer = (*response)->ValueAs<Answer>()) {
                             outcome = *answer;
                           }
                           Judge(stage, outcome, *pending->watch, sequence);
                           stage.async_outcomes.fetch_add(1);
                         });
  pending->watch->frame.store(0);
  if (pending->watch->refused.load()) {
    book.Refused(Kind::kCall);
  } else {
    book.Accepted(Kind::kCall, incarnation.get());
  }
}

bool SendParcel(gen::Messenger& messenger, Book& book, const gen::Target& to,
                const IncarnationPtr& incarnation, const Errand& errand) {
  auto sent = messenger.Send(to, Parcel{book.Issue(Kind::kSend, incarnation), errand});
  if (sent) {
    book.Accepted(Kind::kSend, incarnation.get());
  } else {
    book.Refused(Kind::kSend);
  }
  return static_cast<bool>(sent);
}

}  // namespace ergon::soak
