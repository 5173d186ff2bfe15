#include <ergon/node/delivery/unmade_messages.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>

namespace ergon::node {
namespace {

// What a message has in common with the one before it, as a rule.
struct Sender {
  gen::PID from;
  const void* type;
};
// The value of the envelope. The messages stand behind it, each behind its head.
struct Unmade {
  MessageMaker* maker;
  gen::PID to;
  std::uint32_t size;   // not made yet
  std::uint32_t begin;  // where the first of these has its head, in bytes behind this
  Sender sender;        // of the last one that was made
};
struct Head {
  std::uint32_t size;
  std::uint32_t has_sender;  // 1: a Sender follows; 0: it is that of the message before
};
static_assert(std::is_trivially_copyable_v<Sender> && std::is_trivially_copyable_v<Head>);
static_assert(sizeof(Unmade) % alignof(Sender) == 0 && sizeof(Head) % alignof(Sender) == 0);

// Where the next head is, behind so many bytes.
constexpr std::size_t Padded(std::size_t bytes) noexcept {
  return (bytes + alignof(Sender) - 1) & ~(alignof(Sender) - 1);
}

// The memory of a message that is handled is that of one of the next, out of the cache, as long as the allocator keeps
// it for the thread: glibc's keeps seven pieces of a size.
constexpr std::uint32_t kMadeAtOnce = 7;

core::EnvelopePtr MakeOne(const Unmade& unmade, std::string_view bytes) {
  const Sender& sender = unmade.sender;
  if (sender.type != nullptr) return unmade.maker->Make(sender.type, bytes, sender.from, unmade.to);
  return core::MakeEnvelope<std::string>(static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage),
                                         core::Lane::kMain, bytes);
}

// See MakeMessages.
MadeMessages MakeSome(core::Envelope& unmade, std::uint32_t most) noexcept {
  auto& all = *static_cast<Unmade*>(unmade.Value());
  const char* const begin = reinterpret_cast<const char*>(&all + 1);
  const char* at = begin + all.begin;
  const std::uint32_t count = std::min(most, all.size);
  MadeMessages made;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto& head = *reinterpret_cast<const Head*>(at);
    at += sizeof(Head);
    if (head.has_sender != 0) {
      all.sender = *reinterpret_cast<const Sender*>(at);
      at += sizeof(Sender);
    }
    core::Envelope* const message = MakeOne(all, {at, head.size}).release();
    at += Padded(head.size);
    if (message == nullptr) {
      ++made.missing;
      continue;
    }
    message->from = all.sender.from.ToAddress();
    message->generation = unmade.generation;
    message->deadline = unmade.deadline;
    made.list.Append(message, message);
  }
  all.size -= count;
  all.begin = static_cast<std::uint32_t>(at - begin);
  return made;
}

}  // namespace

void Gathering::Add(gen::PID from, gen::PID to, const void* type, std::string_view bytes) noexcept {
  static_assert(sizeof(Head) + sizeof(Sender) + alignof(Sender) == kMostHeadBytes);
  char* place = bytes_.data() + used_;
  const bool has_sender = size_ == 0 || from != from_ || type != type_;
  new (place) Head{static_cast<std::uint32_t>(bytes.size()), has_sender ? 1U : 0U};
  place += sizeof(Head);
  if (has_sender) {
    new (place) Sender{from, type};
    place += sizeof(Sender);
    from_ = from;
    type_ = type;
  }
  std::memcpy(place, bytes.data(), bytes.size());
  if (size_ == 0) {
    to_ = to;
    limit_ = bytes.size() <= kShort ? kMostShortBytes : kMostBytes;
  }
  used_ = static_cast<std::size_t>(place - bytes_.data()) + Padded(bytes.size());
  ++size_;
}

core::EnvelopePtr Gathering::TakeEnvelope() {
  constexpr std::size_t kBegin = core::EnvelopeBytes(sizeof(Unmade), alignof(Unmade));
  std::uint8_t size_class = 0;
  static_assert(kBegin + kMostShortBytes <= core::kEnvelopeClasses * core::kEnvelopeAlignment);
  void* const memory = core::AllocateEnvelope(kBegin + used_, size_class);
  auto* const envelope =
      new (memory) core::Envelope{nullptr,
                                  core::TypeOf<Unmade>(),
                                  {},
                                  0,
                                  0,
                                  0,
                                  static_cast<std::uint8_t>(gen::EnvelopeKind::kUnmadeMessages),
                                  core::Lane::kMain,
                                  size_class,
                                  0};
  new (envelope->Value()) Unmade{&maker_, to_, size_, 0, {}};
  std::memcpy(static_cast<char*>(memory) + kBegin, bytes_.data(), used_);
  size_ = 0;
  used_ = 0;
  return core::EnvelopePtr(envelope);
}

MadeMessages MakeMessages(core::Envelope& unmade) noexcept {
  return MakeSome(unmade, Gathering::kMostMessages);
}

void MakeInPlace(core::Mailbox& mailbox, core::Envelope& unmade) noexcept {
  // It waits until its messages are there: for the bound, and for who looks whether there is something to do. A sender
  // that looks between Pop and this may get one message beyond the bound in. That never adds up: the next sender that
  // looks there finds that message counted.
  mailbox.NoteWaiting();
  MadeMessages made = MakeSome(unmade, kMadeAtOnce);
  if (static_cast<const Unmade*>(unmade.Value())->size == 0) {
    mailbox.Unfold(&unmade, made.list, made.missing);
    return;
  }
  made.list.Append(&unmade, &unmade);
  mailbox.ReturnToMain(made.list.head, made.list.tail, 0 - made.missing);
}

}  // namespace ergon::node
