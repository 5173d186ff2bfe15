#include <ergon/act/actor/split_handle.h>

#include <ergon/gen/target.h>

namespace ergon::act {
namespace {

// 0: by the PID.
std::uint64_t TagOf(const gen::Message& message) {
  core::Envelope& envelope = message.envelope();
  const bool counts = (envelope.flags & core::Envelope::kFlagTagged) != 0 &&
                      (envelope.flags & core::Envelope::kFlagRouted) == 0;
  return counts ? envelope.Tag() : 0;
}

bool IsName(std::uint64_t tag) { return (tag & gen::Target::kNameTag) != 0; }

gen::Atom NameOf(std::uint64_t tag) {
  return gen::Atom::FromIndex(static_cast<std::uint32_t>(tag));
}

}  // namespace

gen::Status SplitHandle::HandleMessage(gen::PID from, gen::Message& message) {
  const std::uint64_t tag = TagOf(message);
  if (tag == 0) return own_.HandleMessage(from, message);
  if (IsName(tag)) return own_.HandleMessageName(NameOf(tag), from, message);
  return own_.HandleMessageAlias({tag, self_.node, self_.creation}, from, message);
}

gen::CallResult SplitHandle::HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) {
  const std::uint64_t tag = TagOf(request);
  if (tag == 0) return own_.HandleCall(from, ref, request);
  if (IsName(tag)) return own_.HandleCallName(NameOf(tag), from, ref, request);
  return own_.HandleCallAlias({tag, self_.node, self_.creation}, from, ref, request);
}

gen::Status SplitHandle::HandleResponse(gen::Ref ref, gen::Response& response) {
  return own_.HandleResponse(ref, response);
}

gen::Status SplitHandle::HandleEvent(const gen::MessageEvent& event) {
  return own_.HandleEvent(event);
}

gen::Inspection SplitHandle::HandleInspect(gen::PID from, const std::vector<std::string>& items) {
  return own_.HandleInspect(from, items);
}

}  // namespace ergon::act
