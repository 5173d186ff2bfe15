// Waiting for Asio inside a handler: straight-line code for what goes on outside, without a blocked
// thread.
//
//   gen::Status HandleMessage(gen::PID, gen::Message&) override {
//     asio::ip::tcp::socket socket(node::IoContext(Node()));
//     if (auto connected = socket.async_connect(address_, node::Await(2s)); !connected) {
//       return gen::Stop(gen::Reason::Error(connected.error().message()));
//     }
//     auto size = asio::async_read(socket, asio::buffer(header_), node::Await());
//
// `Await()` is a completion token: any asynchronous operation of Asio, and any composed one, takes it
// as its last argument and then returns when it has completed. Only the calling process is
// suspended; its messages wait meanwhile, as in a Call. The result is that of the operation:
//
//   void(error_code)          IoResult<void>
//   void(error_code, T)       IoResult<T>
//   void(error_code, T, U)    IoResult<std::tuple<T, U>>
//
// with the operation's own error, or
//
//   asio::error::timed_out          not within the time-out; it has been cancelled
//   asio::error::invalid_argument   the time-out is negative (a line in the log names it): nothing was begun
//   asio::error::operation_aborted  the process is being ended: return from the handler
//                                   (AwaitOrStop: or has been asked to stop)
//   asio::error::no_memory          no stack is left for one more suspended process
//
// What an operation has done in spite of being cancelled is its result: nothing that was read is
// lost. It always completes before Await returns, so buffers and sockets may stand on the
// handler's stack. An operation that Asio cannot cancel (resolving a name) delays that.
//
// This header includes Asio; no other one of Ergon does.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

#include <asio/async_result.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <tl/expected.hpp>

#include <ergon/gen/node.h>
#include <ergon/gen/process_options.h>
#include <ergon/node/async_operation.h>

