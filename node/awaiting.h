// The common part of await.h and boost_await.h, which users include: how an operation of Asio
// completes, is cancelled, and becomes a result.
//
// `Library` stands for Asio or Boost.Asio, which are the same except for their names:
//
//   Token          what the user passes, with `timeout` and `until_stop`
//   ErrorCode      its class of errors, and
//   Errors         the enumeration of the usual ones
//   Executor       of its io_context
//   HandlerTypes   other types that its handlers have to name
//   Timer          its asio::steady_timer
//   Cancellation   is made from the token; Cancel() makes an operation complete soon. It may miss an operation that is
//                  between two steps, so it is called again until the operation has completed
//   ExecutorOf     returns the executor of the node's io_context
//   Post           runs a function on that executor
//
// This header includes neither library.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

#include <ergon/gen/node.h>
#include <ergon/gen/process_options.h>
#include <ergon/node/io/other_io.h>
#include <ergon/node/process/async_operation.h>

namespace ergon::node {

// Returns the node's I/O of another library. A node has one at most: `make` is called the first time. Any thread.
// Throws what `make` throws, and std::logic_error if `node` was not made by node::Start;
// aborts the program if the node has a clock of its own (see gen::NodeOptions::clock).
[[nodiscard]] OtherIo& OtherIoOf(gen::Node& node, MakeOtherIo make);

// An operation, its results, and the means to cancel it. Its handler and its cancellation both run on the node's
// I/O thread for that library, so the two never run at the same time.
template <class Library, class... Results>
class AwaitedOperation final
    : public AsyncOperation,
      public std::enable_shared_from_this<AwaitedOperation<Library, Results...>> {
 public:
  explicit AwaitedOperation(const typename Library::Token& token)
      : executor_(Library::ExecutorOf(*this)), cancellation_(token) {}

  // The handler that Asio calls or, if its context ends first, only destroys.
  class Handler : public Library::HandlerTypes {
   public:
    using executor_type = typename Library::Executor;

    explicit Handler(std::shared_ptr<AwaitedOperation> operation)
        : operation_(std::move(operation)) {}
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
      } catch (...) {  // thrown by a result's constructor: results() throws it again
        operation->thrown_ = std::current_exception();
      }
      operation->End();
    }

    [[nodiscard]] executor_type get_executor() const noexcept { return operation_->executor_; }
    // Called only if HandlerTypes names a cancellation_slot_type.
    [[nodiscard]] auto get_cancellation_slot() const noexcept {
      return operation_->cancellation_.slot();
    }

   private:
    std::shared_ptr<AwaitedOperation> operation_;
  };

  // Returns what the operation completed with; empty if it never completed because its context has ended. Throws, the
  // first time, what a result's constructor has thrown. The exception is the caller's then: the I/O thread may destroy
  // the operation while the caller looks at it.
  [[nodiscard]] std::optional<std::tuple<Results...>>& results() {
    if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
    return results_;
  }

 private:
  friend Library;

  void End() {
    ended_ = true;
    Completed();
  }
  void Cancel() override {
    Library::Post(executor_, [self = this->shared_from_this()] { self->CancelHere(); });
  }
  // Cancels the operation, and does so again after a pause. Both run on the I/O thread.
  void CancelHere() {
    if (ended_) return;
    cancellation_.Cancel();
    // Behind what that completes at once, which is nearly all: it needs no timer.
    Library::Post(executor_, [self = this->shared_from_this()] { self->CancelAgain(); });
  }
  void CancelAgain() {
    if (ended_) return;
    const auto timer = std::make_shared<typename Library::Timer>(executor_);
    timer->expires_after(pause_);
    pause_ = std::min(2 * pause_, kLongestPause);
    timer->async_wait(
        [timer, self = this->shared_from_this()](const auto&) { self->CancelHere(); });
  }

  static constexpr std::chrono::milliseconds kLongestPause{100};
  std::chrono::milliseconds pause_{1};
  const typename Library::Executor executor_;
  typename Library::Cancellation cancellation_;
  std::optional<std::tuple<Results...>> results_;
  std::exception_ptr thrown_;
  std::atomic<bool> ended_{false};
};

// Turns what an operation completes with into what Await returns.
template <class ErrorCode, class... T>
struct AwaitedValue {
  using Result = tl::expected<std::tuple<T...>, ErrorCode>;
  static Result Make(T&&... values) { return std::tuple<T...>(std::forward<T>(values)...); }
};
template <class ErrorCode, class T>
struct AwaitedValue<ErrorCode, T> {
  using Result = tl::expected<T, ErrorCode>;
  static Result Make(T&& value) { return std::forward<T>(value); }
};
template <class ErrorCode>
struct AwaitedValue<ErrorCode> {
  using Result = tl::expected<void, ErrorCode>;
  static Result Make() { return {}; }
};

// `Completion` are the types that the operation completes with, including its error if it has one.
template <class ErrorCode, class... Completion>
struct AwaitedResult : AwaitedValue<ErrorCode, Completion...> {
  using typename AwaitedValue<ErrorCode, Completion...>::Result;
  template <class Errors>
  static Result From(AsyncOperation::End, Completion&&... values) {
    return AwaitedResult::Make(std::forward<Completion>(values)...);
  }
};
template <class ErrorCode, class... T>
struct AwaitedResult<ErrorCode, ErrorCode, T...> : AwaitedValue<ErrorCode, T...> {
  using typename AwaitedValue<ErrorCode, T...>::Result;
  template <class Errors>
  static Result From(AsyncOperation::End end, ErrorCode&& error, T&&... values) {
    if (!error) return AwaitedResult::Make(std::forward<T>(values)...);
    if (error == Errors::operation_aborted) {
      if (end == AsyncOperation::End::kTimedOut) error = Errors::timed_out;
      if (end == AsyncOperation::End::kNoStack) error = Errors::no_memory;
    }
    return tl::make_unexpected(error);
  }
};

// The implementation of a library's async_result for its token.
template <class Library, class... Completion>
class Awaiting {
  using ErrorCode = typename Library::ErrorCode;
  using Errors = typename Library::Errors;
  using Operation = AwaitedOperation<Library, Completion...>;
  using Awaited = AwaitedResult<ErrorCode, Completion...>;

 public:
  using return_type = typename Awaited::Result;

  template <class Initiation, class... InitiationArgs>
  static return_type initiate(Initiation&& initiation, typename Library::Token token,
                              InitiationArgs&&... args) {
    if (token.timeout < std::chrono::nanoseconds::zero()) {
      AsyncOperation::LogNegative(token.timeout);
      return tl::make_unexpected(ErrorCode(Errors::invalid_argument));
    }
    if (AsyncOperation::MustEnd(token.until_stop)) {
      return tl::make_unexpected(ErrorCode(Errors::operation_aborted));
    }
    const auto operation = std::make_shared<Operation>(token);
    try {
      std::forward<Initiation>(initiation)(typename Operation::Handler(operation),
                                           std::forward<InitiationArgs>(args)...);
    } catch (...) {
      (void)operation->Wait(gen::kInfinite, false);  // until its handler has been destroyed
      throw;
    }
    const auto end = operation->Wait(token.timeout, token.until_stop);
    if (!operation->results()) {
      return tl::make_unexpected(ErrorCode(Errors::operation_aborted));
    }
    return std::apply(
        [end](auto&... values) {
          return Awaited::template From<Errors>(end, std::move(values)...);
        },
        *operation->results());
  }
};

}  // namespace ergon::node
