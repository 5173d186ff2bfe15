#include <ergon/node/cluster/connection/connection.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include <fmt/core.h>
#include <asio/error.hpp>
#include <asio/post.hpp>

#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/delivery/foreign_aliases.h>
#include <ergon/node/erlang/terms/big_endian.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kMostKeptBytes = 2 * 1024 * 1024;  // after a large frame
constexpr std::size_t kFewBytes = 128 * 1024;
// So long after another write an answer is alone.
constexpr std::chrono::microseconds kAlone(10);
// A stream: so many messages that nobody waits for are there at each of so many writes that follow each other. The thread
// of the network is so quick that it would be woken for a few dozen messages each time, which takes longer than to write
// them; so it pauses between the writes of a stream, unless so much waits that a write is worth while.
constexpr std::uint64_t kStreamMessages = 32;
constexpr int kStreamWrites = 4;
constexpr std::chrono::microseconds kStreamPause(100);
constexpr std::size_t kWorthAWrite = 64 * 1024;

// A peer without one of them gets frames in another form.
constexpr std::uint64_t kFlagsOfFrames = kFlagSendSender | kFlagBigTraceLabels | kFlagExitPayload;

// Where more than a few bytes wait for a peer, it may take less than it asks for, and then as many wait as may. So the string
// grows to that in one step: else each step would leave a piece of memory behind in which the next one has no room.
void ReserveAtOnce(std::string& out, std::size_t more, std::size_t bound) {
  const std::size_t needed = out.size() + more;
  const std::size_t most = std::min(bound + kFewBytes, kMostKeptBytes);
  if (needed > kFewBytes && needed > out.capacity() && needed <= most) out.reserve(most);
}

std::size_t LengthAt(std::string_view bytes) { return ReadBigEndian<std::uint32_t>(bytes); }

}  // namespace

Connection::Connection(gen::Atom peer, asio::io_context& context, Tasks& tasks,
                       const Settings& settings, const Listener& listener,
                       std::shared_ptr<std::mutex> mutex, bool is_dialled)
    : peer_(peer),
      context_(context),
      tasks_(tasks),
      settings_(settings),
      listener_(listener),
      mutex_(std::move(mutex)),
      pause_(context),
      tick_(context),
      room_(context) {
  attempts_.is_dialling = is_dialled;
}

gen::Result<void> Connection::WhyNot(gen::PID remote) const {
  if (IsFormer(remote)) return gen::ErrProcessIncarnation;
  return gen::Error(gen::ErrorCode::kBusy,
                    fmt::format("{} bytes wait to be sent to {}", QueuedBytes(), peer_));
}

bool Connection::IsFormerAlias(gen::PID remote) const {
  if (!node::IsAlias(remote)) return false;
  const auto alias = node::ForeignAliasOf(remote);
  return alias && alias->creation != peer_creation_;
}

std::string Connection::Describe() const {
  std::string text = fmt::format("{} {}: {} bytes wait to be sent",
                                 state_ == State::kUp ? "connected with" : "connecting with", peer_,
                                 QueuedBytes());
  if (AnswerBytes() != 0) {
    text += fmt::format(", {} of them answers", AnswerBytes());
  }
  if (!waiters_.empty()) text += fmt::format("; processes that wait for room: {}", waiters_.size());
  if (const auto put_aside = PutAsideBytes(); put_aside != 0) {
    text += fmt::format("; {} bytes of its requests wait until it takes answers", put_aside);
  }
  if (IsHeld()) text += "; it is not listened to meanwhile";
  return text;
}

void Connection::NoteAnswers() noexcept {
  answers_.store(out_answers_ + writing_answers_, std::memory_order_relaxed);
}

