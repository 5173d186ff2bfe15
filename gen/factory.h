// How a process gets its behaviour: a recipe that can be used many times.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <ergon/gen/process_behavior.h>

namespace ergon::gen {

class Process;

namespace detail {
// How a factory keeps an argument: text that may change or be freed as std::string, since each spawn reads it again;
// everything else, also a literal, as it is.
template <class T>
struct KeptArgument {
  using Decayed = std::decay_t<T>;
  static_assert(!std::is_same_v<Decayed, std::string_view>,
                "Factory: a std::string_view does not own its text: give a std::string");
  static constexpr bool kIsLiteral =
      std::is_array_v<std::remove_reference_t<T>> && std::is_same_v<Decayed, const char*>;
  static constexpr bool kIsText =
      std::is_same_v<Decayed, const char*> || std::is_same_v<Decayed, char*>;
  using Type = std::conditional_t<kIsText && !kIsLiteral, std::string, Decayed>;
};

// In process_function.cc.
[[nodiscard]] std::unique_ptr<ProcessBehavior> MakeProcessFunction(
    std::function<Reason(Process&)> function, const std::type_info& type);
}  // namespace detail

// Copyable. Made by Factory<T>(...), or from any function that returns a behaviour.
class ProcessFactory {
 public:
  ProcessFactory() = default;  // empty: a spawn with it fails
  ProcessFactory(std::function<std::unique_ptr<ProcessBehavior>()> make, const std::type_info* type)
      : make_(std::move(make)), type_(type) {}

  // Makes processes of a function, each with a copy of the function: see Process::Receive.
  //
  //   node.Spawn([](gen::Process& self) {
  //     while (auto job = self.Receive<Job>()) Work(*job);
  //   });
  //
  // The process ends when the function returns: with reason normal, with the Reason that the function returns, or after
  // an exception with the reason "panic: <what>". The function gets no arguments of the spawn: capture them. Not for
  // workers of a pool: the pool could not know when such a worker has handled a message.
  template <class Function>
  requires(!std::is_same_v<std::decay_t<Function>, ProcessFactory> &&
           std::is_invocable_v<std::decay_t<Function>&, Process&>)
      ProcessFactory(Function&& function)  // NOLINT(bugprone-forwarding-reference-overload)
      : ProcessFactory(OfFunction(std::forward<Function>(function))) {}

  explicit operator bool() const noexcept { return static_cast<bool>(make_); }
  // Returns a new behaviour. Throws what its constructor throws.
  [[nodiscard]] std::unique_ptr<ProcessBehavior> Make() const;
  // Returns the behaviour's type, or null when it is not known.
  [[nodiscard]] const std::type_info* type() const noexcept { return type_; }
  // Returns whether this makes processes of a function.
  [[nodiscard]] bool IsFunction() const noexcept { return is_function_; }
  // Returns the behaviour's type name as written in C++, or "" when it is not known.
  [[nodiscard]] std::string TypeName() const;

 private:
  template <class Function>
  static ProcessFactory OfFunction(Function&& function) {
    using Kept = std::decay_t<Function>;
    using Returned = std::invoke_result_t<Kept&, Process&>;
    static_assert(std::is_copy_constructible_v<Kept>,
                  "a process's function has to be copyable: each spawn gets a copy");
    static_assert(std::is_void_v<Returned> || std::is_convertible_v<Returned, Reason>,
                  "a process's function returns nothing, or the gen::Reason of its end");
    ProcessFactory factory(
        [kept = Kept(std::forward<Function>(function))]() -> std::unique_ptr<ProcessBehavior> {
          return detail::MakeProcessFunction(
              [function = kept](Process& self) mutable -> Reason {
                if constexpr (std::is_void_v<Returned>) {
                  function(self);
                  return Reason();
                } else {
                  return function(self);
                }
              },
              typeid(Kept));
        },
        &typeid(Kept));
    factory.is_function_ = true;
    return factory;
  }

  std::function<std::unique_ptr<ProcessBehavior>()> make_;
  const std::type_info* type_ = nullptr;
  bool is_function_ = false;
};

// Makes processes of behaviour T. The factory keeps the constructor arguments and copies them for each spawn: a worker
// that replaces another starts with the same arguments. Text that a char* points to is kept as std::string.
template <class T, class... Arguments>
[[nodiscard]] ProcessFactory Factory(Arguments&&... arguments) {
  static_assert(std::is_base_of_v<ProcessBehavior, T>, "T has to be a behaviour, as act::Actor");
  static_assert(!std::is_abstract_v<T>,
                "Factory: a pure virtual function of T is not overridden with the same signature");
  static_assert(
      (std::is_copy_constructible_v<std::decay_t<Arguments>> && ...),
      "Factory: an argument cannot be copied; each spawn, also of a replaced worker, gets a copy");
  static_assert(
      std::is_abstract_v<T> || !(std::is_copy_constructible_v<std::decay_t<Arguments>> && ...) ||
          std::is_constructible_v<
              T, const std::unwrap_reference_t<typename detail::KeptArgument<Arguments>::Type>&...>,
      "Factory: T has no public constructor for (const references to) these arguments");
  return ProcessFactory(
      [kept =
           std::tuple<std::unwrap_reference_t<typename detail::KeptArgument<Arguments>::Type>...>(
               std::forward<Arguments>(arguments)...)]() -> std::unique_ptr<ProcessBehavior> {
        return std::apply(
            [](auto&... copies) -> std::unique_ptr<ProcessBehavior> {
              return std::make_unique<T>(copies...);
            },
            kept);
      },
      &typeid(T));
}

}  // namespace ergon::gen
