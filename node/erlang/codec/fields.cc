#include <ergon/node/erlang/codec/fields.h>

#include <algorithm>
#include <stdexcept>

#include <fmt/core.h>

#include <ergon/core/foundations/demangle.h>
#include <ergon/node/erlang/terms/tags.h>
#include <ergon/node/erlang/terms/utf8.h>

namespace ergon::dist {
namespace {

bool Contains(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

// ---- writing

WriteArchive::WriteArchive(detail::ValueWriter& writer, std::string_view tag)
    : writer_(writer), nesting_(writer.problem), tag_(tag) {
  if (!nesting_) return;
  opened_ = tag_.empty() ? writer_.out.OpenMap() : writer_.out.OpenTuple();
  if (!tag_.empty()) writer_.out.Atom(tag_);
}

bool WriteArchive::Begin(const char* name) {
  if (writer_.problem.failed()) return false;
  ++count_;
  if (!tag_.empty()) return true;
  if (name == nullptr) {
    return writer_.problem.Fail(
        fmt::format("field {} has no name, as those of a map must", count_));
  }
  writer_.out.Atom(name);
  return true;
}

void WriteArchive::End(const char* name) {
  if (!writer_.problem.failed()) return;
  writer_.problem.InField(name == nullptr ? std::to_string(count_) : name);
}

void WriteArchive::Close() {
  if (writer_.problem.failed()) return;
  if (tag_.empty()) {
    writer_.out.CloseMap(opened_, count_);
  } else if (count_ != 0) {
    writer_.out.CloseTuple(opened_, count_ + 1);
  } else {
    writer_.out.Truncate(opened_);
    writer_.out.Atom(tag_);
  }
}

// ---- reading

ReadArchive::ReadArchive(detail::ValueReader& reader, std::string_view tag)
    : reader_(reader), nesting_(reader.problem), tag_(tag), begin_(reader.in) {
  if (!nesting_) return;
  std::size_t entries = 0;
  if (!tag_.empty()) {
    EnterTagged();
  } else if (!reader_.in.EnterMap(entries)) {
    reader_.Expected("a map");
  } else if (entries > detail::MapEntries::kMost) {
    reader_.Expected(fmt::format("a map with {} entries at most", detail::MapEntries::kMost),
                     begin_);
  } else {
    entries_.emplace(reader_.in, entries);
  }
}

void ReadArchive::EnterTagged() {
  if (reader_.in.NextIsAtom(tag_)) {  // without fields, the tag is all
    reader_.in.Skip();
    return;
  }
  if (!reader_.in.EnterTuple(size_) || size_ == 0 || !reader_.in.NextIsAtom(tag_)) {
    reader_.Expected(fmt::format("a tuple that begins with {}", tag_), begin_);
    return;
  }
  reader_.in.Skip();
  --size_;
}

ReadArchive::Found ReadArchive::Begin(const char* name, bool may_be_missing) {
  if (reader_.problem.failed()) return Found::kProblem;
  ++count_;
  if (!tag_.empty()) {
    if (index_ == size_) {
      reader_.Expected(fmt::format("a tuple with {} fields behind {}, or more", count_, tag_),
                       begin_);
      return Found::kProblem;
    }
    ++index_;
    return Found::kValue;
  }
  if (name == nullptr) {
    reader_.problem.Fail(fmt::format("field {} has no name, as those of a map must", count_));
    return Found::kProblem;
  }
  if (entries_->Find(name)) return Found::kValue;
  if (may_be_missing) return Found::kAbsent;
  reader_.problem.Fail("missing");
  Locate(name);
  return Found::kProblem;
}

void ReadArchive::Locate(const char* name) {
  reader_.problem.InField(name == nullptr ? std::to_string(count_) : name);
}

bool ReadArchive::Close() {
  if (reader_.problem.failed()) return false;
  if (tag_.empty()) {
    entries_->Leave();
    return true;
  }
  return index_ == size_ ||
         reader_.Expected(fmt::format("a tuple with {} fields behind {}", count_, tag_), begin_);
}

// ---- looking

void ShapeArchive::Note(const char* name, bool may_be_missing) {
  ++shape_.fields;
  const bool is_map = shape_.tag.empty();
  if (name == nullptr) {
    if (!is_map) return;
    throw std::logic_error(fmt::format(
        "{}: field {} has no name: a type without kTag is a map, and its fields are given to the "
        "archive as dist::Field(\"name\", name)",
        core::Demangle(type_.name()), shape_.fields));
  }
  const std::string key = name;
  const auto characters = CountCharacters(key);
  if (!characters || *characters > kMaxAtomCharacters) {
    throw std::logic_error(fmt::format("{}: the name of field {} cannot be an atom: '{}'",
                                       core::Demangle(type_.name()), shape_.fields, key));
  }
  if (Contains(shape_.keys, key) || Contains(shape_.optional_keys, key)) {
    throw std::logic_error(
        fmt::format("{}: two fields have the name '{}'", core::Demangle(type_.name()), key));
  }
  (may_be_missing ? shape_.optional_keys : shape_.keys).push_back(key);
}

}  // namespace ergon::dist
