// The types that this node packs for other Ergon nodes, and what those say of theirs.
//
// Nodes tell each other what they pack when they connect ({packs, Types} of ergon_messages.h). Until a peer has, values go
// there as terms; one that has no such form waits for it.
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

// Gives a message or a request the priority of its type. An answer is no message, and a value of an event comes behind
// those before it.
inline void GivePriority(core::Envelope& envelope, gen::MessagePriority priority) noexcept {
  if (envelope.kind == static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage) ||
      envelope.kind == static_cast<std::uint8_t>(gen::EnvelopeKind::kRequest)) {
    envelope.lane = static_cast<core::Lane>(priority);
  }
}

// How a value goes to a peer.
enum class Form : std::uint8_t { kTerm, kPacked };

// The form in which the last value of a type went to a node. Only a hint, so that a value is mostly written once: the
// lock of the connection decides. Any thread.
class FormHints {
 public:
  // kTerm, if nothing is known.
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

  // Relaxed: a value says all of itself.
  mutable std::array<std::atomic<std::uint64_t>, kSlots> slots_{};
};

// What a peer has said. Guarded by the lock of its connection.
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
  // Of a type of this node by its index.
  [[nodiscard]] Entry Of(std::size_t index) const noexcept {
    return index < entries_.size() ? entries_[index] : Entry{};
  }

 private:
  bool is_told_ = false;
  std::vector<Entry> entries_;
};

// Immutable once the node runs, but for the hints; any thread.
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

  // The result stays where it is.
  const Type* Add(const WireType& type);
  // By its name, or null.
  [[nodiscard]] const Type* Find(std::string_view name) const;
  [[nodiscard]] bool empty() const noexcept { return types_.empty(); }

  // Appends a packed value as a term, or nothing on an error. kIncorrect: it cannot be packed.
  static gen::Result<void> Append(std::string& out, const Type& type, const void* value);
  // Whether a checked term is a packed value. No node of Erlang writes terms that begin so.
  [[nodiscard]] static bool IsPacked(std::string_view term) noexcept;
  // The message in such a term. kUnsupported: its type is not packed here, or in another way. kIncorrect: what is wrong
  // with its bytes.
  [[nodiscard]] gen::Result<core::EnvelopePtr> Read(std::string_view term, AtomBudget* atoms,
                                                    std::uint8_t kind,
                                                    core::EnvelopeNumbers numbers) const;

  // Appends the list in {packs, Types}, and compares that of a peer with it. kIncorrect: it is no such list.
  void AppendAll(std::string& out) const;
  [[nodiscard]] gen::Result<PeerPacks> Compare(std::string_view list, std::size_t max_depth) const;
  // How values of a type go to the peer `node` that says that. With `is_term_too` they may go as terms. The errors say why
  // they do not go there; kBusy: it has not said it yet, and may (`may_say`).
  [[nodiscard]] static gen::Result<Form> FormFor(const Type& type, bool is_term_too,
                                                 const PeerPacks& peer, bool may_say,
                                                 gen::Atom node);

 private:
  std::deque<Type> types_;
  std::unordered_map<std::string_view, const Type*> by_name_;
  std::unordered_map<std::uint64_t, const Type*> by_fingerprint_;
};

}  // namespace ergon::dist
