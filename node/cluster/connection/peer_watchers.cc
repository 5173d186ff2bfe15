#include <ergon/node/cluster/connection/peer_watchers.h>

#include <utility>

#include <ergon/node/erlang/terms/tags.h>

namespace ergon::dist {
namespace {

// Of a reference: its tag, and how many words it has, with two bytes. Before the words come an atom and the creation.
constexpr std::size_t kReferenceHeadBytes = 3;
constexpr std::size_t kWordBytes = 4;

// Returns how many words a reference has at its end; 0: it is written in another way.
std::size_t WordsOf(std::string_view raw) {
  if (raw.size() < kReferenceHeadBytes || raw[0] != static_cast<char>(TermTag::kNewerReference) ||
      raw[1] != 0) {
    return 0;
  }
  const std::size_t words = static_cast<std::uint8_t>(raw[2]);
  return raw.size() > kReferenceHeadBytes + words * kWordBytes ? words : 0;
}

// Returns what is between the head and the words.
std::string_view MiddleOf(std::string_view raw, std::size_t words) {
  return raw.substr(kReferenceHeadBytes, raw.size() - kReferenceHeadBytes - words * kWordBytes);
}

}  // namespace

std::string PeerWatchers::KeyOf(std::string_view raw) const {
  const std::size_t words = WordsOf(raw);
  std::string key;
  if (words != 0 && MiddleOf(raw, words) == common_) {
    key.push_back(raw[2]);
    key.append(raw.substr(kReferenceHeadBytes + common_.size()));
  } else {
    key.push_back('\0');
    key.append(raw);
  }
  return key;
}

bool PeerWatchers::Add(const PeerWatcher& watcher, std::string_view raw) {
  if (const std::size_t words = WordsOf(raw); words != 0 && common_.empty()) {
    common_ = MiddleOf(raw, words);
  }
  return entries_.insert(Entry{watcher, KeyOf(raw)}).second;
}

const PeerWatcher* PeerWatchers::Find(std::uint64_t number) const {
  const auto& by_number = entries_.get<0>();
  const auto found = by_number.find(number);
  return found == by_number.end() ? nullptr : &found->watcher;
}

const PeerWatcher* PeerWatchers::FindByReference(std::string_view raw) const {
  const auto& by_key = entries_.get<1>();
  const auto found = by_key.find(KeyOf(raw));
  return found == by_key.end() ? nullptr : &found->watcher;
}

std::string PeerWatchers::RawOf(std::string_view key) const {
  if (key[0] == '\0') return std::string(key.substr(1));
  std::string raw;
  raw.push_back(static_cast<char>(TermTag::kNewerReference));
  raw.push_back('\0');
  raw.push_back(key[0]);
  raw.append(common_);
  raw.append(key.substr(1));
  return raw;
}

std::string PeerWatchers::ReferenceOf(std::uint64_t number) const {
  const auto& by_number = entries_.get<0>();
  const auto found = by_number.find(number);
  return found == by_number.end() ? std::string() : RawOf(found->key);
}

bool PeerWatchers::NoteWatched(std::uint64_t number, gen::PID watched) {
  auto& by_number = entries_.get<0>();
  const auto found = by_number.find(number);
  if (found == by_number.end()) return false;
  return by_number.modify(found, [&](Entry& entry) { entry.watcher.watched = watched; });
}

bool PeerWatchers::Erase(std::uint64_t number) { return entries_.get<0>().erase(number) != 0; }

std::optional<PeerWatchers::Taken> PeerWatchers::Take(std::uint64_t number) {
  auto& by_number = entries_.get<0>();
  const auto found = by_number.find(number);
  if (found == by_number.end()) return std::nullopt;
  Taken taken{found->watcher, RawOf(found->key)};
  by_number.erase(found);
  return taken;
}

std::optional<PeerWatcher> PeerWatchers::TakeByReference(std::string_view raw) {
  auto& by_key = entries_.get<1>();
  const auto found = by_key.find(KeyOf(raw));
  if (found == by_key.end()) return std::nullopt;
  const PeerWatcher watcher = found->watcher;
  by_key.erase(found);
  return watcher;
}

}  // namespace ergon::dist
