// Waiting for Boost.Asio inside a handler, as await.h does for Asio, and for libraries built on it such as Boost.Beast:
// straight-line code for HTTP and WebSockets, without a blocked thread.
//
//   gen::Status HandleMessage(gen::PID, gen::Message&) override {
//     beast::tcp_stream stream(node::BoostIoContext(Node()));
//     if (auto connected = stream.async_connect(address_, node::BoostAwait(stream, 2s)); !connected) {
//       return gen::Stop(gen::Reason::Error(connected.error().message()));
//     }
//     auto size = http::async_read(stream, buffer_, response_, node::BoostAwait(stream, 10s));
//
// `BoostAwait(object)` is a completion token: any asynchronous operation of that object, and any composed one,
// takes it as its last argument and then returns when it has completed. Only the calling process is
// suspended; its messages wait meanwhile, as in a Call. The result is that of the operation:
//
//   void(error_code)          BoostIoResult<void>
//   void(error_code, T)       BoostIoResult<T>
//   void(error_code, T, U)    BoostIoResult<std::tuple<T, U>>
//
// with the operation's own error, or
//
//   boost::asio::error::timed_out          it did not complete within the time-out and has been cancelled
//   boost::asio::error::invalid_argument   the time-out is negative (a line in the log names it); nothing was
//                                          begun
//   boost::asio::error::operation_aborted  the process is being ended: return from the handler
//                                          (BoostAwaitOrStop: or the process has been asked to stop)
//   boost::asio::error::no_memory          no stack is left for one more suspended process
//
// The object is cancelled when the time is up or the process is being ended. It is a socket, a
// beast::tcp_stream, an acceptor, a timer, a resolver, or any object with a function cancel(). For a stream in layers
// pass the lowest layer: BoostAwait(beast::get_lowest_layer(tls_stream)). All operations of the object are cancelled
// then, also those that another process waits for. (Boost.Asio cancels single operations, as Asio does for await.h,
// only from 1.77 on; Debian 12 has 1.74.)
//
// The result of a cancelled operation is what it has done nevertheless: no data that was read is lost, into a dynamic
// buffer or by an operation of one step. Of async_read and async_write with a fixed buffer only the error comes back,
// and not how many bytes there were: call async_read_some in a loop instead. An operation always completes before
// BoostAwait returns, so buffers and sockets may stand on the handler's stack. A cancelled operation of many steps ends
// at a step that has to wait for the other side. An operation that cannot be cancelled delays the return.
//
// This header includes Boost.Asio, of Boost 1.74 or later; no other header of Ergon does. In Ergon's libraries only the
// observer (observer.h) uses it. A program may use await.h and this header, but in different source files: with the
// versions of Debian 12 the two libraries define the same names.
#pragma once

#include <boost/asio/version.hpp>
#if defined(ASIO_DETAIL_CONFIG_HPP) && BOOST_ASIO_VERSION <= 101800
#error "Asio and this Boost.Asio define the same names: include one of them in a source file"
#endif

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

#include <pthread.h>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <tl/expected.hpp>

#include <ergon/gen/node.h>
#include <ergon/gen/process_options.h>
#include <ergon/node/awaiting.h>
#include <ergon/node/io/io_threads.h>
#include <ergon/node/io/other_io.h>

