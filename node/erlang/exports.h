// What other nodes may run here: functions and behaviours that the program has registered. Everything else is refused
// at once, except the requests of Erlang's tools to a node that is observable (ErlangOptions::observable).
//
//   dist::ErlangOptions options;
//   options.functions.Register("words", "count", [](std::string text) { return CountWords(text); });
//   options.behaviors.Register("words", "start", gen::Factory<Counter>());
//
//   1> rpc:call('cpp@127.0.0.1', words, count, [<<"to be or not to be">>]).
//   6
//   2> {Pid, Ref} = spawn_monitor('cpp@127.0.0.1', words, start, [<<"to">>]).
//
// At most ErlangOptions::max_remote_processes functions and behaviours run at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <ergon/gen/error.h>
#include <ergon/gen/factory.h>
#include <ergon/gen/process_options.h>
#include <ergon/gen/result.h>
#include <ergon/node/erlang/term.h>

namespace ergon::dist {

namespace detail {

struct RemoteFunction {
  std::string module;
  std::string function;
  std::optional<std::size_t> arity;  // none: any
  std::function<gen::Result<Term>(gen::Process&, const std::vector<Term>&)> run;
};
struct RemoteBehavior {
  std::string module;
  std::string function;
  gen::ProcessFactory factory;
  gen::ProcessOptions options;
};

// Returns an error as "argument 2: expected a binary, found 42"; `index` counts from 0.
[[nodiscard]] gen::Error ArgumentError(std::size_t index, const gen::Error& error);
[[nodiscard]] gen::Error ResultError(std::string_view what);

// Returns how the node of this process writes an absent value.
[[nodiscard]] Absent AbsentOf(gen::Process& self);

template <class T>
gen::Result<Term> ToTerm(gen::Process& self, const T& value) {
  try {
    return Term::Of(value, AbsentOf(self));
  } catch (const std::invalid_argument& error) {
    return ResultError(error.what());
  }
}
template <class T>
gen::Result<Term> ToTerm(gen::Process& self, const gen::Result<T>& result) {
  if (!result) return result.error();
  if constexpr (std::is_void_v<T>) {
    return Term::Atom("ok");
  } else {
    return ToTerm(self, *result);
  }
}

// Reads an argument. Returns a default value if it does not fit, or if there is a problem already.
template <class T>
T ReadArgument(const std::vector<Term>& arguments, std::size_t index, gen::Result<void>& problem) {
  if (!problem) return T{};
  auto read = arguments[index].To<T>();
  if (read) return std::move(*read);
  problem = ArgumentError(index, read.error());
  return T{};
}

template <class Function, class... Arguments, std::size_t... kIndex>
gen::Result<Term> RunWith(gen::Process& self, Function& function,
                          const std::vector<Term>& arguments, std::index_sequence<kIndex...>,
                          std::tuple<Arguments...>*) {
  gen::Result<void> problem;
  std::tuple<Arguments...> values{ReadArgument<Arguments>(arguments, kIndex, problem)...};
  if (!problem) return std::move(problem.error());
  if constexpr (std::is_void_v<decltype(std::apply(function, std::move(values)))>) {
    std::apply(function, std::move(values));
    return Term::Atom("ok");
  } else {
    return ToTerm(self, std::apply(function, std::move(values)));
  }
}

template <class Returned, class... Arguments>
RemoteFunction MakeRemoteFunction(std::function<Returned(Arguments...)> function) {
  return {{},
          {},
          sizeof...(Arguments),
          [function = std::move(function)](gen::Process& self, const std::vector<Term>& arguments) {
            std::tuple<std::decay_t<Arguments>...>* const types = nullptr;
            return RunWith(self, function, arguments, std::index_sequence_for<Arguments...>(),
                           types);
          }};
}
template <class Returned, class... Arguments>
RemoteFunction MakeRemoteFunction(std::function<Returned(gen::Process&, Arguments...)> function) {
  return {{},
          {},
          sizeof...(Arguments),
          [function = std::move(function)](gen::Process& self, const std::vector<Term>& arguments) {
            const auto bound = [&](auto&&... values) {
              return function(self, std::forward<decltype(values)>(values)...);
            };
            std::tuple<std::decay_t<Arguments>...>* const types = nullptr;
            return RunWith(self, bound, arguments, std::index_sequence_for<Arguments...>(), types);
          }};
}

}  // namespace detail

// Functions for erpc:call, rpc:call and functions built upon them, and for spawn, where the result is dropped. Each run
// has a process of its own, so that the function may Call and Sleep. The process ends with the caller, with the
// caller's time-out, and with the connection. An exception becomes an error of class `error`, {panic, Text}.
class RemoteFunctions {
 public:
  // Registers a function. Its arguments are read as in messages: any types that erlang/archive.h knows, and dist::Term
  // for any term. An argument that does not fit is an error that names the argument. The function may take the
  // gen::Process& that it runs in before its arguments. It returns a value of such a type, a gen::Result of one, or
  // nothing, which is `ok`. Several threads may run it at a time. A name may be registered once for each number of
  // arguments, else the node does not start.
  template <class Function>
  // NOLINTNEXTLINE(performance-unnecessary-value-param): both are moved
  RemoteFunctions& Register(std::string module, std::string function, Function&& code) {
    return Add(std::move(module), std::move(function),
               detail::MakeRemoteFunction(std::function(std::forward<Function>(code))));
  }
  // Registers a function that takes any number of arguments for which no other function of this name is registered.
  RemoteFunctions& RegisterAny(
      std::string module, std::string function,
      std::function<gen::Result<Term>(gen::Process&, const std::vector<Term>&)> code) {
    return Add(std::move(module), std::move(function), {{}, {}, std::nullopt, std::move(code)});
  }

  [[nodiscard]] const std::vector<detail::RemoteFunction>& All() const noexcept { return all_; }

 private:
  RemoteFunctions& Add(std::string module, std::string function, detail::RemoteFunction code);

  std::vector<detail::RemoteFunction> all_;
};

// Behaviours for spawn, spawn_link, spawn_monitor, spawn_opt and spawn_request of Erlang.
class RemoteBehaviors {
 public:
  // Registers a behaviour. The arguments are the gen::Args of the process, each a dist::Term: args.Get<dist::Term>(0).
  // Erlang gets the PID at once, before the Init is done; if the Init fails, links and monitors learn of it, as in
  // Erlang. The constructor of the behaviour runs in a process, too.
  RemoteBehaviors& Register(std::string module, std::string function, gen::ProcessFactory factory,
                            gen::ProcessOptions options = {});

  [[nodiscard]] const std::vector<detail::RemoteBehavior>& All() const noexcept { return all_; }

 private:
  std::vector<detail::RemoteBehavior> all_;
};

}  // namespace ergon::dist
