// The arguments that a spawn hands to Init.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <ergon/gen/any_value.h>
#include <ergon/gen/result.h>

namespace ergon::gen {

// An immutable list of values of any copyable type; copying it copies a pointer. May be used from any thread.
class Args {
 public:
  Args() = default;
  explicit Args(std::vector<AnyValue> values);

  [[nodiscard]] std::size_t size() const noexcept { return values_ ? values_->size() : 0; }

  // Returns these values, followed by those of `more`.
  [[nodiscard]] Args With(const Args& more) const;

  // Returns the value at `index`, or kIncorrect if there is none or it has another type; the text says which. A
  // std::int64_t can be read as any integer type that holds its value.
  // `args.Get<int>(0).value_or(5)` reads an optional argument.
  template <class T>
  [[nodiscard]] Result<T> Get(std::size_t index) const {
    if (index < size()) {
      if (auto found = (*values_)[index].template Get<T>()) return *std::move(found);
    }
    return NoSuchValue(index, *core::TypeOf<T>());
  }

 private:
  [[nodiscard]] Error NoSuchValue(std::size_t index, const core::TypeDescriptor& wanted) const;

  std::shared_ptr<const std::vector<AnyValue>> values_;
};

// Makes arguments, as in `node.Spawn(factory, {}, gen::MakeArgs(3, "jobs"))`. Text literals are kept as std::string.
template <class... T>
[[nodiscard]] Args MakeArgs(T&&... values) {
  return Args(std::vector<AnyValue>{AnyValue(std::forward<T>(values))...});
}

}  // namespace ergon::gen
