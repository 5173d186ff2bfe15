// A list in the order of its making, in which entries are found by a key however many there are.
#pragma once

#include <cstddef>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

namespace ergon::core {

// `KeyOf()(entry)` is the key of an entry. Keys are ordered and not hashed, because a peer that chooses keys could
// choose them for their hashes. Short lists, as most are, are searched from the front. Longer ones have an index, and
// no entry is moved when another one goes: whoever can make the list long pays for each entry once.
template <class T, class KeyOf>
class KeyedList {
 public:
  using Key = std::decay_t<std::invoke_result_t<KeyOf, const T&>>;
  // The longest list that is searched from the front.
  static constexpr std::size_t kShort = 16;

  // Visits the entries that are there, in the order in which they were added.
  template <bool kIsConst>
  class Iterator {
   public:
    using List = std::conditional_t<kIsConst, const KeyedList, KeyedList>;
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using reference = std::conditional_t<kIsConst, const T&, T&>;
    using pointer = std::conditional_t<kIsConst, const T*, T*>;

    Iterator() = default;
    Iterator(List& list, std::size_t at) : list_(&list), at_(at) { SkipGone(); }
    reference operator*() const { return list_->entries_[at_]; }
    pointer operator->() const { return &list_->entries_[at_]; }
    Iterator& operator++() {
      ++at_;
      SkipGone();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& left, const Iterator& right) {
      return left.at_ == right.at_;
    }

   private:
    void SkipGone() {
      while (at_ < list_->entries_.size() && list_->IsGone(at_)) ++at_;
    }
    List* list_ = nullptr;
    std::size_t at_ = 0;
  };

  [[nodiscard]] Iterator<false> begin() { return {*this, 0}; }
  [[nodiscard]] Iterator<false> end() { return {*this, entries_.size()}; }
  [[nodiscard]] Iterator<true> begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator<true> end() const { return {*this, entries_.size()}; }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size() - gone_; }

  // Changes nothing if it throws.
  void push_back(T entry) {
    if (index_ == nullptr) {
      entries_.push_back(std::move(entry));
      if (entries_.size() > kShort) MakeIndex();
      return;
    }
    index_->is_gone.resize(entries_.size() + 1);
    const auto placed =
        index_->places.emplace_hint(index_->places.end(), KeyOf()(entry), entries_.size());
    try {
      entries_.push_back(std::move(entry));
    } catch (...) {
      index_->places.erase(placed);
      throw;
    }
  }
  // Returns the first entry with that key, or null. Valid until the list is changed.
  [[nodiscard]] T* Find(const Key& key) {
    const std::size_t place = PlaceOf(key);
    return place == kNone ? nullptr : &entries_[place];
  }
  [[nodiscard]] bool Contains(const Key& key) const { return PlaceOf(key) != kNone; }
  // Removes the first entry with that key. Returns false if there is none.
  bool Remove(const Key& key) {
    const std::size_t place = PlaceOf(key);
    if (place == kNone) return false;
    ErasePlaced(place, key);
    return true;
  }
  // Removes the first entry with that key, and returns it.
  std::optional<T> Take(const Key& key) {
    const std::size_t place = PlaceOf(key);
    if (place == kNone) return std::nullopt;
    std::optional<T> taken(std::move(entries_[place]));
    ErasePlaced(place, key);
    return taken;
  }
  // Removes all entries for which `is` returns true, and returns them. Looks at each. Changes nothing if it throws.
  template <class Is>
  std::vector<T> TakeIf(Is&& is) {
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < entries_.size(); ++place) {
      if (!IsGone(place) && is(std::as_const(entries_[place]))) places.push_back(place);
    }
    std::vector<T> taken;
    taken.reserve(places.size());
    for (const std::size_t place : places) taken.push_back(std::move(entries_[place]));
    // From behind: the places before one stay what they are.
    for (std::size_t i = places.size(); i-- > 0;) Unlist(places[i], KeyOf()(taken[i]));
    CompactIfDue();
    return taken;
  }
  // Removes the last entry for which `is` returns true. Returns false if there is none. Looks at those behind it.
  template <class Is>
  bool TakeLastIf(Is&& is, T& taken) {
    for (std::size_t place = entries_.size(); place-- > 0;) {
      if (IsGone(place) || !is(std::as_const(entries_[place]))) continue;
      taken = std::move(entries_[place]);
      ErasePlaced(place, KeyOf()(taken));
      return true;
    }
    return false;
  }
  void swap(KeyedList& other) noexcept {
    entries_.swap(other.entries_);
    index_.swap(other.index_);
    std::swap(gone_, other.gone_);
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  struct Index {
    std::set<std::pair<Key, std::size_t>> places;
    std::vector<bool> is_gone;  // by place
  };

  [[nodiscard]] bool IsGone(std::size_t place) const {
    return index_ != nullptr && index_->is_gone[place];
  }
  [[nodiscard]] std::size_t PlaceOf(const Key& key) const {
    if (index_ == nullptr) {
      for (std::size_t place = 0; place < entries_.size(); ++place) {
        if (KeyOf()(entries_[place]) == key) return place;
      }
      return kNone;
    }
    const auto first = index_->places.lower_bound({key, 0});
    return first != index_->places.end() && first->first == key ? first->second : kNone;
  }
  // Erases an entry by its place and key: the entry itself may have been moved away.
  void ErasePlaced(std::size_t place, const Key& key) {
    Unlist(place, key);
    CompactIfDue();
  }
  void Unlist(std::size_t place, const Key& key) {
    if (index_ == nullptr) {
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(place));
      return;
    }
    index_->places.erase({key, place});
    index_->is_gone[place] = true;
    ++gone_;
  }
  // Moves the entries together when half of them are gone, so that each of those pays for moving one that stays.
  // Without memory for that they stay where they are until the next one goes.
  void CompactIfDue() {
    if (gone_ <= entries_.size() / 2) return;
    std::vector<T> rest;
    try {
      rest.reserve(size());
    } catch (...) {
      return;
    }
    for (T& entry : *this) rest.push_back(std::move(entry));
    Assign(std::move(rest));
  }
  void Assign(std::vector<T> entries) {
    entries_ = std::move(entries);
    index_ = nullptr;
    gone_ = 0;
    if (entries_.size() > kShort) MakeIndex();
  }
  // Without memory for an index the list is searched from the front until one more entry comes.
  void MakeIndex() {
    try {
      auto index = std::make_unique<Index>();
      index->is_gone.resize(entries_.size());
      for (std::size_t place = 0; place < entries_.size(); ++place) {
        index->places.emplace(KeyOf()(entries_[place]), place);
      }
      index_ = std::move(index);
    } catch (...) {
    }
  }

  std::vector<T> entries_;
  std::unique_ptr<Index> index_;  // null: it is short
  std::size_t gone_ = 0;          // of the entries; those stay in their places for a while
};

}  // namespace ergon::core
