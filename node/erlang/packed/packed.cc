#include <ergon/node/erlang/packed/packed.h>

#include <fmt/core.h>
#include <algorithm>

#include <ergon/core/foundations/demangle.h>
#include <ergon/node/delivery/foreign_aliases.h>
#include <ergon/node/erlang/terms/atom_budget.h>

namespace ergon::dist {
namespace detail {
namespace {

[[noreturn]] void ThrowPacked(std::string what) { throw PackedProblem(std::move(what)); }

// Packs an atom as one byte for its length, and its text.
void PackAtom(PackedOut& out, gen::Atom atom) {
  const std::string_view text = atom.Text();  // at most 255 bytes
  out.Number(static_cast<std::uint8_t>(text.size()));
  out.Bytes(text.data(), text.size());
}

gen::Atom UnpackAtom(PackedIn& in) {
  const std::string_view text = in.TakeBytes(in.Number<std::uint8_t>());
  auto atom = in.atoms() != nullptr ? in.atoms()->Make(text) : AtomBudget::MakeUnlimited(text);
  if (!atom) ThrowPacked(atom.error().ToString());
  return *atom;
}

template <class T>
void PackIdentity(PackedOut& out, const T& value) {
  out.Number(value.id);
  out.Number(value.creation);
  PackAtom(out, value.node);
}

template <class T>
void UnpackIdentity(PackedIn& in, T& value) {
  value.id = in.Number<std::uint64_t>();
  value.creation = in.Number<std::uint32_t>();
  value.node = UnpackAtom(in);
}

}  // namespace

void PackedLimits::ThrowTooDeep() {
  ThrowPacked(fmt::format("more than {} values in each other", kMaxNesting));
}

void PackedOut::Close() {
  Spill();
  const std::size_t bytes = out_.size() - begin_;
  if (elements_ <= bytes) return;
  ThrowPacked(fmt::format("{} elements of containers in {} bytes: each has to take one at least",
                          elements_, bytes));
}

void PackedIn::Close() const {
  if (left() != 0) ThrowPacked(fmt::format("{} bytes behind the value", left()));
}

void PackedIn::ThrowTruncated(std::uint64_t size) const {
  ThrowPacked(
      fmt::format("{} bytes were expected behind byte {}, {} are there", size, at_, left()));
}

void PackedIn::ThrowNoTruth(int byte) const {
  ThrowPacked(fmt::format("byte {}: expected true or false, found {}", at_ - 1, byte));
}

void PackedIn::ThrowTooMany(std::uint64_t count) const {
  ThrowPacked(fmt::format("byte {}: {} elements, for which there are not enough bytes",
                          at_ - sizeof(count), count));
}

void PackedIn::AddShared(std::uint32_t number, std::shared_ptr<void> object,
                         const std::type_info& type) {
  if (number != shared_.size() + 1) {
    ThrowPacked(fmt::format("byte {}: shared object {}, expected {}", at_ - sizeof(number), number,
                            shared_.size() + 1));
  }
  shared_.push_back({std::move(object), &type, false});
}

std::shared_ptr<void> PackedIn::FindShared(std::uint32_t number, const std::type_info& type) {
  if (number == 0) return nullptr;
  if (number > shared_.size()) {
    ThrowPacked(fmt::format("byte {}: shared object {}, of {}", at_ - sizeof(number), number,
                            shared_.size()));
  }
  const Shared& shared = shared_[number - 1];
  if (*shared.type != type) {
    ThrowPacked(fmt::format("byte {}: shared object {} is a {}, expected a {}",
                            at_ - sizeof(number), number, core::Demangle(shared.type->name()),
                            core::Demangle(type.name())));
  }
  if (!shared.is_read) {
    ThrowPacked(
        fmt::format("byte {}: shared object {} contains itself", at_ - sizeof(number), number));
  }
  return shared.object;
}

void Pack(PackedOut& out, gen::Atom value) { PackAtom(out, value); }
void Pack(PackedOut& out, const gen::PID& value) { PackIdentity(out, value); }
void Pack(PackedOut& out, const gen::Ref& value) { PackIdentity(out, value); }
void Pack(PackedOut& out, const gen::Alias& value) { PackIdentity(out, value); }

void Pack(PackedOut& out, const Reference& value) {
  PackAtom(out, value.node);
  out.Number(value.creation);
  const auto size = std::min<std::uint32_t>(value.size, Reference::kMaxWords);
  out.Number(static_cast<std::uint8_t>(size));
  for (std::uint32_t i = 0; i < size; ++i) out.Number(value.words[i]);
}

void Pack(PackedOut& out, const Term& value) {
  const std::string bytes = value.Bytes();
  out.Text(bytes);
}

void Unpack(PackedIn& in, gen::Atom& value) { value = UnpackAtom(in); }
void Unpack(PackedIn& in, gen::PID& value) {
  UnpackIdentity(in, value);
  // In this program it would stand for a name (remote_names.h).
  if (value.creation == 0 && value != gen::PID()) ThrowPacked("a process identifier of creation 0");
}
void Unpack(PackedIn& in, gen::Ref& value) { UnpackIdentity(in, value); }
void Unpack(PackedIn& in, gen::Alias& value) {
  UnpackIdentity(in, value);
  if (node::StandsForAnother(value)) ThrowPacked("an alias that no Ergon node has made");
}

void Unpack(PackedIn& in, Reference& value) {
  value = {};
  value.node = UnpackAtom(in);
  value.creation = in.Number<std::uint32_t>();
  value.size = in.Number<std::uint8_t>();
  if (value.size > Reference::kMaxWords) {
    ThrowPacked(fmt::format("a reference of {} words, at most {} are possible", value.size,
                            Reference::kMaxWords));
  }
  for (std::uint32_t i = 0; i < value.size; ++i) value.words[i] = in.Number<std::uint32_t>();
}

void Unpack(PackedIn& in, Term& value) {
  const auto term = Term::FromBytes(in.Text(), in.max_term_depth());
  if (!term) ThrowPacked(term.error().ToString());
  value = Term::FromChecked(std::string(term->raw()), in.atoms());
}

void ThrowOtherVersion(const std::type_info& type, std::uint32_t own, std::uint32_t of_peer) {
  ThrowPacked(fmt::format("{}: version {} of it here, version {} on the other node",
                          core::Demangle(type.name()), own, of_peer));
}

}  // namespace detail

// FNV-1a.
std::uint64_t FingerprintOf(std::string_view words) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : words) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace ergon::dist
