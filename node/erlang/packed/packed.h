// The bytes of values that travel packed between two Ergon nodes. <ergon/node/cereal.h> is built on this header, and is
// the one that users include.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include <ergon/gen/alias.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/ref.h>
#include <ergon/node/erlang/packed_type.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/reference.h>

namespace ergon::dist {

namespace detail {

// Thrown if bytes are not packed bytes, or if a value cannot be packed. Nodes make an error of it.
class PackedProblem : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Numbers are written from the lowest byte on.
template <class T>
[[nodiscard]] T InWireOrder(T value) noexcept {
  if constexpr (std::endian::native == std::endian::big && sizeof(T) > 1) {
    char* const bytes = reinterpret_cast<char*>(&value);
    for (std::size_t i = 0; i < sizeof(T) / 2; ++i) std::swap(bytes[i], bytes[sizeof(T) - 1 - i]);
  }
  return value;
}

// The limits of writing and reading. Values in each other take stack, and a container whose elements take no bytes
// could have any number of elements.
class PackedLimits {
 public:
  // How deep values may be nested, as for ValueProblem.
  static constexpr int kMaxNesting = 100;

  void Enter() {
    if (++nesting_ > kMaxNesting) ThrowTooDeep();
  }
  void Leave() noexcept { --nesting_; }

 private:
  [[noreturn]] static void ThrowTooDeep();
  int nesting_ = 0;
};

// Appends packed bytes to a text, which has to outlive it. Small pieces are gathered first.
class PackedOut : public PackedLimits {
 public:
  explicit PackedOut(std::string& out) : out_(out), begin_(out.size()) {}
  PackedOut(const PackedOut&) = delete;
  PackedOut& operator=(const PackedOut&) = delete;

  template <class T>
  void Number(T value) {
    if (room_ < sizeof(T)) Spill();
    const T bytes = InWireOrder(value);
    std::memcpy(small_ + kSmallBytes - room_, &bytes, sizeof(T));
    room_ -= sizeof(T);
  }
  void Bytes(const void* bytes, std::size_t size) {
    if (size > room_) {
      Spill();
      if (size > kSmallBytes / 2) {
        out_.append(static_cast<const char*>(bytes), size);
        return;
      }
    }
    // If there are no bytes, the address may be null.
    if (size != 0) std::memcpy(small_ + kSmallBytes - room_, bytes, size);
    room_ -= size;
  }
  // Writes how many elements follow.
  void Count(std::uint64_t count) {
    elements_ += count;
    Number(count);
  }
  // Writes the number of bytes of a text, and then these bytes.
  void Text(std::string_view text) {
    Count(text.size());
    Bytes(text.data(), text.size());
  }
  // Completes the text: all that was written is there then. Throws PackedProblem if a reader would refuse so many
  // elements.
  void Close();

 private:
  static constexpr std::size_t kSmallBytes = 256;

  void Spill() {
    out_.append(small_, kSmallBytes - room_);
    room_ = kSmallBytes;
  }

  std::string& out_;
  const std::size_t begin_;
  std::uint64_t elements_ = 0;
  std::size_t room_ = kSmallBytes;
  char small_[kSmallBytes];
};

// Reads packed bytes of a peer, and trusts none of them. Throws PackedProblem for everything that is wrong with them.
class PackedIn : public PackedLimits {
 public:
  PackedIn(std::string_view bytes, const ReadLimits& limits)
      : bytes_(bytes), elements_left_(bytes.size()), limits_(limits) {}
  PackedIn(const PackedIn&) = delete;
  PackedIn& operator=(const PackedIn&) = delete;

  [[nodiscard]] std::size_t left() const noexcept { return bytes_.size() - at_; }
  // Reads so many bytes, and returns a view of them.
  [[nodiscard]] std::string_view TakeBytes(std::uint64_t size) {
    if (size > left()) [[unlikely]]
      ThrowTruncated(size);
    const std::string_view taken = bytes_.substr(at_, size);
    at_ += size;
    return taken;
  }
  template <class T>
  [[nodiscard]] T Number() {
    T value;
    std::memcpy(&value, TakeBytes(sizeof(T)).data(), sizeof(T));
    return InWireOrder(value);
  }
  // Reads a truth value. Refuses a byte that means neither true nor false.
  [[nodiscard]] bool Truth() {
    const auto byte = Number<std::uint8_t>();
    if (byte > 1) [[unlikely]]
      ThrowNoTruth(byte);
    return byte != 0;
  }
  // Reads how many elements follow. A message has no more elements than bytes.
  [[nodiscard]] std::size_t Count() {
    const auto count = Number<std::uint64_t>();
    if (count > elements_left_) [[unlikely]]
      ThrowTooMany(count);
    elements_left_ -= count;
    return static_cast<std::size_t>(count);
  }
  // Reads how many elements follow, each of which takes `element_bytes`. These bytes are there.
  [[nodiscard]] std::size_t CountOf(std::size_t element_bytes) {
    const std::size_t count = Count();
    if (count > left() / element_bytes) [[unlikely]]
      ThrowTooMany(count);
    return count;
  }
  [[nodiscard]] std::string_view Text() { return TakeBytes(Count()); }
  [[nodiscard]] AtomBudget* atoms() const noexcept { return limits_.atoms; }
  [[nodiscard]] std::size_t max_term_depth() const noexcept { return limits_.max_term_depth; }
  // Ends the reading. Throws PackedProblem if bytes are left.
  void Close() const;

  // Keeps the std::shared_ptrs by the numbers under which they were written, from 1 on. cereal would trust a peer that
  // names a pointer of another type, or a pointer inside of itself, which would never be freed.
  void AddShared(std::uint32_t number, std::shared_ptr<void> object, const std::type_info& type);
  void FinishShared(std::uint32_t number) noexcept { shared_[number - 1].is_read = true; }
  [[nodiscard]] std::shared_ptr<void> FindShared(std::uint32_t number, const std::type_info& type);

 private:
  struct Shared {
    std::shared_ptr<void> object;
    const std::type_info* type;
    bool is_read;
  };
  [[noreturn]] void ThrowTruncated(std::uint64_t size) const;
  [[noreturn]] void ThrowNoTruth(int byte) const;
  [[noreturn]] void ThrowTooMany(std::uint64_t count) const;

  const std::string_view bytes_;
  std::size_t at_ = 0;
  std::uint64_t elements_left_;
  const ReadLimits limits_;
  std::vector<Shared> shared_;
};

void Pack(PackedOut& out, gen::Atom value);
void Pack(PackedOut& out, const gen::PID& value);
void Pack(PackedOut& out, const gen::Ref& value);
void Pack(PackedOut& out, const gen::Alias& value);
void Pack(PackedOut& out, const Reference& value);
void Pack(PackedOut& out, const Term& value);
void Unpack(PackedIn& in, gen::Atom& value);
void Unpack(PackedIn& in, gen::PID& value);
void Unpack(PackedIn& in, gen::Ref& value);
void Unpack(PackedIn& in, gen::Alias& value);
void Unpack(PackedIn& in, Reference& value);
void Unpack(PackedIn& in, Term& value);

// Throws PackedProblem with the name of the type and both versions, which differ.
[[noreturn]] void ThrowOtherVersion(const std::type_info& type, std::uint32_t own,
                                    std::uint32_t of_peer);

}  // namespace detail

}  // namespace ergon::dist
