#include <ergon/node/erlang/terms/canonical.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <openssl/sha.h>

#include <ergon/node/erlang/terms/big_endian.h>
#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/erlang/terms/tags.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {
namespace {

// Bytes that no term begins with.
constexpr char kEndOfList = 0;
constexpr char kTail = 1;
constexpr char kDigest = 2;

constexpr std::size_t kLarge = 64;  // bytes
constexpr std::size_t kBitsAt = 5;  // in a bit string: how many bits of its last byte belong to it

TermTag TagAt(std::string_view term) { return TermTag{static_cast<std::uint8_t>(term[0])}; }

class Rewriter {
 public:
  explicit Rewriter(std::string_view term) : in_(term) {}

  std::string Run() {
    Term();
    while (!open_.empty()) Step();
    return std::move(out_);
  }

 private:
  struct Level {
    TermKind kind;
    std::size_t left;                // terms
    bool has_tail;                   // a list: it has ended, but not with an empty one
    std::size_t begin;               // of the elements
    std::vector<std::size_t> parts;  // a map: where keys and values begin
  };

  void Step() {
    Level& level = open_.back();
    if (level.left != 0) {
      --level.left;
      if (level.kind == TermKind::kMap) level.parts.push_back(out_.size());
      Term();
    } else if (level.kind == TermKind::kList && !level.has_tail) {
      EndList(level);
    } else {
      if (level.kind == TermKind::kMap) SortMap(level);
      open_.pop_back();
    }
  }

  void EndList(Level& level) {
    std::size_t more = 0;
    if (!in_.EnterList(more)) {
      level.has_tail = true;
      out_ += kTail;
      Term();
    } else if (more != 0) {
      level.left = more;
    } else {
      out_ += kEndOfList;
      open_.pop_back();
    }
  }

  void SortMap(Level& level) {
    level.parts.push_back(out_.size());
    const std::string_view written = out_;
    std::vector<std::pair<std::string_view, std::string_view>> entries;  // key, key and value
    for (std::size_t i = 0; i + 2 < level.parts.size(); i += 2) {
      const std::size_t key = level.parts[i];
      entries.emplace_back(written.substr(key, level.parts[i + 1] - key),
                           written.substr(key, level.parts[i + 2] - key));
    }
    // In a map that is in another one a large entry is a digest, so that no map copies what is in those in it.
    const bool is_inner = --open_maps_ != 0;
    const auto is_large = [is_inner](const auto& its) {
      return is_inner && its.second.size() > kLarge;
    };
    const bool is_sorted = std::is_sorted(entries.begin(), entries.end());
    if (is_sorted && std::none_of(entries.begin(), entries.end(), is_large))
      return;  // as many come
    std::sort(entries.begin(), entries.end());
    std::string sorted;
    for (const auto& its : entries) {
      if (is_large(its)) {
        AppendDigest(sorted, its.second);
      } else {
        sorted += its.second;
      }
    }
    out_.replace(level.begin, std::string::npos, sorted);
  }
  static void AppendDigest(std::string& out, std::string_view entry) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    (void)SHA256(reinterpret_cast<const unsigned char*>(entry.data()), entry.size(), digest.data());
    out += kDigest;
    out.append(digest.begin(), digest.end());
  }

  void Open(TermKind kind, std::size_t terms) {
    const TermTag tag = kind == TermKind::kMap     ? TermTag::kMap
                        : kind == TermKind::kTuple ? TermTag::kLargeTuple
                                                   : TermTag::kList;
    out_ += static_cast<char>(tag);
    if (kind != TermKind::kList) AppendBigEndian(out_, static_cast<std::uint64_t>(terms));
    open_.push_back({kind, terms, false, out_.size(), {}});
    if (kind == TermKind::kMap) ++open_maps_;
  }

  void Term();
  void Integer();
  void Named(TermKind kind);

  TermReader in_;
  std::string out_;
  std::vector<Level> open_;
  std::size_t open_maps_ = 0;
};

void Rewriter::Integer() {
  std::int64_t value = 0;
  if (in_.ReadInteger(value)) {
    TermWriter(out_).Integer(value);
    return;
  }
  const std::string_view term = in_.ReadTerm();
  const std::size_t sign = TagAt(term) == TermTag::kSmallBig ? 2 : 5;
  std::string_view digits = term.substr(sign + 1);
  digits = digits.substr(0, digits.find_last_not_of('\0') + 1);
  out_ += static_cast<char>(TermTag::kLargeBig);
  AppendBigEndian(out_, static_cast<std::uint32_t>(digits.size()));
  out_ += static_cast<char>(term[sign] == 0 ? 0 : 1);
  out_ += digits;
}

// With the name of a node, or of a module and a function, in it.
void Rewriter::Named(TermKind kind) {
  const std::string_view term = in_.ReadTerm();
  const TermTag tag = TagAt(term);
  if (tag == TermTag::kNewFunction) {  // their variables are written as one node does it
    out_ += term;
    return;
  }
  const std::size_t begin = kind == TermKind::kReference ? 3 : 1;
  TermReader after(term.substr(begin));
  std::string name;
  after.ReadAtomText(name);
  // Ports have been written in two ways.
  out_ += static_cast<char>(tag == TermTag::kNewPort ? TermTag::kV4Port : tag);
  out_ += term.substr(1, begin - 1);
  TermWriter(out_).Atom(name);
  if (tag == TermTag::kExport && after.ReadAtomText(name)) TermWriter(out_).Atom(name);
  if (tag == TermTag::kNewPort) out_.append(4, '\0');
  out_ += term.substr(begin + after.position());
}

void Rewriter::Term() {
  std::string text;
  double number = 0;
  std::size_t size = 0;
  const TermKind kind = in_.kind();
  switch (kind) {
    case TermKind::kAtom:
      in_.ReadAtomText(text);
      TermWriter(out_).Atom(text);
      break;
    case TermKind::kInteger:
      Integer();
      break;
    case TermKind::kFloat:
      in_.ReadFloat(number);
      TermWriter(out_).Float(number);
      break;
    case TermKind::kTuple:
      in_.EnterTuple(size);
      Open(kind, size);
      break;
    case TermKind::kMap:
      in_.EnterMap(size);
      Open(kind, 2 * size);
      break;
    case TermKind::kList:
      in_.EnterList(size);
      Open(kind, size);
      if (size == 0) {
        out_ += kEndOfList;
        open_.pop_back();
      }
      break;
    case TermKind::kPid:
    case TermKind::kPort:
    case TermKind::kReference:
    case TermKind::kFunction:
      Named(kind);
      break;
    case TermKind::kBitstring: {
      const std::string_view bits = in_.ReadTerm();
      out_ += bits;
      // The last byte, of which only so many bits belong to the term.
      const auto used = static_cast<unsigned char>(bits[kBitsAt]);
      if (used < 8 && bits.size() > kBitsAt + 1) out_.back() &= static_cast<char>(0xff00 >> used);
      break;
    }
    case TermKind::kNothing:
    case TermKind::kBinary:
      out_ += in_.ReadTerm();
      break;
  }
}

}  // namespace

std::string CanonicalTerm(std::string_view term) { return Rewriter(term).Run(); }

}  // namespace ergon::dist
