// The arguments that a spawn hands to Init.
#pragma once

#include <any>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <ergon/core/foundations/demangle.h>
#include <ergon/core/messages/type_descriptor.h>
#include <ergon/gen/message.h>
#include <ergon/gen/result.h>

namespace ergon::gen {

// An immutable list of values of any copyable type; copying it copies a pointer. Any thread.
class Args {
 public:
  Args() = default;
  explicit Args(std::vector<std::any> values)
      : values_(std::make_shared<const std::vector<std::any>>(std::move(values))) {}

  [[nodiscard]] std::size_t size() const noexcept { return values_ ? values_->size() : 0; }

  // These values, followed by those of `more`.
  [[nodiscard]] Args With(const Args& more) const {
    if (more.size() == 0) return *this;
    if (size() == 0) return more;
    std::vector<std::any> all = *values_;
    all.insert(all.end(), more.values_->begin(), more.values_->end());
    return Args(std::move(all));
  }

  // The value at `index`, or kIncorrect when there is none or it has another type; the text names
  // both. `args.Get<int>(0).value_or(5)` reads an optional argument.
  template <class T>
  [[nodiscard]] Result<T> Get(std::size_t index) const {
    if (index >= size()) {
      return Error(ErrorCode::kIncorrect, fmt::format("argument {}: only {} given", index, size()));
    }
    const std::any& value = (*values_)[index];
    if (const T* found = std::any_cast<T>(&value)) return *found;
    return Error(ErrorCode::kIncorrect, fmt::format("argument {}: is {}, not {}", index,
                                                    core::Demangle(value.type().name()),
                                                    core::Demangle(typeid(T).name())));
  }

 private:
  std::shared_ptr<const std::vector<std::any>> values_;
};

// As in `node.Spawn(factory, {}, gen::MakeArgs(3, "jobs"))`. A text literal is kept as std::string.
template <class... T>
[[nodiscard]] Args MakeArgs(T&&... values) {
  return Args(std::vector<std::any>{
      std::any(std::in_place_type<StoredType<T>>, std::forward<T>(values))...});
}

}  // namespace ergon::gen