namespace ergon::node {

template <class T>
using BoostIoResult = tl::expected<T, boost::system::error_code>;

// A type with a function cancel().
template <class T>
concept Cancellable = requires(T& object) {
  object.cancel();
};

// The completion token, see above.
struct BoostAwaitToken {
  std::chrono::nanoseconds timeout;
  bool until_stop;
  void* object;
  void (*cancel)(void* object);
};

// Returns the token for an operation of `object`, see above. For use inside a handler or a function that it calls;
// throws std::logic_error elsewhere.
template <Cancellable Object>
[[nodiscard]] BoostAwaitToken BoostAwait(Object& object,
                                         std::chrono::nanoseconds timeout = gen::kInfinite) {
  return {timeout, false, &object, [](void* it) { (void)static_cast<Object*>(it)->cancel(); }};
}
// Returns a token for places where the process may be stopped: the operation also ends with operation_aborted when
// the process is asked to stop in order, now or earlier; see AwaitOrStop in await.h.
template <Cancellable Object>
[[nodiscard]] BoostAwaitToken BoostAwaitOrStop(Object& object,
                                               std::chrono::nanoseconds timeout = gen::kInfinite) {
  BoostAwaitToken token = BoostAwait(object, timeout);
  token.until_stop = true;
  return token;
}

// The node's context for Boost.Asio. It is not the context of IoContext and runs on another thread.
class BoostIo final : public OtherIo {
 public:
  // Throws std::system_error or boost::system::system_error if no file descriptor or no thread can be had.
  [[nodiscard]] static std::unique_ptr<OtherIo> Make() { return std::make_unique<BoostIo>(); }
  BoostIo()
      : OtherIo(BOOST_ASIO_VERSION), work_(context_.get_executor()), thread_([this] { Run(); }) {
    pthread_setname_np(thread_.native_handle(), "ergon-boost-io");
  }
  void Stop() override {
    context_.stop();
    thread_.join();
  }
  [[nodiscard]] boost::asio::io_context& context() noexcept { return context_; }
  // What Make has made. Throws std::logic_error if that was compiled with another version of Boost.Asio.
  [[nodiscard]] static BoostIo& From(OtherIo& io, int version = BOOST_ASIO_VERSION) {
    RequireSameVersion("Boost.Asio", io.version, version);
    return static_cast<BoostIo&>(io);
  }

 private:
  using Executor = boost::asio::io_context::executor_type;

  void Run() {
    BecomeIoThread(this);
    context_.run();
  }

  boost::asio::io_context context_{1};
  const boost::asio::executor_work_guard<Executor> work_;
  std::thread thread_;
};

// Returns the context of the node's I/O with Boost.Asio, for making sockets, streams and timers. One thread runs it
// from the first call until the node has stopped; objects made with it must be gone by then. Any thread. Throws what
// BoostIo::Make throws, and std::logic_error if `node` was not made by node::Start, or if its context was made with
// another version of Boost.Asio than the caller's, which `version` is, as by an observer in Ergon's libraries; aborts
// the program if the node has a clock of its own (see gen::NodeOptions::clock).
[[nodiscard]] inline boost::asio::io_context& BoostIoContext(gen::Node& node,
                                                             int version = BOOST_ASIO_VERSION) {
  return BoostIo::From(OtherIoOf(node, &BoostIo::Make), version).context();
}

// -- how it works: see awaiting.h --

struct BoostAsio {
  using Token = BoostAwaitToken;
  using ErrorCode = boost::system::error_code;
  using Errors = boost::asio::error::basic_errors;
  using Executor = boost::asio::io_context::executor_type;
  struct HandlerTypes {};
  using Timer = boost::asio::steady_timer;
  class Cancellation {
   public:
    explicit Cancellation(const Token& token) : object_(token.object), cancel_(token.cancel) {}
    void Cancel() {
      // Boost throws if the object is closed: nothing goes on there. Nobody can be told what a user's own cancel() throws.
      try {
        cancel_(object_);
      } catch (...) {
      }
    }

   private:
    void* const object_;
    void (*const cancel_)(void* object);
  };
  template <class Operation>
  static Executor ExecutorOf(const Operation& operation) {
    return BoostIo::From(operation.other_io(&BoostIo::Make)).context().get_executor();
  }
  template <class Function>
  static void Post(const Executor& executor, Function function) {
    boost::asio::post(executor, std::move(function));
  }
};

}  // namespace ergon::node

template <class... Completion>
class boost::asio::async_result<ergon::node::BoostAwaitToken, void(Completion...)>
    : public ergon::node::Awaiting<ergon::node::BoostAsio, std::decay_t<Completion>...> {};
