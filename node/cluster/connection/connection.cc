#include <ergon/node/cluster/connection/connection.h>

#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <asio/error.hpp>
#include <asio/post.hpp>

#include <ergon/core/foundations/sync.h>
#include <ergon/core/foundations/thrown_text.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/delivery/foreign_aliases.h>

namespace ergon::dist {
namespace {

// A stream: so many messages that nobody waits for are there at each of so many writes that follow each other. The
// thread of the network is so quick that it would be woken for a few dozen messages each time, which takes longer than
// to write them; so it pauses between the writes of a stream, unless so much waits that a write is worth while.
constexpr std::uint64_t kStreamMessages = 32;
constexpr int kStreamWrites = 4;
constexpr std::chrono::microseconds kStreamPause(100);
constexpr std::size_t kWorthAWrite = 64 * 1024;

// How long a peer that takes nothing more is read.
constexpr std::chrono::seconds kMostRead(1);

// A peer without one of them gets frames in another form, or none.
constexpr std::uint64_t kFlagsOfFrames =
    kFlagSendSender | kFlagBigTraceLabels | kFlagExitPayload | kFlagsOfMonitors | kFlagSpawn;

// Takes a lock that others hold for some nanoseconds each time, and take again at once: who sends. If this thread slept
// until the lock is free, that one would have to wake it, which takes as long as to send a dozen messages.
std::unique_lock<std::mutex> LockSoon(std::mutex& mutex) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    std::unique_lock lock(mutex, std::try_to_lock);
    if (lock.owns_lock()) return lock;
    core::CpuPause();
  }
  return std::unique_lock(mutex);
}

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
  if (waiters_.size() != 0)
    text += fmt::format("; processes that wait for room: {}", waiters_.size());
  if (const auto put_aside = PutAsideBytes(); put_aside != 0) {
    text += fmt::format("; {} bytes of its requests are put aside", put_aside);
  }
  if (IsHeld()) text += "; it is not listened to meanwhile";
  return text;
}

void Connection::PostFlush() {
  if (flush_due_ || state_ != State::kUp) [[likely]]
    return;
  asio::post(context_, [self = shared_from_this()] { self->Flush(); });
  flush_due_ = true;  // afterwards: without memory none is due
}

void Connection::Attach(std::shared_ptr<Stream> stream, const HandshakePeer& peer, bool by_peer) {
  std::string fault;
  {
    std::lock_guard lock(*mutex_);
    if (state_ != State::kConnecting) {
      stream->Close();
      return;
    }
    flags_ = peer.flags;
    const std::string waited = std::exchange(out_, {});
    peer_creation_ = peer.creation;
    stream_ = std::move(stream);
    state_ = State::kUp;
    is_by_peer_ = by_peer;
    try {
      listener_.begins(*this);
      if ((kOwnFlags & ~flags_ & kFlagsOfFrames) != 0) {
        AppendAsOlder(waited);
      } else {
        out_ += waited;
      }
    } catch (...) {  // no memory for what has waited
      fault = core::ThrownText();
    }
  }
  if (!fault.empty()) {
    Fail(fault, true);
    return;
  }
  attempts_ = {};
  try {
    listener_.up(*this);
    WakeWaiters();  // those who would wait for what it packs
    tasks_.Start([self = shared_from_this()] { self->Read(); },
                 [self = shared_from_this()] { self->Fail(Tasks::kNoStack); });
    Tick();
  } catch (...) {  // a connection that is up and not read would never be found lost
    Fail(core::ThrownText(), true);
    return;
  }
  Flush();
}

void Connection::TakePacks(PeerPacks packs) {
  {
    std::lock_guard lock(*mutex_);
    if (state_ != State::kUp || peer_state_.packs.is_told()) return;
    peer_state_.packs = std::move(packs);
  }
  WakeWaiters();
}

void Connection::WakeWaiters() {
  std::vector<RoomWaiter> waiters;
  {
    std::lock_guard lock(*mutex_);
    waiters = waiters_.TakeAll();
  }
  if (!waiters.empty()) listener_.has_room(*this, waiters);
}

void Connection::Flush() {
  if (is_writing_ || cannot_write_) return;  // Written goes on
  {
    const auto lock = LockSoon(*mutex_);
    if (state_ != State::kUp) return;
    writing_.clear();
    if (writing_.capacity() > kMostKeptBytes) std::string().swap(writing_);  // `= {}` keeps it
    writing_.swap(out_);
    flush_due_ = !writing_.empty();
    if (flush_due_) sent_since_tick_ = true;
    writing_size_ = writing_.size();
    writing_messages_ = std::exchange(out_messages_, 0);
    writing_sends_ = std::exchange(out_sends_, 0);
    writing_answers_ = std::exchange(out_answers_, 0);
    if (writing_.empty() && close_when_written_) {
      cannot_write_ = true;
      stream_->EndSending();
    }
  }
  if (std::exchange(has_paused_, false) && writing_.empty()) stream_writes_ = 0;
  if (writing_.empty()) {
    if (cannot_write_) TakeHeld();
    return;
  }
  is_writing_ = true;
  stream_->Write(
      writing_, [this, before = watch_.taken()](std::size_t bytes) { watch_.Took(before + bytes); },
      [self = shared_from_this()](const std::string& error) { self->Written(error); });
}

void Connection::Written(const std::string& error) {
  is_writing_ = false;
  if (state_ == State::kDown) return;  // this thread alone changes it
  if (!error.empty()) {
    NoteUnwritable(error);
    return;
  }
  std::vector<RoomWaiter> waiters;
  bool pauses = false;
  const auto now = std::chrono::steady_clock::now();
  {
    const auto lock = LockSoon(*mutex_);
    pauses = NoteWriteOf(writing_sends_) && out_.size() < kWorthAWrite;
    writing_size_ = 0;
    writing_messages_ = 0;
    writing_answers_ = 0;
    NoteAnswers();
    written_ = now;
    if (out_.size() <= settings_.send_queue_bytes / 2) waiters = waiters_.TakeAll();
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

// What the peer has sent before is there, and is handled first: Read finds the end.
void Connection::NoteUnwritable(const std::string& error) {
  {
    std::lock_guard lock(*mutex_);
    cannot_write_ = true;
  }
  unwritable_ = error;
  TakeHeld();
  if (state_ == State::kDown) return;
  pause_.expires_after(kMostRead);
  pause_.async_wait([self = shared_from_this()](const asio::error_code& cancelled) {
    if (!cancelled) self->Fail(self->unwritable_);
  });
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

void Connection::Fail(std::string why, bool is_fault) {
  Rest rest;
  {
    std::lock_guard lock(*mutex_);
    if (state_ == State::kDown) return;
    rest.is_foreign = IsForeign();
    state_ = State::kDown;
    std::swap(rest.peer_state, peer_state_);
    rest.waiters = waiters_.TakeAll();
    rest.unsent = out_messages_ + writing_messages_;
    rest.why = std::move(why);
    rest.is_fault = is_fault;
    std::string().swap(out_);
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
  {
    std::lock_guard lock(*mutex_);
    close_when_written_ = true;
    if (state_ == State::kUp && flush_due_) return;
  }
  if (stream_ == nullptr) {
    Fail(kStopping);
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
    bool is_silent = false;  // of what it packs, for which senders wait
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
    if (is_silent && ++self->silent_looks_ > PeerWatch::kLooks) {
      self->TakePacks(PeerPacks(std::vector<PeerPacks::Entry>()));  // none
    }
    self->Tick();
  });
}

}  // namespace ergon::dist
