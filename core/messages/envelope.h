// A message on its way: who sent it, what it is for, and the value itself, in one allocation.
//
// Layout: 56 bytes of header, then the value at the next multiple of its alignment, so that a
// message of up to 8 bytes fits one cache line. Envelopes start at multiples of 64 bytes: the
// mailbox packs the address with a counter into one word (dispatch_state.h).
//
// An envelope has one owner at a time: the sender, then the mailbox, then the process handling it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <ergon/core/messages/envelope_pool.h>
#include <ergon/core/messages/type_descriptor.h>

namespace ergon::core {

// The three queues of a mailbox, served from the last to the first.
enum class Lane : std::uint8_t { kMain = 0, kSystem = 1, kUrgent = 2 };

// A process as this layer sees it: three numbers without meaning.
struct Address {
  std::uint64_t id = 0;
  std::uint32_t node = 0;
  std::uint32_t creation = 0;
  friend bool operator==(const Address&, const Address&) = default;
};

struct Envelope {
  Envelope* next;              // the link of the queue that holds it
  const TypeDescriptor* type;  // of the value; null: no value
  Address from;                // the sender; for requests also the one who waits
  std::uint64_t ref;           // requests and responses: which one; kFlagRouted: the pool; or 0
  std::int64_t deadline;       // requests: when the caller stops waiting, Clock ns; 0: never
  std::uint32_t generation;    // of the process it was sent to (see process slots)
  std::uint8_t kind;           // what the upper layers make of it
  Lane lane;
  std::uint8_t size_class;  // of its memory (see envelope_pool.h)
  std::uint8_t flags;       // kFlag... below, or'ed

  static constexpr std::uint8_t kFlagRouted = 1;    // reached its process through a pool
  static constexpr std::uint8_t kFlagConsumed = 2;  // its value is gone (see Mailbox::Release)
  static constexpr std::uint8_t kFlagMakeRoom = 4;  // a full receiver drops a message for it
  static constexpr std::uint8_t kFlagTagged = 8;    // a number stands behind its value (see Tag)
  static constexpr std::uint8_t kFlagStamped = 16;  // no request: `deadline` is its timer's number
  static constexpr std::uint8_t kFlagImportant = 32;  // refused rather than dropped or diverted
  static constexpr std::uint8_t kFlagTraced = 64;     // it has a trace id (see gen/trace.h)
  static constexpr std::uint8_t kFlagInOrder = 128;   // a notice: behind the messages before it
  static constexpr std::uint8_t kFlagCopy =
      128;  // a message: of a broadcast. (kFlagInOrder is of notices only)

  // Returns the place of the value. Only for an envelope with a value.
  [[nodiscard]] void* Value() noexcept { return reinterpret_cast<void*>(AddressOfValue()); }
  [[nodiscard]] const void* Value() const noexcept {
    return reinterpret_cast<const void*>(AddressOfValue());
  }
  // Returns what Value returns. Only for an envelope with a value of type T.
  template <class T>
  [[nodiscard]] void* PlaceOf() noexcept {
    return reinterpret_cast<std::byte*>(this) + OffsetOf<T>();
  }
  // Returns the value, or null if it has another type.
  template <class T>
  [[nodiscard]] T* ValueAs() noexcept {
    return IsType<T>(type) ? static_cast<T*>(PlaceOf<T>()) : nullptr;
  }
  template <class T>
  [[nodiscard]] const T* ValueAs() const noexcept {
    if (!IsType<T>(type)) return nullptr;
    return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(this) + OffsetOf<T>());
  }
  // Returns the tag that the upper layers have given the envelope. Only with kFlagTagged.
  [[nodiscard]] std::uint64_t& Tag() noexcept {
    return *reinterpret_cast<std::uint64_t*>(AddressOfTag());
  }
  // Sets the numbers that are not 0; see MakeEnvelopeWith.
  void SetNumbers(std::uint64_t tag, std::uint64_t trace) noexcept;
  // Returns the trace id, which stands behind the tag. Only with a trace id that MakeEnvelopeWith was given.
  [[nodiscard]] std::uint64_t& Trace() noexcept { return *(&Tag() + 1); }
  [[nodiscard]] std::uint64_t Trace() const noexcept {
    return *(reinterpret_cast<const std::uint64_t*>(AddressOfTag()) + 1);
  }

 private:
  template <class T>
  static consteval std::size_t OffsetOf() {
    return (sizeof(Envelope) + alignof(T) - 1) & ~(alignof(T) - 1);
  }
  [[nodiscard]] std::uintptr_t AddressOfValue() const noexcept {
    const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(this) + sizeof(Envelope);
    const std::uintptr_t mask = type->alignment - 1;
    return (end + mask) & ~mask;
  }
  [[nodiscard]] std::uintptr_t AddressOfTag() const noexcept {
    return (AddressOfValue() + type->size + 7) & ~std::uintptr_t{7};
  }
};
static_assert(sizeof(Envelope) == 56, "a message of 8 bytes has to fit one cache line");
static_assert(std::is_trivially_destructible_v<Envelope>);

