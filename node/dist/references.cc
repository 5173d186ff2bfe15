#include <ergon/node/dist/references.h>

namespace ergon::dist {
namespace {

constexpr char kNewerReference = 90;
constexpr char kSmallAtomUtf8 = 119;
constexpr int kWords = 3;  // the third one is 0: Erlang's own have three

void AppendBigEndian(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift & 0xff));
  }
}

std::uint32_t BigEndianAt(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  }
  return value;
}

}  // namespace

void AppendReference(std::string& out, std::uint64_t id, gen::Atom node, std::uint32_t creation) {
  const std::string_view name = node.Text();
  out.push_back(kNewerReference);
  out.push_back(0);
  out.push_back(kWords);
  out.push_back(kSmallAtomUtf8);
  out.push_back(static_cast<char>(name.size()));
  out.append(name);
  AppendBigEndian(out, creation);
  AppendBigEndian(out, static_cast<std::uint32_t>(id));
  AppendBigEndian(out, static_cast<std::uint32_t>(id >> 32));
  AppendBigEndian(out, 0);
}

std::optional<std::uint64_t> OwnNumberIn(std::string_view reference, gen::Atom node,
                                         std::uint32_t creation) {
  // Tag, number of words, atom: whoever sends it back may write the atom in another way.
  if (reference.size() < 5 || reference[0] != kNewerReference || reference[1] != 0 ||
      reference[2] != kWords) {
    return std::nullopt;
  }
  const char atom = reference[3];
  const bool small = atom == kSmallAtomUtf8 || atom == 115;
  const std::size_t begin = small ? 5 : 6;
  const std::string_view name = node.Text();
  if (reference.size() != begin + name.size() + 4 + 4 * kWords ||
      reference.substr(begin, name.size()) != name) {
    return std::nullopt;
  }
  const std::size_t words = begin + name.size();
  if (BigEndianAt(reference, words) != creation || BigEndianAt(reference, words + 12) != 0) {
    return std::nullopt;
  }
  return std::uint64_t{BigEndianAt(reference, words + 8)} << 32 | BigEndianAt(reference, words + 4);
}

}  // namespace ergon::dist
