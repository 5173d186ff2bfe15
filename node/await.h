// Waiting for Asio inside a handler: straight-line code for operations outside of the node, without a blocked
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
// suspended; its messages wait meanwhile, as in a Call. Inspections do not wait: HandleInspect is called meanwhile,
// sees the process as the handler has left it, and must not wait itself (std::logic_error). The result is that of the
// operation:
//
//   void(error_code)          IoResult<void>
//   void(error_code, T)       IoResult<T>
//   void(error_code, T, U)    IoResult<std::tuple<T, U>>
//
// with the operation's own error, or
//
//   asio::error::timed_out          it did not complete within the time-out and has been cancelled
//   asio::error::invalid_argument   the time-out is negative (a line in the log names it); nothing was begun
//   asio::error::operation_aborted  the process is being ended: return from the handler
//                                   (AwaitOrStop: or the process has been asked to stop)
//   asio::error::no_memory          no stack is left for one more suspended process
//
// The result of a cancelled operation is what it has done nevertheless: no data that was read is
// lost, into a dynamic buffer or by an operation of one step. Of asio::async_read and async_write with a fixed buffer
// only the error comes back, and not how many bytes there were: call async_read_some in a loop instead. An operation
// always completes before Await returns, so buffers and sockets may stand on the handler's stack. An operation that
// Asio cannot cancel (resolving a name) delays the return.
//
// This header includes Asio; no other header of Ergon does. Use boost_await.h for Boost.Asio, which is the same library
// under other names, and for Boost.Beast; a program may use both headers.
#pragma once

#if defined(BOOST_ASIO_VERSION) && BOOST_ASIO_VERSION <= 101800
#error "Asio and this Boost.Asio define the same names: include one of them in a source file"
#endif

#include <asio/version.hpp>
#if ASIO_VERSION < 101900
#error "Ergon needs Asio 1.19 or later, which cancels single operations"
#endif

#include <chrono>
#include <system_error>
#include <type_traits>
#include <utility>

#include <asio/async_result.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <tl/expected.hpp>

#include <ergon/gen/node.h>
#include <ergon/gen/process_options.h>
#include <ergon/node/awaiting.h>

namespace ergon::node {

template <class T>
using IoResult = tl::expected<T, std::error_code>;

// Returns the context of the node's I/O, for making sockets and timers. One thread runs it until the node
// has stopped; objects made with it must be gone by then. A function that it calls must not wait: it may Send, and
// stop the node, which only begins there. Nor may it throw: that ends the program. Two processes must not use one
// object at the same time: one that reads and one that writes have a socket each, of which one is a duplicate (dup) of
// the other's descriptor. Any thread. Throws std::logic_error if `node` was not made by node::Start, or if Ergon was
// compiled with another version of Asio than the caller, which `version` is; aborts the program if the node has a clock
// of its own (see gen::NodeOptions::clock).
[[nodiscard]] asio::io_context& IoContext(gen::Node& node, int version = ASIO_VERSION);

// The completion token, see above.
struct AwaitToken {
  std::chrono::nanoseconds timeout;
  bool until_stop = false;
};

// Returns the token. For use inside a handler or a function that it calls: an operation that is begun with it elsewhere
// throws std::logic_error.
[[nodiscard]] inline AwaitToken Await(std::chrono::nanoseconds timeout = gen::kInfinite) {
  return {timeout};
}
// Returns a token for places where the process may be stopped: the operation also ends with operation_aborted when
// the process is asked to stop in order (by StopProcess, its supervisor, its pool, the end of the
// node), now or earlier. Use it to accept connections and to wait for the next request. With
// Await a request that has begun is finished first.
[[nodiscard]] inline AwaitToken AwaitOrStop(std::chrono::nanoseconds timeout = gen::kInfinite) {
  return {timeout, true};
}
// Calls `operation` with the token, for functions that take one and for Asio's deferred operations.
template <class Operation, class = std::enable_if_t<std::is_invocable_v<Operation, AwaitToken>>>
auto Await(Operation&& operation, std::chrono::nanoseconds timeout = gen::kInfinite) {
  return std::forward<Operation>(operation)(AwaitToken{timeout});
}

// -- how it works: see awaiting.h --

// Throws std::logic_error if Ergon was compiled with another version of Asio than the caller.
void RequireSameAsio(int version = ASIO_VERSION);

struct StandaloneAsio {
  using Token = AwaitToken;
  using ErrorCode = std::error_code;
  using Errors = asio::error::basic_errors;
  using Executor = asio::io_context::executor_type;
  struct HandlerTypes {
    using cancellation_slot_type = asio::cancellation_slot;
  };
  using Timer = asio::steady_timer;
  // Cancels this operation alone.
  class Cancellation {
   public:
    explicit Cancellation(const Token&) {}
    [[nodiscard]] asio::cancellation_slot slot() { return signal_.slot(); }
    void Cancel() { signal_.emit(asio::cancellation_type::all); }

   private:
    asio::cancellation_signal signal_;
  };
  template <class Operation>
  static Executor ExecutorOf(const Operation& operation) {
    RequireSameAsio();
    return operation.io_context().get_executor();
  }
  template <class Function>
  static void Post(const Executor& executor, Function function) {
    asio::post(executor, std::move(function));
  }
};

}  // namespace ergon::node

template <class... Completion>
class asio::async_result<ergon::node::AwaitToken, void(Completion...)>
    : public ergon::node::Awaiting<ergon::node::StandaloneAsio, std::decay_t<Completion>...> {};
