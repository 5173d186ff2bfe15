#include <ergon/node/cluster/signals/text_head.h>

#include <cstdint>
#include <string>
#include <utility>

#include <ergon/gen/atom.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/erlang/terms/big_endian.h>
#include <ergon/node/erlang/terms/tags.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kTextLengthBytes = sizeof(std::uint32_t);
// Two PIDs, and some bytes around them.
constexpr std::size_t kMostTextHeadBytes = 2 * (gen::Atom::kMaxBytes + 16) + 32;

struct KeptHead {
  gen::PID from;
  gen::PID to;
  std::size_t size = 0;
  char bytes[kMostTextHeadBytes] = {};
};
// A pointer, because a plugin with such variables has to find room for them among those that the program has at its
// start; without a destructor, so that access needs no guard.
constinit thread_local KeptHead* kept_head = nullptr;

// Frees it when the thread ends.
struct KeptHeadOwner {
  ~KeptHeadOwner() { delete std::exchange(kept_head, nullptr); }
};

// Not inlined: it is seldom called.
[[gnu::noinline]] KeptHead* MakeTextHead(const gen::PID& from, const gen::PID& to) {
  if (kept_head == nullptr) {
    static thread_local KeptHeadOwner owner;
    (void)owner;
    kept_head = new KeptHead();
  }
  KeptHead& made = *kept_head;
  std::string head;
  OpenMessage(head, from, to);
  head += static_cast<char>(TermTag::kBinary);
  head.append(kTextLengthBytes, '\0');
  made.from = from;
  made.to = to;
  made.size = head.copy(made.bytes, kMostTextHeadBytes);
  return &made;
}

}  // namespace

// Not inlined: a process must not keep the address of a thread-local variable when it goes on in another thread.
[[gnu::noinline]] std::string_view TextHead(const gen::PID& from, const gen::PID& to,
                                            std::size_t text_bytes) {
  KeptHead* head = kept_head;
  if (head == nullptr || head->to != to || head->from != from || head->size == 0) [[unlikely]]
    head = MakeTextHead(from, to);
  WriteBigEndian(head->bytes,
                 static_cast<std::uint32_t>(head->size - kFrameLengthBytes + text_bytes));
  WriteBigEndian(head->bytes + head->size - kTextLengthBytes,
                 static_cast<std::uint32_t>(text_bytes));
  return {head->bytes, head->size};
}

}  // namespace ergon::dist
