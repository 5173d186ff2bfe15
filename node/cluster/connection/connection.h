// The connection with one other node: the bytes that wait to be sent, and the frames that have come.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/beginning_functions.h>
#include <ergon/node/cluster/connection/connection_listener.h>
#include <ergon/node/cluster/connection/locked_connection.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/connection/peer_watch.h>
#include <ergon/node/cluster/connection/read_hold.h>
#include <ergon/node/cluster/connection/room_waiters.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/connection/stream.h>
#include <ergon/node/cluster/handshake/handshake.h>
#include <ergon/node/cluster/signals/frame_parser.h>
#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/delivery/transport.h>

namespace ergon::dist {

// What a signal counts as while it waits to be sent.
enum class SentAs : std::uint8_t {
  kOwn,      // this node's, as its messages and requests: it does not keep this node from reading
  kMessage,  // the same, from a user: it is counted if it is lost
  kAnswer,   // caused by the peer, whose next requests wait while too many bytes of answers do
  kAwaitedAnswer,  // the same, and a caller waits for it: if nothing else is to be sent, this thread writes it
};

//   kConnecting ---- Attach ---> kUp
//        |                        |
//        +-------- Fail --------- +----> kDown, for ever
//
// Signals may be sent from the beginning; they wait until the connection is up.
//
// All bytes that wait to be sent count. When a signal is to be sent and more than Settings::max_queued_bytes wait, the
// peer is given up. Above Settings::send_queue_bytes
//  - messages and requests of this node wait, see Accepts;
//  - a peer that takes next to nothing of the bytes for Settings::tick_time is gone, whatever it sends meanwhile.
// When as many bytes of answers wait, no frame is handled that would make this node answer more, see ReadHold.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  enum class State : std::uint8_t { kConnecting, kUp, kDown };
  using RoomWaiter = dist::RoomWaiter;
  using Rest = ConnectionRest;
  using Listener = ConnectionListener;

  // `mutex` may be shared by several connections: no two of them are locked at a time. Code that holds the lock asks
  // only for what this node knows by itself.
  Connection(gen::Atom peer, asio::io_context& context, Tasks& tasks, const Settings& settings,
             const Listener& listener, std::shared_ptr<std::mutex> mutex, bool is_dialled);

  [[nodiscard]] gen::Atom peer() const noexcept { return peer_; }

  LockedConnection Lock() { return {*this, std::unique_lock(*mutex_)}; }  // takes the lock

  // -- any thread, with the lock --
  [[nodiscard]] State state() const noexcept { return state_; }
  // Returns whether the peer opened the connection, which has to be up.
  [[nodiscard]] bool IsByPeer() const noexcept { return is_by_peer_; }
  [[nodiscard]] std::uint32_t peer_creation() const noexcept { return peer_creation_; }
  [[nodiscard]] PeerState& peer_state() noexcept { return peer_state_; }
  [[nodiscard]] bool IsFull() const noexcept { return QueuedBytes() >= settings_.send_queue_bytes; }
  // Returns whether a message for `remote` may be sent; else kBusy or kProcessIncarnation.
  [[nodiscard]] gen::Result<void> Accepts(gen::PID remote) const {
    if (!IsFormer(remote) && !IsFull()) [[likely]]
      return {};
    return WhyNot(remote);
  }
  // Sends a signal without a payload from users: if its frame is larger than the peer takes, the connection is lost.
  // Does nothing if the connection is down, or given up. The thread of the network writes what is sent, later.
  void Send(const Signal& signal, SentAs as);
  // Sends a signal with any payload. Returns kIncorrect if its frame is larger than the peer takes (see CheckFrame),
  // and kNoConnection if the connection is down; nothing is sent then. If more waits than max_queued_bytes, this gives
  // the connection up, and returns success: whoever is concerned is told of its loss.
  [[nodiscard]] gen::Result<void> TrySend(const Signal& signal, SentAs as);
  // Send the frame of a message, see OpenMessage and CheckFrame, whose last bytes may be in `rest`; and the frame of a
  // request, whose sender waits. The connection is not down, see Connections::With.
  void SendMessageFrame(std::string_view frame, std::string_view rest = {}) {
    PutFrame(frame, rest);
    ++out_sends_;
  }
  void SendRequestFrame(std::string_view frame) { PutFrame(frame, {}); }
  [[nodiscard]] RoomWaiters& Waiters() noexcept { return waiters_; }
  // Returns whether a PID or an alias belongs to a former incarnation of the peer; false as long as this is not known.
  [[nodiscard]] bool IsFormer(gen::PID remote) const noexcept {
    return state_ == State::kUp && remote.creation != peer_creation_ &&
           (remote.creation != 0 || IsFormerAlias(remote));
  }
  // Return whether the peer does not run Ergon, or starts no processes; false as long as this is not known.
  [[nodiscard]] bool IsForeign() const noexcept { return Lacks(kFlagErgon); }
  [[nodiscard]] bool RefusesSpawns() const noexcept { return Lacks(kFlagSpawn); }
  // Returns whether the peer may still say which types it packs. Values that have no other form wait until then.
  [[nodiscard]] bool MaySayPacks() const noexcept {
    return state_ == State::kConnecting ||
           ((flags_ & kFlagsOfPacks) == kFlagsOfPacks && !peer_state_.packs.is_told());
  }
  [[nodiscard]] std::size_t QueuedBytes() const noexcept { return out_.size() + writing_size_; }
  // Returns the most bytes that were queued at a time.
  [[nodiscard]] std::size_t MostQueuedBytes() const noexcept { return most_queued_bytes_; }

