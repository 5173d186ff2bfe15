#include <ergon/node/cluster/connection/read_hold.h>

#include <algorithm>

#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/signals/ergon_messages.h>
#include <ergon/node/cluster/signals/frame_writer.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kBlockBytes = 64 * 1024;

// Messages whose first element is a word that asks for something: requests, and what the groups of nodes tell each
// other.
bool IsQuestion(std::string_view payload, std::size_t max_depth) {
  ControlReader reader(payload, max_depth);
  std::size_t size = 0;
  std::string_view word;
  if (!reader.ReadTuple(size) || !reader.ReadAtom(word)) return false;
  return word == "$gen_call" || word == "system" || word == "discover" || word == "$gen_cast";
}

}  // namespace

bool ReadHold::Put(std::string_view frame, gen::PID sender) {
  if (bytes_ + frame.size() > kMostTimes * bound_) {
    refused_ = frame.size();
    return false;
  }
  if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < frame.size()) {
    blocks_.emplace_back().reserve(std::max(kBlockBytes, frame.size()));
  }
  blocks_.back().append(frame);
  bytes_ += frame.size();
  order_.push_back(sender);
  ++senders_[sender];
  return true;
}

std::string_view ReadHold::First() const {
  const std::string_view rest = std::string_view(blocks_.front()).substr(first_);
  return rest.substr(0, kFrameLengthBytes + FrameLengthAt(rest));
}

void ReadHold::RemoveFirst() {
  const std::size_t size = First().size();
  first_ += size;
  bytes_ -= size;
  const auto sender = senders_.find(order_.front());
  if (--sender->second == 0) senders_.erase(sender);
  order_.pop_front();
  if (first_ != blocks_.front().size()) return;
  blocks_.pop_front();
  first_ = 0;
}

bool MayBeAnswered(const Signal& signal, std::size_t max_depth) {
  switch (signal.kind) {
    case SignalKind::kSend:
    case SignalKind::kSendToAlias:
      return IsQuestion(signal.payload, max_depth);
    case SignalKind::kSendToName:
      return signal.name == kErgonName || IsQuestion(signal.payload, max_depth);
    case SignalKind::kLink:
    case SignalKind::kUnlink:
    case SignalKind::kExitRequest:
    case SignalKind::kMonitor:
    case SignalKind::kSpawnRequest:
      return true;
    case SignalKind::kUnlinkAck:
    case SignalKind::kExit:
    case SignalKind::kDemonitor:
    case SignalKind::kDown:
    case SignalKind::kSpawnReply:
    case SignalKind::kUnknown:
      break;
  }
  return false;
}

}  // namespace ergon::dist
