// The types that this node packs for other Ergon nodes, and what those nodes say of their types.
//
// When two nodes connect, each tells the other which types it packs ({packs, Types} of ergon_messages.h). Until a peer
// has done so, values go there as terms; a value that has no such form waits.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/priority.h>
#include <ergon/gen/result.h>
#include <ergon/node/erlang/packed_type.h>

namespace ergon::dist {

struct WireType;

// Gives a message or a request the priority of its type. An answer has none, and the values of an event stay in order.
inline void GivePriority(core::Envelope& envelope, gen::MessagePriority priority) noexcept {
  if (envelope.kind == static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage) ||
      envelope.kind == static_cast<std::uint8_t>(gen::EnvelopeKind::kRequest)) {
    envelope.lane = static_cast<core::Lane>(priority);
  }
}

// How a value goes to a peer.
enum class Form : std::uint8_t { kTerm, kPacked };

// The form in which the last value of a type went to each node. It is only a hint, so that most values are written
// once: which form is right is known under the lock of the connection. Any thread.
class FormHints {
 public:
  // Returns kTerm if nothing is known.
  [[nodiscard]] Form Of(gen::Atom node) const noexcept {
    const std::uint64_t hint = SlotOf(node).load(std::memory_order_relaxed);
    return hint == Packed(node) ? Form::kPacked : Form::kTerm;
  }
  void Note(gen::Atom node, Form form) noexcept {
    SlotOf(node).store(form == Form::kPacked ? Packed(node) : 0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kSlots = 8;
  [[nodiscard]] static std::uint64_t Packed(gen::Atom node) noexcept {
    return std::uint64_t{node.Index()} + 1;
  }
  [[nodiscard]] std::atomic<std::uint64_t>& SlotOf(gen::Atom node) const noexcept {
    return slots_[node.Index() % kSlots];
  }

  // Relaxed: nothing else is read because of a hint.
  mutable std::array<std::atomic<std::uint64_t>, kSlots> slots_{};
};

// What a peer has said of the types that it packs. Guarded by the lock of its connection.
class PeerPacks {
 public:
  enum class What : std::uint8_t { kNothing, kTheSame, kOtherFields, kOtherVersion };
  struct Entry {
    What what = What::kNothing;
    std::uint32_t version = 0;
  };
  PeerPacks() = default;
  explicit PeerPacks(std::vector<Entry> entries) : is_told_(true), entries_(std::move(entries)) {}

  [[nodiscard]] bool is_told() const noexcept { return is_told_; }
  // Returns what it has said of a type of this node, which is given by its index.
  [[nodiscard]] Entry Of(std::size_t index) const noexcept {
    return index < entries_.size() ? entries_[index] : Entry{};
  }

 private:
  bool is_told_ = false;
  std::vector<Entry> entries_;
};

// Immutable once the node runs, except for the hints; any thread.
class PackedTypes {
 public:
  struct Type {
    std::string name;  // as written in C++
    PackedType how;
    const core::TypeDescriptor* type = nullptr;
    gen::MessagePriority priority = gen::MessagePriority::kNormal;
    std::size_t index = 0;
    mutable FormHints hints = {};
  };

  // Returns the added type, which stays where it is.
  const Type* Add(const WireType& type);
  // Returns the type with that name, or null.
  [[nodiscard]] const Type* Find(std::string_view name) const;
  [[nodiscard]] std::size_t size() const noexcept { return types_.size(); }

  // Appends a packed value as a term. Returns kIncorrect, and appends nothing, if the value cannot be packed.
  static gen::Result<void> Append(std::string& out, const Type& type, const void* value);
  // Returns whether a checked term is a packed value. No Erlang node writes terms that begin so.
  [[nodiscard]] static bool IsPacked(std::string_view term) noexcept;
  // Returns the type of such a term, or null: it is not packed here, or in another way.
  [[nodiscard]] const Type* FindIn(std::string_view term) const;
  // Returns kUnsupported, for a term without a type.
  [[nodiscard]] static gen::Error WhyNoType();
  // Returns the message in such a term of that type. Returns kIncorrect, with a text that says what is wrong, if its
  // bytes do not fit the type.
  [[nodiscard]] static gen::Result<core::EnvelopePtr> Read(const Type& type, std::string_view term,
                                                           const ReadLimits& limits,
                                                           std::uint8_t kind,
                                                           core::EnvelopeNumbers numbers);

  // Appends the list in {packs, Types}.
  void AppendAll(std::string& out) const;
  // Compares the list of a peer with it. Returns kIncorrect if that is no such list.
  [[nodiscard]] gen::Result<PeerPacks> Compare(std::string_view list, std::size_t max_depth) const;
  // Returns how values of a type go to the node `node`, which has said `peer`. With `is_term_too` they may go as terms.
  // The errors say why they cannot go there; kBusy: the node has not said what it packs yet, and still may (`may_say`).
  [[nodiscard]] static gen::Result<Form> FormFor(const Type& type, bool is_term_too,
                                                 const PeerPacks& peer, bool may_say,
                                                 gen::Atom node);

 private:
  std::deque<Type> types_;
  std::unordered_map<std::string_view, const Type*> by_name_;
  std::unordered_map<std::uint64_t, const Type*> by_fingerprint_;
};

}  // namespace ergon::dist
