#include <ergon/node/cluster/signals/references.h>

#include <ergon/node/erlang/terms/big_endian.h>
#include <ergon/node/erlang/terms/tags.h>

namespace ergon::dist {
namespace {

constexpr char kNewerReference = static_cast<char>(TermTag::kNewerReference);
constexpr char kSmallAtomUtf8 = static_cast<char>(TermTag::kSmallAtomUtf8);
constexpr std::uint16_t kWords = 3;  // the third one is 0: Erlang's own have three

// The words follow.
void AppendHead(std::string& out, std::uint16_t words, gen::Atom node, std::uint32_t creation) {
  const std::string_view name = node.Text();
  out.push_back(kNewerReference);
  AppendBigEndian(out, words);
  out.push_back(kSmallAtomUtf8);
  out.push_back(static_cast<char>(name.size()));
  out.append(name);
  AppendBigEndian(out, creation);
}

}  // namespace

void AppendReference(std::string& out, std::uint64_t id, gen::Atom node, std::uint32_t creation) {
  AppendHead(out, kWords, node, creation);
  AppendBigEndian(out, static_cast<std::uint32_t>(id));
  AppendBigEndian(out, static_cast<std::uint32_t>(id >> 32));
  AppendBigEndian(out, std::uint32_t{0});
}

void AppendReference(std::string& out, const node::ForeignAlias& alias) {
  AppendHead(out, static_cast<std::uint16_t>(alias.size), alias.node, alias.creation);
  for (std::uint32_t i = 0; i < alias.size; ++i) AppendBigEndian(out, alias.words[i]);
}

std::optional<std::uint64_t> OwnNumberIn(std::string_view reference, gen::Atom node,
                                         std::uint32_t creation) {
  // Tag, number of words, atom: whoever sends it back may write the atom in another way.
  if (reference.size() < 5 || reference[0] != kNewerReference ||
      ReadBigEndian<std::uint16_t>(reference.substr(1)) != kWords) {
    return std::nullopt;
  }
  const char atom = reference[3];
  const bool small = atom == kSmallAtomUtf8 || atom == static_cast<char>(TermTag::kSmallAtom);
  const std::size_t begin = small ? 5 : 6;
  const std::string_view name = node.Text();
  if (reference.size() != begin + name.size() + 4 + 4 * kWords ||
      reference.substr(begin, name.size()) != name) {
    return std::nullopt;
  }
  const std::string_view numbers = reference.substr(begin + name.size());
  const auto number = [&](std::size_t index) {
    return ReadBigEndian<std::uint32_t>(numbers.substr(4 * index));
  };
  if (number(0) != creation || number(3) != 0) return std::nullopt;
  return std::uint64_t{number(2)} << 32 | number(1);
}

}  // namespace ergon::dist
