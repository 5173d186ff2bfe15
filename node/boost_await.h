// As await.h, for Boost.Asio and what is built on it, Boost.Beast above all: straight-line code for HTTP and
// WebSockets inside a handler, without a blocked thread.
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
//   boost::asio::error::timed_out          not within the time-out; it has been cancelled
//   boost::asio::error::invalid_argument   the time-out is negative (a line in the log names it): nothing was
//                                          begun
//   boost::asio::error::operation_aborted  the process is being ended: return from the handler
//                                          (BoostAwaitOrStop: or has been asked to stop)
//   boost::asio::error::no_memory          no stack is left for one more suspended process
//
// The object is what is cancelled when the time is up or the process is being ended: a socket, a
// beast::tcp_stream, an acceptor, a timer, a resolver, whatever has a function cancel(). Of a stream in layers
// it is the lowest one: BoostAwait(beast::get_lowest_layer(tls_stream)). All that the object does is cancelled
// then, also what another process waits for. (Boost.Asio cancels single operations, as Asio does for await.h,
// from 1.77 on only; Debian 12 has 1.74.)
//
// What an operation has done in spite of being cancelled is its result: nothing that was read is lost. It
// always completes before BoostAwait returns, so buffers and sockets may stand on the handler's stack. One of
// many steps ends at a step that has to wait for the other side; one that cannot be cancelled delays that.
//
// This header includes Boost.Asio, of Boost 1.74 or later; no other one of Ergon does, and Ergon's libraries
// are built without it. A program may use await.h and this one, but in different source files: with the
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
#include <ergon/node/io/other_io.h>

namespace ergon::node {

template <class T>
using BoostIoResult = tl::expected<T, boost::system::error_code>;

// What has a function cancel().
template <class T>
concept Cancellable = requires(T& object) {
  object.cancel();
};

// The token, see above.
struct BoostAwaitToken {
  std::chrono::nanoseconds timeout;
  bool until_stop;
  void* object;
  void (*cancel)(void* object);
};

// Inside a handler, or any function below it. Throws std::logic_error elsewhere. `object` is the one whose
// operation it is, see above.
template <Cancellable Object>
[[nodiscard]] BoostAwaitToken BoostAwait(Object& object,
                                         std::chrono::nanoseconds timeout = gen::kInfinite) {
  return {timeout, false, &object, [](void* it) { (void)static_cast<Object*>(it)->cancel(); }};
}
// The same for the places where a process may be stopped: it ends with operation_aborted, too, when
// the process is asked to stop in order, now or earlier; see AwaitOrStop in await.h.
template <Cancellable Object>
[[nodiscard]] BoostAwaitToken BoostAwaitOrStop(Object& object,
                                               std::chrono::nanoseconds timeout = gen::kInfinite) {
  BoostAwaitToken token = BoostAwait(object, timeout);
  token.until_stop = true;
  return token;
}

// The node's context for Boost.Asio, which is another one than that of IoContext, on another thread.
class BoostIo final : public OtherIo {
 public:
  // Throws std::system_error or boost::system::system_error when there are no file descriptors, or no thread.
  [[nodiscard]] static std::unique_ptr<OtherIo> Make() { return std::make_unique<BoostIo>(); }
  BoostIo() : work_(context_.get_executor()), thread_([this] { context_.run(); }) {
    pthread_setname_np(thread_.native_handle(), "ergon-boost-io");
  }
  void Stop() override {
    context_.stop();
    thread_.join();
  }
  [[nodiscard]] boost::asio::io_context& context() noexcept { return context_; }

 private:
  using Executor = boost::asio::io_context::executor_type;

  boost::asio::io_context context_{1};
  const boost::asio::executor_work_guard<Executor> work_;
  std::thread thread_;
};

// Where the node's I/O with Boost.Asio happens: for making sockets, streams and timers. One thread runs it from
// the first call until the node has stopped; what is made with it must be gone by then. Any thread. Throws what
// BoostIo::Make throws, and std::logic_error when `node` is of another kind than those of node::Start; aborts
// the program when it has a clock of its own (see gen::NodeOptions::clock).
[[nodiscard]] inline boost::asio::io_context& BoostIoContext(gen::Node& node) {
  return static_cast<BoostIo&>(OtherIoOf(node, &BoostIo::Make)).context();
}

// -- how it works: see awaiting.h --

struct BoostAsio {
  using Token = BoostAwaitToken;
  using ErrorCode = boost::system::error_code;
  using Errors = boost::asio::error::basic_errors;
  using Executor = boost::asio::io_context::executor_type;
  struct HandlerTypes {};
  // An operation between two steps does not see it, so it is done again until the operation has completed.
  class Cancellation {
   public:
    Cancellation(const Token& token, const Executor& executor)
        : object_(token.object), cancel_(token.cancel), executor_(executor) {}
    template <class Again>
    void Cancel(Again again) {
      try {
        cancel_(object_);
      } catch (const boost::system::system_error&) {  // it is closed: nothing goes on there
      }
      const auto timer = std::make_shared<boost::asio::steady_timer>(executor_);
      timer->expires_after(wait_);
      wait_ = std::min(2 * wait_, kLongestWait);
      timer->async_wait([timer, again = std::move(again)](const ErrorCode&) { again(); });
    }

   private:
    static constexpr std::chrono::milliseconds kLongestWait{100};

    void* const object_;
    void (*const cancel_)(void* object);
    const Executor executor_;
    std::chrono::milliseconds wait_{1};
  };
  template <class Operation>
  static Executor ExecutorOf(const Operation& operation) {
    return static_cast<BoostIo&>(operation.other_io(&BoostIo::Make)).context().get_executor();
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
