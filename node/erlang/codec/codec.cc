#include <ergon/node/erlang/codec/codec.h>

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/erlang/terms/text.h>

namespace ergon::dist::detail {
namespace {

// Of a term that is not what was expected.
constexpr std::size_t kFoundBytes = 80;

}  // namespace

bool ValueProblem::Fail(std::string what) {
  if (!failed_) what_ = std::move(what);
  failed_ = true;
  return false;
}

void ValueProblem::InField(std::string_view name) { path_ = fmt::format(".{}{}", name, path_); }

void ValueProblem::InElement(std::size_t index) { path_ = fmt::format("[{}]{}", index, path_); }

void ValueProblem::InKey(std::string_view text) { path_ = fmt::format("[{}]{}", text, path_); }

gen::Error ValueProblem::ToError(std::string_view root) const {
  std::string where = fmt::format("{}{}", root, path_);
  if (where.starts_with('.')) where.erase(0, 1);
  return {gen::ErrorCode::kIncorrect, where.empty() ? what_ : fmt::format("{}: {}", where, what_)};
}

bool ValueProblem::Enter() {
  ++nesting_;
  if (nesting_ <= kMaxNesting) return !failed_;
  return Fail(fmt::format("values in each other, more than {} levels deep", kMaxNesting));
}

bool ValueReader::Expected(std::string_view what, TermReader found) {
  return problem.Fail(fmt::format("expected {}, found {}", what, NextTermText(found, kFoundBytes)));
}

bool IsAbsent(const TermReader& next) {
  return next.NextIsAtom("undefined") || next.NextIsAtom("nil");
}

bool ValueReader::InKey(TermReader entry) {
  problem.InKey(NextTermText(entry, kFoundBytes));
  return false;
}

bool TypeReview::Enter(const std::type_info& type) {
  const bool seen = std::any_of(seen_.begin(), seen_.end(),
                                [&](const std::type_info* other) { return *other == type; });
  if (!seen) seen_.push_back(&type);
  return !seen;
}

}  // namespace ergon::dist::detail
