#include <ergon/node/erlang/codec/map_entries.h>

#include <algorithm>
#include <utility>

namespace ergon::dist::detail {
namespace {

constexpr std::size_t kFew = 32;

}  // namespace

void MapEntries::GoToNext() {
  if (std::exchange(is_elsewhere_, false)) in_ = next_;
}

bool MapEntries::FindPassed(std::string_view key) {
  const auto few =
      std::ranges::find_if(few_, [key](const Entry& entry) { return entry.key.NextIsAtom(key); });
  const auto many = many_.find(key);
  if (few == few_.end() && many == many_.end()) return false;
  next_ = in_;
  is_elsewhere_ = true;
  in_ = few != few_.end() ? few->value : many->second;
  return true;
}

void MapEntries::Pass(const TermReader& key) {
  if (size_ <= kFew) {
    few_.push_back({key, in_});
    return;
  }
  std::string text;
  if (TermReader(key).ReadAtomText(text)) many_.try_emplace(std::move(text), in_);
}

bool MapEntries::Find(std::string_view key) {
  GoToNext();
  if (FindPassed(key)) return true;
  while (walked_ != size_) {
    ++walked_;
    const TermReader entry = in_;
    in_.Skip();
    if (entry.NextIsAtom(key)) return true;
    Pass(entry);
    in_.Skip();
  }
  return false;
}

void MapEntries::Leave() {
  GoToNext();
  for (; walked_ != size_; ++walked_) {
    in_.Skip();
    in_.Skip();
  }
}

}  // namespace ergon::dist::detail
