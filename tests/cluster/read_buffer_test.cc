// The bytes that have come and are no whole frame yet.
#include <ergon/node/cluster/connection/read_buffer.h>

#include <algorithm>
#include <cstring>
#include <string>

#include <doctest/doctest.h>

#include <cluster/terms.h>
#include <kit/one_thread.h>

namespace ergon::dist {
namespace {

// Reads what is there, as a socket that has it all gives it.
void Fill(ReadBuffer& buffer, std::string& rest) {
  const std::span<char> room = buffer.Room();
  const std::size_t count = std::min(room.size(), rest.size());
  std::memcpy(room.data(), rest.data(), count);
  rest.erase(0, count);
  buffer.Added(count);
}

}  // namespace

TEST_CASE("read buffer: what it took for a large frame is given back, whatever follows" *
          kit::OneThread()) {
  constexpr std::size_t kLarge = 20 * 1024 * 1024;
  for (const std::size_t behind : {0, 1, 4, 30'000, 64 * 1024}) {
    ReadBuffer buffer;
    const std::string next(behind, 'y');
    std::string rest = terms::Big(kLarge, 4) + std::string(kLarge, 'x') + next;
    while (!rest.empty()) Fill(buffer, rest);
    CHECK(buffer.Bytes().size() == 4 + kLarge + behind);
    CHECK(buffer.Capacity() >= kLarge);
    buffer.RemoveFirst(4 + kLarge);
    CHECK(buffer.Capacity() <= ReadBuffer::kMostKept);
    CHECK(buffer.Bytes() == next);
    rest = "z";
    Fill(buffer, rest);
    CHECK(buffer.Bytes() == next + "z");
  }
}

TEST_CASE("read buffer: it grows with what comes, not with what a frame says that it has") {
  ReadBuffer buffer;
  std::string rest = terms::Big(100 * 1024 * 1024, 4);
  for (int i = 0; i < 1000; ++i) {
    rest += 'x';
    Fill(buffer, rest);
  }
  CHECK(buffer.Bytes().size() == 1004);
  CHECK(buffer.Capacity() == ReadBuffer::kReadBytes);
}

TEST_CASE("read buffer: behind a frame that is large no more is read than before one") {
  ReadBuffer buffer;
  std::string rest = terms::Big(10, 4) + std::string(10, 'x') + std::string(2'000'000, 'y');
  Fill(buffer, rest);
  CHECK(buffer.Bytes().size() == ReadBuffer::kReadBytes);
  buffer.RemoveFirst(14);
  CHECK(buffer.Bytes() == std::string(ReadBuffer::kReadBytes - 14, 'y'));
  // 'yyyy' stands for a length; of the next frame no more is read than its rest, or as much as ever.
  buffer.RemoveFirst(buffer.Bytes().size());
  rest = terms::Big(100'000, 4);
  Fill(buffer, rest);
  CHECK(buffer.Room().size() <= ReadBuffer::kReadBytes);
}

}  // namespace ergon::dist
