// Terms, byte by byte.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace ergon::dist::terms {

inline std::string Bytes(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text += static_cast<char>(byte);
  return text;
}

inline std::string Big(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i));
  return text;
}

inline std::string SmallAtom(std::string_view text) {
  return Bytes({119, static_cast<int>(text.size())}) + std::string(text);
}

inline std::string Binary(std::string_view text) {
  return Bytes({109}) + Big(text.size(), 4) + std::string(text);
}

inline std::string Small(int number) { return Bytes({97, number}); }
inline const std::string kNil = Bytes({106});

inline std::string Tuple(const std::vector<std::string>& elements) {
  std::string term = Bytes({104, static_cast<int>(elements.size())});
  for (const std::string& element : elements) term += element;
  return term;
}

inline std::string List(const std::vector<std::string>& elements, const std::string& tail = kNil) {
  std::string term = Bytes({108}) + Big(elements.size(), 4);
  for (const std::string& element : elements) term += element;
  return term + tail;
}

// Keys and values, one after the other.
inline std::string Map(const std::vector<std::string>& entries) {
  std::string term = Bytes({116}) + Big(entries.size() / 2, 4);
  for (const std::string& entry : entries) term += entry;
  return term;
}

inline std::string Pid(std::string_view node, std::uint32_t id, std::uint32_t serial,
                       std::uint32_t creation) {
  return Bytes({88}) + SmallAtom(node) + Big(id, 4) + Big(serial, 4) + Big(creation, 4);
}

inline std::string Reference(std::string_view node, std::uint32_t creation,
                             const std::vector<std::uint32_t>& words) {
  std::string term =
      Bytes({90, 0, static_cast<int>(words.size())}) + SmallAtom(node) + Big(creation, 4);
  for (const std::uint32_t word : words) term += Big(word, 4);
  return term;
}

inline std::string Float(double value) {
  std::uint64_t bits = 0;
  static_assert(sizeof(bits) == sizeof(value));
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return Bytes({70}) + Big(bits, 8);
}

// Old floats are texts of 31 bytes.
inline std::string OldFloat(std::string_view text) {
  std::string term = Bytes({99}) + std::string(text);
  term.resize(32);
  return term;
}

// A function with two free variables; `size` is what it says, 0: what is right.
inline std::string Function(std::uint32_t size = 0) {
  const std::string inner = Bytes({2}) + std::string(16, 'd') + Big(1, 4) + Big(2, 4) +
                            SmallAtom("erl_eval") + Small(44) + Small(99) + Pid("a@b", 1, 0, 2) +
                            Small(1) + List({Small(2)});
  return Bytes({112}) + Big(size == 0 ? inner.size() + 4 : size, 4) + inner;
}

inline std::string Export() {
  return Bytes({113}) + SmallAtom("lists") + SmallAtom("map") + Small(2);
}

// One of each kind, as nodes write them.
inline std::vector<std::string> All() {
  return {Small(7),
          Bytes({98}) + Big(0xfffffffe, 4),
          Bytes({110, 8, 1, 1, 2, 3, 4, 5, 6, 7, 8}),
          Bytes({111, 0, 0, 0, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
          Float(1.5),
          OldFloat("1.50000000000000000000e+00"),
          Bytes({100, 0, 2, 'o', 'k'}),
          Bytes({115, 2, 'o', 0xe4}),
          Bytes({118, 0, 3, 'o', 0xc3, 0xa4}),
          SmallAtom("ok"),
          SmallAtom(""),
          Tuple({}),
          Tuple({Small(1), SmallAtom("two")}),
          Bytes({105}) + Big(2, 4) + Small(1) + Small(2),
          kNil,
          Bytes({107, 0, 3, 1, 2, 3}),
          List({Small(1), SmallAtom("x")}),
          List({Small(1)}, Small(2)),
          Binary("text"),
          Bytes({77}) + Big(2, 4) + Bytes({3, 0xff, 0xa0}),
          Map({SmallAtom("a"), Small(1), Binary("b"), List({Small(1)})}),
          Pid("shell@localhost", 12, 3, 4711),
          Reference("shell@localhost", 4711, {1, 2, 3}),
          Bytes({89}) + SmallAtom("a@b") + Big(5, 4) + Big(6, 4),
          Bytes({120}) + SmallAtom("a@b") + Big(5, 8) + Big(6, 4),
          Export(),
          Function(),
          Tuple({SmallAtom("deep"), List({Tuple({Map({Small(1), Tuple({kNil})})})})})};
}

}  // namespace ergon::dist::terms
