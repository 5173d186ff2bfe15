#include <ergon/node/cluster/signals/frame_parser.h>

#include <cstring>
#include <utility>

namespace ergon::dist {

gen::Result<void> FrameParser::ParseOther(std::string_view frame) {
  // The control tuple says itself where it ends: a frame with the same first bytes has the same tuple.
  if (!head_.empty() && frame.size() > head_.size() &&
      std::memcmp(frame.data(), head_.data(), head_.size()) == 0) {
    auto taken = TakePayload(frame.substr(head_.size()), max_depth_, signal_);
    if (signal_.is_deep) head_.clear();
    return taken;
  }
  auto signal = ParseFrame(frame, peers_, max_depth_);
  if (!signal) return std::move(signal.error());
  signal_ = *signal;
  KeepHead(frame);
  return {};
}

// The sender of a message that was passed on changes as soon as there is an atom of its node, and each trace token
// is another one: such heads are not kept. Neither is that of a deep message, which the next one need not be.
void FrameParser::KeepHead(std::string_view frame) {
  head_.clear();
  if (signal_.kind != SignalKind::kSend || signal_.from.node != peers_.peer.node() ||
      !signal_.token.empty() || signal_.is_deep) {
    return;
  }
  const char* const version_of_payload = signal_.payload.data() - 1;
  const auto size = static_cast<std::size_t>(version_of_payload - frame.data());
  head_.assign(frame.data(), size);
}

}  // namespace ergon::dist