void Connection::PostFlush() {
  flush_due_ = true;
  asio::post(context_, [self = shared_from_this()] { self->Flush(); });
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

gen::Result<void> Connection::PutAnswer(const Signal& signal) {
  ReserveAtOnce(out_, signal.payload.size(), settings_.send_queue_bytes);
  const std::size_t before = out_.size();
  auto put = Put(signal);
  out_answers_ += out_.size() - before;
  NoteAnswers();
  return put;
}

gen::Result<void> Connection::TryAppend(const Signal& signal) {
  auto put = PutAnswer(signal);
  NoteAppended();
  return put;
}

gen::Result<void> Connection::TryAppendOwn(const Signal& signal) {
  auto put = Put(signal);
  NoteAppended();
  return put;
}

void Connection::Append(const Signal& signal) { FailIfNot(TryAppend(signal)); }

void Connection::AppendOwn(const Signal& signal) { FailIfNot(TryAppendOwn(signal)); }

// Nobody can be told of it but by the loss of the connection, which the peer would end as well.
void Connection::FailIfNot(const gen::Result<void>& appended) {
  if (appended) return;
  asio::post(context_, [self = shared_from_this(), why = std::string(appended.error().detail())] {
    self->Fail(why);
  });
}

// A caller waits for it, and to wake the thread of the network takes longer than to write. Where answers follow each
// other, however, one write for many is far cheaper. Requests are not written so: on two cores calls between two nodes of
// ours took longer with that.
gen::Result<void> Connection::AppendAnswer(const Signal& signal) {
  auto put = PutAnswer(signal);
  if (!put) return put;
  NoteQueued();
  if (!flush_due_ && state_ == State::kUp && !WriteAtOnce()) PostFlush();
  return put;
}

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

gen::Result<void> Connection::AppendMessage(const Signal& message) {
  auto appended = TryAppendOwn(message);
  if (appended) ++out_messages_;
  return appended;
}

void Connection::AppendRequest(std::string_view frame) {
  // Of the flags that change frames, these alone change those of messages.
  const bool takes_tokens = (flags_ & kFlagBigTraceLabels) != 0;
  if ((flags_ & kFlagSendSender) != 0 && (takes_tokens || !HasToken(frame))) [[likely]] {
    out_.append(frame);
  } else {
    AppendAsOlder(frame);
  }
  NoteAppended();
  ++out_messages_;
}

void Connection::Attach(std::shared_ptr<Stream> stream, const HandshakePeer& peer, bool by_peer) {
  {
    std::lock_guard lock(*mutex_);
    if (state_ != State::kConnecting) {
      stream->Close();
      return;
    }
    flags_ = peer.flags;
    if ((kOwnFlags & ~flags_ & kFlagsOfFrames) != 0) {
      AppendAsOlder(std::exchange(out_, {}));
    }
    peer_creation_ = peer.creation;
    asio::error_code ignored;
    stream->socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    stream_ = std::move(stream);
    state_ = State::kUp;
    is_by_peer_ = by_peer;
  }
  attempts_ = {};
  listener_.up(*this);
  WakeWaiters();  // those who would wait for what it packs
  tasks_.Start([self = shared_from_this()] { self->Read(); });
  Tick();
  Flush();
}

void Connection::TakePacks(PeerPacks packs) {
  {
    std::lock_guard lock(*mutex_);
    if (state_ != State::kUp || relations_.packs.is_told()) return;
    relations_.packs = std::move(packs);
  }
  WakeWaiters();
}

void Connection::WakeWaiters() {
  std::vector<RoomWaiter> waiters;
  {
    std::lock_guard lock(*mutex_);
    waiters.swap(waiters_);
  }
  if (!waiters.empty()) listener_.has_room(*this, waiters);
}

void Connection::AppendAsOlder(std::string_view frames) {
  // What others may send has a limit; these are our own.
  constexpr std::size_t kAnyDepth = std::numeric_limits<std::size_t>::max();
  for (std::size_t at = 0; at + kFrameLengthBytes <= frames.size();) {
    const std::size_t length = LengthAt(frames.substr(at));
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

void Connection::Flush() {
  if (is_writing_) return;  // Written goes on
  {
    std::lock_guard lock(*mutex_);
    if (state_ != State::kUp) return;
    writing_.clear();
    if (writing_.capacity() > kMostKeptBytes) writing_ = {};
    writing_.swap(out_);
    flush_due_ = !writing_.empty();
    if (flush_due_) sent_since_tick_ = true;
    writing_size_ = writing_.size();
    writing_messages_ = std::exchange(out_messages_, 0);
    writing_sends_ = std::exchange(out_sends_, 0);
    writing_answers_ = std::exchange(out_answers_, 0);
  }
  if (std::exchange(has_paused_, false) && writing_.empty()) stream_writes_ = 0;
  if (writing_.empty()) {
    if (close_when_written_) Fail("the node is stopping");
    return;
  }
  is_writing_ = true;
  stream_->Write(
      writing_, [this, before = watch_.taken()](std::size_t bytes) { watch_.Took(before + bytes); },
      [self = shared_from_this()](const std::string& error) { self->Written(error); });
}

void Connection::Written(const std::string& error) {
  is_writing_ = false;
  if (!error.empty()) {
    Fail(error);
    return;
  }
  std::vector<RoomWaiter> waiters;
  bool pauses = false;
  {
    std::lock_guard lock(*mutex_);
    pauses = NoteWriteOf(writing_sends_) && out_.size() < kWorthAWrite;
    writing_size_ = 0;
    writing_messages_ = 0;
    writing_answers_ = 0;
    NoteAnswers();
    written_ = std::chrono::steady_clock::now();
    if (out_.size() <= settings_.send_queue_bytes / 2) waiters.swap(waiters_);
  }
  if (!waiters.empty()) listener_.has_room(*this, waiters);
  TakeHeld();
  if (state_ == State::kDown) return;
  if (pauses && !close_when_written_) {
    FlushAfterPause();
  } else {
    Flush();
  }
}

void Connection::TakeHeld() {
  try {
    TakeHeldFrames();
  } catch (const std::exception& error) {
    Fail(error.what(), true);
  }
}

// Whether it is one of a stream. Where little may wait, senders would wait for the end of a pause.
bool Connection::NoteWriteOf(std::uint64_t sends) noexcept {
  if (sends < kStreamMessages) {
    stream_writes_ = 0;
  } else if (stream_writes_ < kStreamWrites) {
    ++stream_writes_;
  }
  return stream_writes_ == kStreamWrites && settings_.send_queue_bytes >= 4 * kWorthAWrite;
}

// Nobody wakes this thread meanwhile: a Flush is due.
void Connection::FlushAfterPause() {
  has_paused_ = true;
  pause_.expires_after(kStreamPause);
  pause_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error) self->Flush();
  });
}