// Destroys the value, if it is still there, and frees the envelope. May be called from any thread.
void DisposeEnvelope(Envelope* envelope) noexcept;

// Destroys the value only. The envelope may be freed with FreeEnvelope or DisposeEnvelope later.
void ConsumeValue(Envelope& envelope) noexcept;

// Returns false if ConsumeValue would only note that it was called.
[[nodiscard]] inline bool HasValueToDestroy(const Envelope& envelope) noexcept {
  return envelope.type != nullptr && envelope.type->destroy != nullptr;
}

struct EnvelopeDisposer {
  void operator()(Envelope* envelope) const noexcept { DisposeEnvelope(envelope); }
};
using EnvelopePtr = std::unique_ptr<Envelope, EnvelopeDisposer>;

// Returns how many bytes an envelope with a value of this size and alignment takes.
constexpr std::size_t EnvelopeBytes(std::size_t size, std::size_t alignment) {
  return ((sizeof(Envelope) + alignment - 1) & ~(alignment - 1)) + size;
}

// Numbers that an envelope has behind its value. A number that is 0 is not there.
struct EnvelopeNumbers {
  std::uint64_t tag = 0;
  std::uint64_t trace = 0;
};

namespace detail {
// Makes an envelope with a value of type T in memory of that class. Sets the numbers that are not 0.
template <class T, class... Arguments>
[[nodiscard]] EnvelopePtr MakeEnvelopeIn(void* memory, std::uint8_t size_class,
                                         EnvelopeNumbers numbers, std::uint8_t kind, Lane lane,
                                         Arguments&&... arguments) {
  auto* envelope =
      new (memory) Envelope{nullptr, TypeOf<T>(), {}, 0, 0, 0, kind, lane, size_class, 0};
  if ((numbers.tag | numbers.trace) != 0) [[unlikely]]
    envelope->SetNumbers(numbers.tag, numbers.trace);
  try {
    void* const place = envelope->template PlaceOf<T>();
    if constexpr (std::is_constructible_v<T, Arguments...>) {
      new (place) T(std::forward<Arguments>(arguments)...);
    } else {
      new (place) T{std::forward<Arguments>(arguments)...};
    }
  } catch (...) {
    FreeEnvelope(envelope, size_class);
    throw;
  }
  return EnvelopePtr(envelope);
}

template <class T>
struct EnvelopeOf {
  static_assert(alignof(T) <= kEnvelopeAlignment, "a message may be aligned to 64 bytes at most");
  static_assert(std::is_nothrow_destructible_v<T>,
                "a message's destructor must not throw: it runs where nobody could catch it");
  static constexpr std::size_t kBytes = EnvelopeBytes(sizeof(T), alignof(T));
  static constexpr std::uint8_t kClass = EnvelopeClassOf(kBytes);
};
}  // namespace detail

// Makes an envelope with a value of type T, constructed in place. Throws what T's constructor throws and
// std::bad_alloc. May be called from any thread.
template <class T, class... Arguments>
[[nodiscard]] EnvelopePtr MakeEnvelope(std::uint8_t kind, Lane lane, Arguments&&... arguments) {
  using Of = detail::EnvelopeOf<T>;
  std::uint8_t size_class = Of::kClass;
  void* memory = nullptr;
  if constexpr (Of::kClass != 0) {
    memory = AllocateEnvelopeOfClass(Of::kClass);
  } else {
    memory = AllocateEnvelope(Of::kBytes, size_class);
  }
  return detail::MakeEnvelopeIn<T>(memory, size_class, EnvelopeNumbers{}, kind, lane,
                                   std::forward<Arguments>(arguments)...);
}

// Does what MakeEnvelope does, and sets the numbers that are not 0.
template <class T, class... Arguments>
[[nodiscard]] EnvelopePtr MakeEnvelopeWith(EnvelopeNumbers numbers, std::uint8_t kind, Lane lane,
                                           Arguments&&... arguments) {
  if ((numbers.tag | numbers.trace) == 0) [[likely]] {
    return MakeEnvelope<T>(kind, lane, std::forward<Arguments>(arguments)...);
  }
  constexpr std::size_t kTaggedBytes =
      ((detail::EnvelopeOf<T>::kBytes + 7) & ~std::size_t{7}) + sizeof(numbers.tag);
  const std::size_t more = numbers.trace == 0 ? 0 : sizeof(numbers.trace);
  std::uint8_t size_class = 0;
  void* const memory = AllocateEnvelope(kTaggedBytes + more, size_class);
  return detail::MakeEnvelopeIn<T>(memory, size_class, numbers, kind, lane,
                                   std::forward<Arguments>(arguments)...);
}

// Makes an envelope without a value: a signal.
[[nodiscard]] EnvelopePtr MakeSignal(std::uint8_t kind, Lane lane);

}  // namespace ergon::core
