#include <ergon/gen/args.h>

#include <fmt/core.h>

#include <ergon/core/foundations/demangle.h>

namespace ergon::gen {

Args::Args(std::vector<std::any> values)
    : values_(std::make_shared<const std::vector<std::any>>(std::move(values))) {}

Args Args::With(const Args& more) const {
  if (more.size() == 0) return *this;
  if (size() == 0) return more;
  std::vector<std::any> all = *values_;
  all.insert(all.end(), more.values_->begin(), more.values_->end());
  return Args(std::move(all));
}

Error Args::NoSuchValue(std::size_t index, const std::type_info& wanted) const {
  return Error(ErrorCode::kIncorrect,
               index >= size() ? fmt::format("argument {}: only {} given", index, size())
                               : fmt::format("argument {}: is {}, not {}", index,
                                             core::Demangle((*values_)[index].type().name()),
                                             core::Demangle(wanted.name())));
}

}  // namespace ergon::gen
