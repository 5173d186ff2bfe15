#include <ergon/node/delivery/unmade_messages.h>

#include <cstring>
#include <new>
#include <string>
#include <type_traits>

namespace ergon::node {
namespace {

// The value of the envelope. The messages stand behind it, each behind its head.
struct Unmade {
  MessageMaker* maker;
  gen::PID to;
  std::uint32_t size;
  std::uint32_t bytes;
};
struct Head {
  gen::PID from;
  const void* type;
  std::uint32_t size;
};
static_assert(std::is_trivially_copyable_v<Head> && sizeof(Unmade) % alignof(Head) == 0);

// Where the next head is, behind so many bytes.
constexpr std::size_t Padded(std::size_t bytes) noexcept {
  return (bytes + alignof(Head) - 1) & ~(alignof(Head) - 1);
}

core::EnvelopePtr MakeOne(const Unmade& unmade, const Head& head, std::string_view bytes) {
  if (head.type != nullptr) return unmade.maker->Make(head.type, bytes, head.from, unmade.to);
  return core::MakeEnvelope<std::string>(static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage),
                                         core::Lane::kMain, bytes);
}

}  // namespace

void Gathering::Add(gen::PID from, gen::PID to, const void* type, std::string_view bytes) noexcept {
  static_assert(sizeof(Head) == kHeadBytes);
  char* const place = bytes_.data() + used_;
  new (place) Head{from, type, static_cast<std::uint32_t>(bytes.size())};
  std::memcpy(place + sizeof(Head), bytes.data(), bytes.size());
  used_ += sizeof(Head) + Padded(bytes.size());
  to_ = to;
  ++size_;
}

core::EnvelopePtr Gathering::TakeEnvelope() {
  constexpr std::size_t kBegin = core::EnvelopeBytes(sizeof(Unmade), alignof(Unmade));
  std::uint8_t size_class = 0;
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
  new (envelope->Value()) Unmade{&maker_, to_, size_, static_cast<std::uint32_t>(used_)};
  std::memcpy(static_cast<char*>(memory) + kBegin, bytes_.data(), used_);
  size_ = 0;
  used_ = 0;
  return core::EnvelopePtr(envelope);
}

MadeMessages MakeMessages(core::Envelope& unmade) noexcept {
  const auto& all = *static_cast<const Unmade*>(unmade.Value());
  const char* at = reinterpret_cast<const char*>(&all + 1);
  MadeMessages made;
  for (std::uint32_t i = 0; i < all.size; ++i) {
    const auto& head = *reinterpret_cast<const Head*>(at);
    at += sizeof(Head);
    core::Envelope* const message = MakeOne(all, head, {at, head.size}).release();
    at += Padded(head.size);
    if (message == nullptr) {
      ++made.missing;
      continue;
    }
    message->from = head.from.ToAddress();
    message->generation = unmade.generation;
    message->deadline = unmade.deadline;
    made.list.Append(message, message);
  }
  return made;
}

void MakeInPlace(core::Mailbox& mailbox, core::Envelope& unmade) noexcept {
  // It waits until its messages are there: for the bound, and for who looks whether there is something to do.
  mailbox.NoteWaiting();
  const MadeMessages made = MakeMessages(unmade);
  mailbox.Unfold(&unmade, made.list, made.missing);
}

}  // namespace ergon::node
