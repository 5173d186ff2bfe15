// What a connection reads.
#include <ergon/node/cluster/connection/connection.h>

#include <array>
#include <exception>
#include <mutex>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <asio/error.hpp>
#include <asio/post.hpp>

#include <ergon/core/queues/injection_hold.h>
#include <ergon/node/cluster/connection/read_buffer.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/cluster/signals/references.h>

namespace ergon::dist {
namespace {

// So many frames are handled together at most, when many were read at once.
constexpr std::size_t kHandledTogether = 1024;
// So many messages that are alike are handed on at once at most.
constexpr std::size_t kAlike = 64;

// What has come together is handled together.
class Together {
 public:
  explicit Together(const Connection::Listener& listener) : listener_(listener) {}
  // Before the end of the hold. After an exception what cannot be handed on stays with the listener for the next time.
  ~Together() {
    if (is_handed_on_) return;
    try {
      listener_.all_arrived();
    } catch (...) {
    }
  }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;
  // So many were handled. After kHandledTogether of them their receivers begin.
  void Handled(std::size_t count) {
    handled_ += count;
    if (handled_ < kHandledTogether) return;
    hold_.Release();
    handled_ = 0;
  }
  // At the end, unless something was thrown.
  void HandOn() {
    is_handed_on_ = true;
    listener_.all_arrived();
  }

 private:
  core::InjectionHold hold_;
  std::size_t handled_ = 0;
  bool is_handed_on_ = false;
  const Connection::Listener& listener_;
};

}  // namespace

void Connection::Read() {
  std::string why = "closed by the other side";
  bool is_fault = false;
  try {
    ReadBuffer buffer;
    for (;;) {
      if (is_held_) {
        AwaitRoomForAnswers();
      } else {
        const std::span<char> room = buffer.Room();
        buffer.Added(stream_->ReadSome(room.data(), room.size()));
        watch_.Heard();
      }
      // What was read just before it was given up must not come after the news of that.
      if (state_ == State::kDown) return;  // this thread alone changes it
      buffer.RemoveFirst(TakeFrames(buffer.Bytes()));
    }
  } catch (const std::system_error& error) {
    if (error.code() != asio::error::eof) {
      why = error.what();
    } else if (close_when_written_) {
      why = kStopping;
    } else if (!unwritable_.empty()) {
      why = unwritable_;
    }
  } catch (const std::exception& error) {
    why = error.what();
    is_fault = true;
  }
  Fail(why, is_fault);
}

// Until Written or NoteBegun says so, or it is down.
void Connection::AwaitRoomForAnswers() {
  room_.expires_at(asio::steady_timer::time_point::max());
  tasks_.Await([this] { room_.cancel(); },
               [&](auto handler) {
                 room_.async_wait([handler = std::move(handler)](const asio::error_code&) mutable {
                   handler(asio::error_code());
                 });
               });
}

// Also of those that functions are about to give.
bool Connection::HasRoomForAnswers() noexcept {
  return cannot_write_ || (!HasUnreadAnswers() && !beginning_.AreTooMany());
}

void Connection::NoteBegun() {
  if (beginning_.Remove()) asio::post(context_, [self = shared_from_this()] { self->TakeHeld(); });
}

void Connection::HandleFrame(std::string_view frame) {
  const auto parsed = parser_.Parse(frame);
  if (!parsed) {
    throw std::runtime_error(fmt::format("it sent a malformed frame: {}", parsed.error()));
  }
  listener_.arrived(*this, parser_.signal());
}

// Hands the frames at `at` on, some at most, if they are messages like the last one. Sets `at` to what follows them.
std::size_t Connection::HandleAlike(std::string_view bytes, std::size_t& at) {
  std::array<std::string_view, kAlike> payloads;
  std::size_t count = 0;
  while (count < kAlike) {
    const std::string_view rest(bytes.data() + at, bytes.size() - at);
    const auto payload = parser_.TakeAlike(rest, settings_.max_frame_bytes);
    if (payload.data() == nullptr) break;
    payloads[count++] = payload;
    at = static_cast<std::size_t>(payload.data() + payload.size() - bytes.data());
  }
  if (count == 0) return 0;
  if (listener_.alike_arrived) {
    listener_.alike_arrived(*this, parser_.signal(), {payloads.data(), count});
    return count;
  }
  for (std::size_t i = 0; i < count; ++i) {
    Signal signal = parser_.signal();
    signal.payload = payloads[i];
    listener_.arrived(*this, signal);
  }
  return count;
}

void Connection::TakeHeldFrames() {
  if (hold_.IsEmpty() && !is_held_) return;
  Together together(listener_);
  bool has_room = HasRoomForAnswers();  // or had it when it handled a frame
  while (!hold_.IsEmpty() && HasRoomForAnswers() && state_ != State::kDown) {
    has_room = true;
    HandleFrame(hold_.First().substr(kFrameLengthBytes));
    hold_.RemoveFirst();
    NotePutAside();
  }
  together.HandOn();
  if (!has_room || !is_held_ || !hold_.HasRoomForRefused()) return;
  is_held_ = false;
  room_.cancel();
}

std::size_t Connection::TakeFrames(std::string_view bytes) {
  if (is_held_) return 0;
  Together together(listener_);
  std::size_t at = 0;
  while (bytes.size() - at >= kFrameLengthBytes) {
    // A binary asks for nothing, so it needs no room for answers.
    if (const std::size_t alike = hold_.IsEmpty() ? HandleAlike(bytes, at) : 0; alike != 0) {
      together.Handled(alike);
      continue;
    }
    const std::string_view rest = bytes.substr(at);
    const std::size_t length = FrameLengthAt(rest);
    if (length > settings_.max_frame_bytes) {
      throw std::runtime_error(fmt::format("it sent a frame of {} bytes, {} are allowed", length,
                                           settings_.max_frame_bytes));
    }
    if (rest.size() < kFrameLengthBytes + length) break;
    const std::string_view frame = rest.substr(0, kFrameLengthBytes + length);
    const bool is_tick = length == 0;
    // Also with room, as long as something is put aside: that is handled first.
    const bool takes_all = hold_.IsEmpty() && HasRoomForAnswers();
    if (!is_tick && (takes_all || !HoldsFrame(frame))) {
      HandleFrame(frame.substr(kFrameLengthBytes));
      together.Handled(1);
    }
    if (is_held_) break;
    at += frame.size();
  }
  together.HandOn();
  return at;
}

bool Connection::HoldsFrame(std::string_view frame) {
  const auto parsed = parser_.Parse(frame.substr(kFrameLengthBytes));
  if (!parsed || (!hold_.IsFor(parser_.signal(), settings_.max_term_depth) &&
                  !IsLateSpawnReply(parser_.signal()))) {
    return false;
  }
  is_held_ = !hold_.Put(frame, ReadHold::SenderOf(parser_.signal()));
  NotePutAside();
  return true;
}

// One that is waited for goes on: that the Init there is done comes behind it, from another process.
bool Connection::IsLateSpawnReply(const Signal& signal) {
  // One without a process says that none was spawned: none has to be ended.
  if (signal.kind != SignalKind::kSpawnReply || !signal.from) return false;
  const auto number = OwnNumberIn(signal.ref, settings_.node, settings_.creation);
  if (!number) return true;
  std::lock_guard lock(*mutex_);
  const auto found = peer_state_.calls.find(*number);
  return found == peer_state_.calls.end() || !found->second.spawns;  // a request of another kind
}

}  // namespace ergon::dist
