// What a connection sends: it is appended to what waits to be written.
#include <ergon/node/cluster/connection/connection.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <asio/post.hpp>

#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/signals/frame_writer.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kFewBytes = 128 * 1024;
// So long after another write an answer is alone.
constexpr std::chrono::microseconds kAlone(10);

// Where more than a few bytes wait for a peer, it may take less than it asks for, and then as many wait as may, and the
// answers of those who were about to give one. So the string grows to that in one step: else each step would leave a
// piece of memory behind in which the next one has no room, and the last one would be twice as large as what waits. Of
// memory that is not used none is taken.
void ReserveAtOnce(std::string& out, std::size_t more, std::size_t most) {
  const std::size_t needed = out.size() + more;
  if (needed > kFewBytes && needed > out.capacity() && needed <= most) out.reserve(most);
}

}  // namespace

void Connection::NoteAnswers() noexcept {
  answers_.store(out_answers_ + writing_answers_, std::memory_order_relaxed);
}

void Connection::Send(const Signal& signal, SentAs as) {
  const auto sent = TrySend(signal, as);
  if (sent || state_ == State::kDown) return;
  // Nobody can be told of it but by the loss of the connection, which the peer would end as well.
  asio::post(context_, [self = shared_from_this(), why = std::string(sent.error().detail())] {
    self->Fail(why);
  });
}

gen::Result<void> Connection::TrySend(const Signal& signal, SentAs as) {
  if (state_ == State::kDown) return gen::ErrNoConnection;
  const bool is_answer = as == SentAs::kAnswer || as == SentAs::kAwaitedAnswer;
  // Who has asked hears of the loss of the connection.
  if (is_answer && (close_when_written_ || cannot_write_)) [[unlikely]]
    return {};
  if (is_answer) {
    ReserveAtOnce(out_, signal.payload.size(),
                  std::min(settings_.send_queue_bytes + 4 * kFewBytes, kMostKeptBytes));
  }
  // What goes before a frame counts, not the frame: one of any length that the peer takes can be sent.
  if (is_given_up_ || QueuedBytes() > settings_.max_queued_bytes) [[unlikely]] {
    GiveUp();
    // It is counted with what the loss of the connection drops.
    if (as == SentAs::kMessage) ++out_messages_;
    return {};
  }
  const std::size_t before = out_.size();
  const bool is_awaited = as == SentAs::kAwaitedAnswer;
  // First: without memory for that the sender gets an exception, and nothing of its signal may be there.
  if (!is_awaited) PostFlush();
  auto put = Put(signal);
  if (!put) return put;
  if (is_answer) {
    out_answers_ += out_.size() - before;
    NoteAnswers();
  }
  if (as == SentAs::kMessage) ++out_messages_;
  NoteQueued();
  if (is_awaited && !flush_due_ && state_ == State::kUp && !WriteAtOnce()) {
    try {
      PostFlush();
    } catch (const std::bad_alloc&) {
      // It goes with what is sent next, or with the next tick: who has sent it must not send an error behind it.
      sent_since_tick_ = false;
    }
  }
  return put;
}

void Connection::GiveUp() {
  if (is_given_up_) return;
  asio::post(context_, [self = shared_from_this(), queued = QueuedBytes()] {
    self->Fail(fmt::format("{} bytes wait to be sent to it, {} may (max_queued_bytes)", queued,
                           self->settings_.max_queued_bytes),
               true);
  });
  is_given_up_ = true;  // afterwards: without memory it is not
}

gen::Result<void> Connection::Put(const Signal& signal) {
  if (signal.trace != 0) [[unlikely]] {
    const std::string token =
        listener_.token ? listener_.token(signal.trace, signal.from) : std::string();
    Signal traced = signal;
    traced.trace = 0;
    traced.token = token;
    return Put(traced);
  }
  // What cannot fit is not copied before that is found out.
  auto fits = CheckFrame(signal.payload.size(), settings_.max_frame_bytes, peer_);
  if (!fits) return fits;
  const std::size_t before = out_.size();
  AppendFrame(out_, signal, flags_);
  if (out_.size() == before) return {};
  fits = CheckFrame(out_.size() - before - kFrameLengthBytes, settings_.max_frame_bytes, peer_);
  if (!fits) out_.resize(before);
  return fits;
}

// A caller waits for it, and to wake the thread of the network takes longer than to write. Where answers follow each
// other, however, one write for many is far cheaper. Requests are not written so: on two cores calls between two nodes
// of ours took longer with that.
bool Connection::WriteAtOnce() {
  // So large an answer may have made the thread of the network put requests aside, which are taken up in Written.
  if (HasUnreadAnswers()) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now - written_ < kAlone) return false;
  const std::size_t size = stream_->WriteNow(out_);
  if (size == 0) return false;
  written_ = now;
  sent_since_tick_ = true;
  out_.erase(0, size);
  out_answers_ = std::min(out_answers_, out_.size());
  NoteAnswers();
  if (!out_.empty()) return false;
  out_messages_ = out_sends_ = 0;
  return true;
}

void Connection::PutFrame(std::string_view frame, std::string_view rest) {
  PostFlush();  // first, see TrySend
  // Of the flags that change frames, these alone change those of messages.
  const bool takes_tokens = (flags_ & kFlagBigTraceLabels) != 0;
  if ((flags_ & kFlagSendSender) != 0 && (takes_tokens || !HasToken(frame))) [[likely]] {
    // First: without memory nothing of the frame may stay there.
    const std::size_t needed = out_.size() + frame.size() + rest.size();
    if (needed > out_.capacity()) [[unlikely]]
      out_.reserve(needed);
    out_.append(frame);
    if (!rest.empty()) out_.append(rest);
  } else if (rest.empty()) {
    AppendAsOlder(frame);
  } else {
    AppendAsOlder(std::string(frame).append(rest));
  }
  NoteQueued();
  ++out_messages_;
}

void Connection::AppendAsOlder(std::string_view frames) {
  // What others may send has a limit; these are our own.
  constexpr std::size_t kAnyDepth = std::numeric_limits<std::size_t>::max();
  for (std::size_t at = 0; at + kFrameLengthBytes <= frames.size();) {
    const std::size_t length = FrameLengthAt(frames.substr(at));
    const auto frame = frames.substr(at + kFrameLengthBytes, length);
    const auto signal = ParseFrame(frame, reversed_, kAnyDepth);
    if (signal && signal->kind != SignalKind::kUnknown) {
      AppendFrame(out_, *signal, flags_);
    } else {
      out_.append(frames.substr(at, kFrameLengthBytes + length));  // a tick
    }
    at += kFrameLengthBytes + length;
  }
}

}  // namespace ergon::dist