namespace ergon::node {

template <class T>
using IoResult = tl::expected<T, std::error_code>;

// Where the node's I/O happens: for making sockets and timers. One thread runs it until the node
// has stopped; what is made with it must be gone by then. Any thread. Throws std::logic_error when
// `node` is of another kind than those of node::Start; aborts the program when it has a clock of its
// own (see gen::NodeOptions::clock).
[[nodiscard]] asio::io_context& IoContext(gen::Node& node);

// The token, see above.
struct AwaitToken {
  std::chrono::nanoseconds timeout;
  bool until_stop = false;
};

// Inside a handler, or any function below it. Throws std::logic_error elsewhere.
[[nodiscard]] inline AwaitToken Await(std::chrono::nanoseconds timeout = gen::kInfinite) {
  return {timeout};
}
// The same for the places where a process may be stopped: it ends with operation_aborted, too, when
// the process is asked to stop in order (by StopProcess, its supervisor, its pool, the end of the
// node), now or earlier. Accept connections with it, and wait with it for the next request; with
// Await a request that has begun is brought to its end first.
[[nodiscard]] inline AwaitToken AwaitOrStop(std::chrono::nanoseconds timeout = gen::kInfinite) {
  return {timeout, true};
}
// The same for a function that gets the token, and for Asio's deferred operations.
template <class Operation, class = std::enable_if_t<std::is_invocable_v<Operation, AwaitToken>>>
auto Await(Operation&& operation, std::chrono::nanoseconds timeout = gen::kInfinite) {
  return std::forward<Operation>(operation)(AwaitToken{timeout});
}

// -- how it works --

// The operation, what it completed with, and the means to cancel it. Its handler runs on the node's
// I/O thread, and so does the cancellation: neither meets the other half done.
template <class... Results>
class AsioOperation final : public AsyncOperation,
                            public std::enable_shared_from_this<AsioOperation<Results...>> {
 public:
  // What Asio calls or, when its context ends first, only destroys.
  class Handler {
   public:
    using executor_type = asio::io_context::executor_type;
    using cancellation_slot_type = asio::cancellation_slot;

    explicit Handler(std::shared_ptr<AsioOperation> operation) : operation_(std::move(operation)) {}
    Handler(Handler&&) noexcept = default;
    Handler& operator=(Handler&&) = delete;
    ~Handler() {
      if (operation_ != nullptr) operation_->End();
    }

    template <class... Args>
    void operator()(Args&&... args) {
      const auto operation = std::move(operation_);
      try {
        operation->results_.emplace(std::forward<Args>(args)...);
      } catch (...) {  // of a result's constructor: for the one who waits
        operation->thrown_ = std::current_exception();
      }
      operation->End();
    }

    [[nodiscard]] executor_type get_executor() const noexcept { return operation_->executor_; }
    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept {
      return operation_->signal_.slot();
    }

   private:
    std::shared_ptr<AsioOperation> operation_;
  };

  // What it completed with; empty: it never has, because its context has ended. Throws what a
  // result's constructor has thrown.
  [[nodiscard]] std::optional<std::tuple<Results...>>& results() {
    if (thrown_ != nullptr) std::rethrow_exception(thrown_);
    return results_;
  }

 private:
  void End() {
    ended_ = true;
    Completed();
  }
  void Cancel() override {
    asio::post(executor_, [self = this->shared_from_this()] {
      if (!self->ended_) self->signal_.emit(asio::cancellation_type::all);
    });
  }

  const asio::io_context::executor_type executor_ = io_context().get_executor();
  asio::cancellation_signal signal_;
  std::optional<std::tuple<Results...>> results_;
  std::exception_ptr thrown_;
  std::atomic<bool> ended_{false};
};

// From what an operation completes with to what Await returns.
template <class... T>
struct AwaitedValue {
  using Type = std::tuple<T...>;
  static IoResult<Type> Make(T&&... values) { return Type(std::forward<T>(values)...); }
};
template <class T>
struct AwaitedValue<T> {
  using Type = T;
  static IoResult<Type> Make(T&& value) { return std::forward<T>(value); }
};
template <>
struct AwaitedValue<> {
  using Type = void;
  static IoResult<void> Make() { return {}; }
};

template <class... Results>
struct AwaitedResult {
  using Value = AwaitedValue<Results...>;
  static IoResult<typename Value::Type> Make(AsyncOperation::End, Results&&... values) {
    return Value::Make(std::forward<Results>(values)...);
  }
};
template <class... Results>
struct AwaitedResult<std::error_code, Results...> {
  using Value = AwaitedValue<Results...>;
  static IoResult<typename Value::Type> Make(AsyncOperation::End end, std::error_code&& error,
                                             Results&&... values) {
    if (!error) return Value::Make(std::forward<Results>(values)...);
    if (error == asio::error::operation_aborted) {
      if (end == AsyncOperation::End::kTimedOut) error = asio::error::timed_out;
      if (end == AsyncOperation::End::kNoStack) error = asio::error::no_memory;
    }
    return tl::make_unexpected(error);
  }
};

}  // namespace ergon::node

template <class... Args>
class asio::async_result<ergon::node::AwaitToken, void(Args...)> {
  using Operation = ergon::node::AsioOperation<std::decay_t<Args>...>;
  using Awaited = ergon::node::AwaitedResult<std::decay_t<Args>...>;

 public:
  using return_type = ergon::node::IoResult<typename Awaited::Value::Type>;

  template <class Initiation, class... InitiationArgs>
  static return_type initiate(Initiation&& initiation, ergon::node::AwaitToken token,
                              InitiationArgs&&... args) {
    if (token.timeout < std::chrono::nanoseconds::zero()) {
      ergon::node::AsyncOperation::LogNegative(token.timeout);
      return tl::make_unexpected(std::error_code(asio::error::invalid_argument));
    }
    const auto operation = std::make_shared<Operation>();
    try {
      std::forward<Initiation>(initiation)(typename Operation::Handler(operation),
                                           std::forward<InitiationArgs>(args)...);
    } catch (...) {
      (void)operation->Wait(ergon::gen::kInfinite, false);  // its handler was destroyed, or will be
      throw;
    }
    const auto end = operation->Wait(token.timeout, token.until_stop);
    if (!operation->results()) {
      return tl::make_unexpected(std::error_code(asio::error::operation_aborted));
    }
    return std::apply([end](auto&... values) { return Awaited::Make(end, std::move(values)...); },
                      *operation->results());
  }
};
