#include <ergon/node/cluster/signals/text_head.h>

#include <cstdint>
#include <string>

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

// Without a destructor, so that access needs no guard.
struct KeptHead {
  gen::PID from;
  gen::PID to;
  std::size_t size = 0;
  char bytes[kMostTextHeadBytes] = {};
};
constinit thread_local KeptHead kept_head;

// Not inlined: it is seldom called.
[[gnu::noinline]] void MakeTextHead(KeptHead& made, const gen::PID& from, const gen::PID& to) {
  std::string head;
  OpenMessage(head, from, to);
  head += static_cast<char>(TermTag::kBinary);
  head.append(kTextLengthBytes, '\0');
  made.from = from;
  made.to = to;
  made.size = head.copy(made.bytes, kMostTextHeadBytes);
}

}  // namespace

// Not inlined: a process must not keep the address of a thread-local variable when it goes on in another thread.
[[gnu::noinline]] std::string_view TextHead(const gen::PID& from, const gen::PID& to,
                                            std::size_t text_bytes) {
  KeptHead& head = kept_head;
  if (head.to != to || head.from != from || head.size == 0) [[unlikely]]
    MakeTextHead(head, from, to);
  WriteBigEndian(head.bytes,
                 static_cast<std::uint32_t>(head.size - kFrameLengthBytes + text_bytes));
  WriteBigEndian(head.bytes + head.size - kTextLengthBytes, static_cast<std::uint32_t>(text_bytes));
  return {head.bytes, head.size};
}

}  // namespace ergon::dist
