#include <ergon/gen/args.h>

#include <fmt/core.h>

namespace ergon::gen {

Args::Args(std::vector<AnyValue> values)
    : values_(std::make_shared<const std::vector<AnyValue>>(std::move(values))) {}

Args Args::With(const Args& more) const {
  if (more.size() == 0) return *this;
  if (size() == 0) return more;
  std::vector<AnyValue> all = *values_;
  all.insert(all.end(), more.values_->begin(), more.values_->end());
  return Args(std::move(all));
}

Error Args::NoSuchValue(std::size_t index, const core::TypeDescriptor& wanted) const {
  return Error(ErrorCode::kIncorrect,
               index >= size()
                   ? fmt::format("argument {} (counted from 0): only {} given", index, size())
                   : fmt::format("argument {} (counted from 0): is {}, not {}", index,
                                 (*values_)[index].TypeName(), wanted.TagOrName()));
}

}  // namespace ergon::gen