  // Returns the bytes of requests of the peer that are put aside. Any thread, no lock.
  [[nodiscard]] std::size_t PutAsideBytes() const noexcept {
    return put_aside_.load(std::memory_order_relaxed);
  }
  // Returns whether nothing is read from the peer, because there is no room to put more aside. Any thread, no lock.
  [[nodiscard]] bool IsHeld() const noexcept { return is_held_.load(std::memory_order_relaxed); }
  // Returns what the connection does now, as text for people: a line of the node's dump.
  [[nodiscard]] std::string Describe() const;

  // Returns the bytes of answers that wait to be sent. Any thread, no lock.
  [[nodiscard]] std::size_t AnswerBytes() const noexcept {
    return answers_.load(std::memory_order_relaxed);
  }
  // Returns whether so many bytes of answers wait that the peer's next requests have to wait. Any thread, no lock.
  [[nodiscard]] bool HasUnreadAnswers() const noexcept {
    return AnswerBytes() >= settings_.send_queue_bytes;
  }
  // A function of the peer waits to be run (the thread of the network), and runs, or never will (any thread). No lock.
  void NoteBeginning() noexcept { beginning_.Add(); }
  void NoteBegun();

  // -- the thread of the network --
  // Brings the connection up, or only closes the stream if it is not kConnecting any more. `by_peer`: whether the peer
  // opened it.
  void Attach(std::shared_ptr<Stream> stream, const HandshakePeer& peer, bool by_peer);
  // Takes the connection down; `why` is for people. Calling it twice has no effect.
  void Fail(std::string why, bool is_fault = false);
  // The attempts to make this connection, for Connections.
  struct Attempts {
    bool is_dialling = false;   // this node's, until it has succeeded or failed
    bool is_announced = false;  // the peer may know of that attempt, which goes on
    int claims = 0;             // of the peer: it has proved itself, and its stream comes next
    // The stream of the attempt that waits for the end of the other attempt, made by the node with the lesser name.
    std::shared_ptr<Stream> reserve;
    HandshakePeer reserve_peer;
  };
  [[nodiscard]] Attempts& attempts() noexcept { return attempts_; }
  // Takes the types that the peer packs; a second time is ignored. Senders that wait for room try again.
  void TakePacks(PeerPacks packs);
  // Closes the connection when all bytes that wait have been written.
  void CloseWhenWritten();

 private:
  static constexpr std::size_t kMostKeptBytes = 2 * 1024 * 1024;  // for what waits, when it is sent