void Connection::Fail(const std::string& why, bool is_fault) {
  Rest rest;
  {
    std::lock_guard lock(*mutex_);
    if (state_ == State::kDown) return;
    rest.is_foreign = IsForeign();
    state_ = State::kDown;
    std::swap(rest.relations, relations_);
    rest.waiters.swap(waiters_);
    rest.unsent = out_messages_ + writing_messages_;
    rest.why = why;
    rest.is_fault = is_fault;
    out_ = {};
    out_messages_ = writing_messages_ = 0;
    writing_size_ = 0;
    out_answers_ = writing_answers_ = 0;
    NoteAnswers();
  }
  room_.cancel();
  pause_.cancel();
  tick_.cancel();
  if (stream_ != nullptr) stream_->Close();
  attempts_ = {};
  listener_.down(*this, std::move(rest));
}

void Connection::CloseWhenWritten() {
  close_when_written_ = true;
  {
    std::lock_guard lock(*mutex_);
    if (state_ == State::kUp) {
      if (flush_due_) return;
    }
  }
  if (stream_ == nullptr) {
    Fail("the node is stopping");
  } else {
    Flush();
  }
}

std::string Connection::WhyGone() {
  std::lock_guard lock(*mutex_);
  return watch_.Look(QueuedBytes(), !is_held_);
}

// Erlang takes a peer for gone that has said nothing for four of these; what is sent meanwhile spares the tick.
void Connection::Tick() {
  tick_.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(settings_.tick_time /
                                                                               PeerWatch::kLooks));
  tick_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (error) return;
    if (const std::string why = self->WhyGone(); !why.empty()) {
      self->Fail(why, true);
      return;
    }
    bool must_say_something = false;
    bool is_silent = false;  // of what it packs, for which nobody waits for ever
    {
      std::lock_guard lock(*self->mutex_);
      if (self->state_ != State::kUp) return;
      is_silent = self->MaySayPacks();
      must_say_something = !std::exchange(self->sent_since_tick_, false);
      if (must_say_something) AppendTick(self->out_);
    }
    if (must_say_something) {
      self->Flush();
      std::lock_guard lock(*self->mutex_);
      self->sent_since_tick_ = false;  // a tick spares no tick
    }
    self->listener_.idle(*self);
    if (is_silent) self->WakeWaiters();
    self->Tick();
  });
}

}  // namespace ergon::dist
