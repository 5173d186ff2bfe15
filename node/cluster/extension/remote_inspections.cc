#include <ergon/node/cluster/extension/remote_inspections.h>

#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/messenger.h>
#include <ergon/gen/notices.h>
#include <ergon/node/cluster/extension/ergon_signals.h>
#include <ergon/node/delivery/remote_names.h>
#include <ergon/node/delivery/request_claims.h>
#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::dist {
namespace {

// False: the term is no list of texts.
bool ReadItems(std::string_view term, std::vector<std::string>& items) {
  TermReader reader(term);
  std::size_t count = 0;
  if (!reader.EnterList(count)) return false;
  for (; count != 0; --count) {
    std::string_view item;
    if (!reader.ReadBinary(item)) return false;
    items.emplace_back(item);
  }
  return true;
}

// False: the term is no map of texts.
bool ReadInspection(std::string_view term, gen::Inspection& inspection) {
  TermReader reader(term);
  std::size_t count = 0;
  if (!reader.EnterMap(count)) return false;
  for (; count != 0; --count) {
    std::string_view key;
    std::string_view text;
    if (!reader.ReadBinary(key) || !reader.ReadBinary(text)) return false;
    inspection.emplace(key, text);
  }
  return true;
}

// The name in {as, Type}; empty: the term is something else.
std::string_view ReadWantedType(std::string_view term) {
  TermReader reader(term);
  std::size_t size = 0;
  std::string word;
  std::string_view name;
  if (!reader.EnterTuple(size) || size != 2 || !reader.ReadAtomText(word) ||
      word != kInspectionAs || !reader.ReadBinary(name)) {
    return {};
  }
  return name;
}

}  // namespace

void RemoteInspections::HandleQuestion(Connection& connection, const ErgonMessage& question,
                                       gen::PID from, gen::PID to) {
  const auto refuse = [&](const gen::Error& error) {
    AnswerQuestion(connection, question.reference, addresses_.NodePid(), error);
  };
  std::vector<std::string> items;
  const std::string_view wanted_name = ReadWantedType(question.term);
  const core::TypeDescriptor* const wanted = values_.FindType(wanted_name);
  if (!wanted_name.empty() && wanted == nullptr) {
    refuse(gen::Error(gen::ErrorCode::kUnsupported,
                      fmt::format("{} is not registered at {}", wanted_name, addresses_.node())));
    return;
  }
  if (wanted == nullptr && !ReadItems(question.term, items)) {
    refuse(gen::Error(gen::ErrorCode::kIncorrect, "an inspection whose items are no texts"));
    return;
  }
  if (!to) {
    refuse(gen::ErrProcessUnknown);
    return;
  }
  PeerState::Request request;
  request.caller = from;
  request.asked = to;
  request.answer = PeerState::AnswerForm::kInspection;
  request.tag = question.reference;
  request.alias = question.reference;
  request.watch = question.reference;  // see EndAbandonedCalls
  const std::uint64_t number = node::NextUniqueId();
  connection.Lock()->peer_state().AddRequest(number, std::move(request));
  core::EnvelopePtr envelope = gen::detail::MakeInspection(std::move(items), wanted);
  envelope->from = from.ToAddress();
  envelope->ref = number;
  envelope->deadline = node::kUntilWithdrawn;
  const auto sent = delivery_.Deliver(to, envelope);
  if (!sent) delivery_.RespondError(from, number, sent.error());
}

void RemoteInspections::HandleAnswer(const PeerState::Call& question, std::uint64_t number,
                                     std::string_view word, std::string_view term) {
  constexpr auto kKind = static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse);
  if (word == kInspectionAs) {
    auto value = values_.Read(term, kKind);
    if (value) {
      (void)delivery_.Respond(question.local, number, std::move(*value));
    } else {
      delivery_.RespondError(question.local, number, value.error());
    }
    return;
  }
  gen::Inspection inspection;
  if (word.empty() || !ReadInspection(term, inspection)) {
    delivery_.RespondError(
        question.local, number,
        gen::Error(gen::ErrorCode::kIncorrect, "an inspection of " + node::TextOf(question.remote) +
                                                   " whose answer is no map of texts"));
    return;
  }
  (void)delivery_.Respond(
      question.local, number,
      core::MakeEnvelope<gen::Inspection>(kKind, core::Lane::kMain, std::move(inspection)));
}

}  // namespace ergon::dist