  [[nodiscard]] bool Lacks(std::uint64_t flag) const noexcept {
    return state_ == State::kUp && (flags_ & flag) == 0;
  }
  [[nodiscard]] gen::Result<void> WhyNot(gen::PID remote) const;
  [[nodiscard]] bool IsFormerAlias(gen::PID remote) const;
  // Append a frame to what waits to be sent; Put may return why not.
  [[nodiscard]] gen::Result<void> Put(const Signal& signal);
  void GiveUp();  // with the lock
  void PutFrame(std::string_view frame, std::string_view rest);
  void AppendAsOlder(std::string_view frames);  // in a form that an older peer understands
  void Read();
  // Handles the complete frames, or puts them aside, and returns their size. is_held_: no room for the next one.
  std::size_t TakeFrames(std::string_view bytes);
  void TakeHeldFrames();  // handles those that were put aside, as long as there is room for answers
  void TakeHeld();
  [[nodiscard]] bool HoldsFrame(std::string_view frame);  // given with its length
  // Returns whether the signal tells of a process that nobody here waits for, which therefore has to be ended.
  [[nodiscard]] bool IsLateSpawnReply(const Signal& signal);
  void HandleFrame(std::string_view frame);
  std::size_t HandleAlike(std::string_view bytes, std::size_t& at);  // returns how many messages
  void WakeWaiters();
  void AwaitRoomForAnswers();
  void NotePutAside() noexcept { put_aside_.store(hold_.size(), std::memory_order_relaxed); }
  [[nodiscard]] bool HasRoomForAnswers() noexcept;
  void NoteAnswers() noexcept;  // with the lock
  void NoteQueued() noexcept { most_queued_bytes_ = std::max(most_queued_bytes_, QueuedBytes()); }
  void PostFlush();    // if none is due
  bool WriteAtOnce();  // false: something is left
  void Flush();
  void NoteUnwritable(const std::string& error);
  [[nodiscard]] bool NoteWriteOf(std::uint64_t sends) noexcept;
  void FlushAfterPause();
  void Written(const std::string& error);
  void Tick();
  [[nodiscard]] std::string WhyGone();

  const gen::Atom peer_;
  asio::io_context& context_;
  Tasks& tasks_;
  const Settings& settings_;
  const Listener& listener_;
  const Peers peers_{settings_.node, peer_};
  const Peers reversed_{peer_, settings_.node};  // as the peer sees them

  const std::shared_ptr<std::mutex> mutex_;
  // -- guarded by it --
  State state_ = State::kConnecting;
  bool is_by_peer_ = false;
  PeerState peer_state_;
  std::string out_;
  std::uint64_t out_messages_ = 0;
  std::size_t writing_size_ = 0;
  std::size_t most_queued_bytes_ = 0;
  std::uint64_t writing_messages_ = 0;
  std::size_t out_answers_ = 0;  // bytes that were sent as answers
  std::size_t writing_answers_ = 0;
  std::uint64_t out_sends_ = 0;  // the messages for which no sender waits
  std::uint64_t writing_sends_ = 0;
  bool flush_due_ = false;  // a Flush will come: posted, or after the current write, or a pause
  std::shared_ptr<Stream> stream_;  // changed by the network's thread only; null: not up
  std::chrono::steady_clock::time_point written_;  // the last time
  bool sent_since_tick_ = false;
  RoomWaiters waiters_;
  std::uint64_t flags_ = kOwnFlags;
  std::uint32_t peer_creation_ = 0;
  bool close_when_written_ = false;  // no answers are taken any more
  bool cannot_write_ = false;        // what waits will not be sent; the rest of what comes is read
  bool is_given_up_ = false;         // it will fail: too much waits
  std::atomic<std::size_t> answers_ = 0;  // both out_ and writing_; changed with the lock
  BeginningFunctions beginning_;
  std::atomic<std::size_t> put_aside_ = 0;  // these two are changed by the network's thread only
  std::atomic<bool> is_held_ = false;       // nothing is read: no room to put more aside

  // -- the network's --
  FrameParser parser_{peers_, settings_.max_term_depth};
  std::string writing_;
  bool is_writing_ = false;
  int stream_writes_ = 0;  // in a row, see kStreamMessages
  asio::steady_timer pause_;
  bool has_paused_ = false;
  std::string unwritable_;  // why a write has failed
  Attempts attempts_;
  asio::steady_timer tick_;
  PeerWatch watch_{settings_.tick_time, settings_.send_queue_bytes};
  int silent_looks_ = 0;  // at a peer that has not said what it packs
  ReadHold hold_{settings_.send_queue_bytes};
  asio::steady_timer room_;
};

}  // namespace ergon::dist
