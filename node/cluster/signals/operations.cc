#include <ergon/node/cluster/signals/operations.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kForms = static_cast<std::size_t>(Operation::kUnlinkAck) + 1;

constexpr std::array<OperationForm, kForms> MakeForms() {
  using enum Element;
  using Kind = SignalKind;
  std::array<OperationForm, kForms> forms{};
  const auto form = [&forms](Operation operation) -> OperationForm& {
    return forms[static_cast<std::size_t>(operation)];
  };
  form(Operation::kLink) = {Kind::kLink, {kFrom, kTo}};
  form(Operation::kUnlink) = {Kind::kUnlink, {kId, kFrom, kTo}};
  form(Operation::kUnlinkAck) = {Kind::kUnlinkAck, {kId, kFrom, kTo}};

  form(Operation::kSend) = {Kind::kSend, {kIgnored, kTo}, true};
  form(Operation::kSendTraced) = {Kind::kSend, {kIgnored, kTo, kToken}, true};
  form(Operation::kSendFrom) = {Kind::kSend, {kSender, kTo}, true};
  form(Operation::kSendFromTraced) = {Kind::kSend, {kSender, kTo, kToken}, true};
  form(Operation::kSendToName) = {Kind::kSendToName, {kSender, kIgnored, kName}, true};
  form(Operation::kSendToNameTraced) = {
      Kind::kSendToName, {kSender, kIgnored, kName, kToken}, true};
  form(Operation::kSendToAlias) = {Kind::kSendToAlias, {kSender, kReference}, true};
  form(Operation::kSendToAliasTraced) = {Kind::kSendToAlias, {kSender, kReference, kToken}, true};

  form(Operation::kExit) = {Kind::kExit, {kFrom, kTo, kReason}};
  form(Operation::kExitTraced) = {Kind::kExit, {kFrom, kTo, kToken, kReason}};
  form(Operation::kExitPayload) = {Kind::kExit, {kFrom, kTo}, true};
  form(Operation::kExitPayloadTraced) = {Kind::kExit, {kFrom, kTo, kToken}, true};
  form(Operation::kExitRequest) = {Kind::kExitRequest, {kFrom, kTo, kReason}};
  form(Operation::kExitRequestTraced) = {Kind::kExitRequest, {kFrom, kTo, kToken, kReason}};
  form(Operation::kExitRequestPayload) = {Kind::kExitRequest, {kFrom, kTo}, true};
  form(Operation::kExitRequestPayloadTraced) = {Kind::kExitRequest, {kFrom, kTo, kToken}, true};

  form(Operation::kMonitor) = {Kind::kMonitor, {kFrom, kToOrName, kReference}};
  form(Operation::kDemonitor) = {Kind::kDemonitor, {kFrom, kToOrName, kReference}};
  form(Operation::kDown) = {Kind::kDown, {kFromOrName, kTo, kReference, kReason}};
  form(Operation::kDownPayload) = {Kind::kDown, {kFromOrName, kTo, kReference}, true};

  form(Operation::kSpawnRequest) = {
      Kind::kSpawnRequest, {kReference, kFrom, kIgnored, kFunction, kOptions}, true};
  form(Operation::kSpawnRequestTraced) = {
      Kind::kSpawnRequest, {kReference, kFrom, kIgnored, kFunction, kOptions, kToken}, true};
  form(Operation::kSpawnReply) = {Kind::kSpawnReply, {kReference, kTo, kLinks, kStarted}};
  form(Operation::kSpawnReplyTraced) = {Kind::kSpawnReply,
                                        {kReference, kTo, kLinks, kStarted, kToken}};
  return forms;
}

constexpr std::array<OperationForm, kForms> kFormsByNumber = MakeForms();
constexpr OperationForm kUnknownForm;

}  // namespace

const OperationForm& FormOf(std::uint64_t number) noexcept {
  return number < kForms ? kFormsByNumber[number] : kUnknownForm;
}

}  // namespace ergon::dist
