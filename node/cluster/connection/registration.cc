#include <ergon/node/cluster/connection/registration.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <asio/error.hpp>

#include <ergon/node/cluster/handshake/epmd.h>

namespace ergon::dist {
namespace {

constexpr int kEpmdAttempts = 10;  // to find an EPMD that has just been started
constexpr std::chrono::milliseconds kEpmdPause{100};
constexpr std::chrono::milliseconds kLongestEpmdPause{10'000};
constexpr std::chrono::milliseconds kChildPause{5};  // between two looks at what was started
constexpr std::chrono::milliseconds kChildTime{
    200};  // for what was started to go into the background

}  // namespace

void Registration::Start(std::uint16_t port, std::function<void(gen::Result<void>)> registered) {
  auto without_stack = [registered] {
    if (!registered) return;
    registered(gen::Error(gen::ErrorCode::kInternal, Tasks::kNoStack));
  };
  tasks_.Start([this, port, registered = std::move(registered)] { Keep(port, registered); },
               std::move(without_stack));
}

void Registration::Close() {
  closed_ = true;
  if (epmd_ != nullptr) epmd_->Close();
}

void Registration::Keep(std::uint16_t port, std::function<void(gen::Result<void>)> registered) {
  bool started_epmd = false;
  for (int attempt = 0; !closed_; ++attempt) {
    auto outcome = Register(port);
    (void)IsInForeground();
    if (closed_) return;
    if (outcome) {
      if (registered) {
        std::exchange(registered, nullptr)(gen::Result<void>());
      } else if (const auto more = again_lines_.Take()) {
        gen::Log(log_).Info("network: '{}' is registered at EPMD again{}", settings_.alive, *more);
      }
      refused_.clear();
      UntilGone();
      if (closed_) return;
      if (const auto more = gone_lines_.Take()) {
        gen::Log(log_).Warning(
            "network: EPMD at port {} is gone; nodes that do not know this one cannot find it{}",
            settings_.epmd_port, *more);
      }
      attempt = 0;
    } else if (registered) {
      const bool absent = outcome.error() == gen::ErrNoConnection;
      if (absent && settings_.start_epmd && !started_epmd) {
        started_epmd = true;
        if (auto epmd = StartEpmd(); !epmd) {
          std::exchange(registered, nullptr)(std::move(epmd));
          return;
        }
      } else if (!absent || !started_epmd || attempt >= kEpmdAttempts) {
        std::exchange(registered, nullptr)(std::move(outcome));
        return;
      }
    } else if (outcome.error() != gen::ErrNoConnection) {
      NoteRefused(outcome.error().ToString());
    }
    tasks_.Sleep(
        std::min(kEpmdPause * (1 << std::min(attempt / kEpmdAttempts, 10)), kLongestEpmdPause));
  }
}

// Another node may have taken the name while EPMD was gone. The connections that there are stay, and it is tried again
// until that node has ended.
void Registration::NoteRefused(const std::string& why) {
  if (why == refused_) return;  // that has been said
  refused_ = why;
  if (const auto more = refused_lines_.Take()) {
    gen::Log(log_).Warning(
        "network: '{}' could not be registered at EPMD again, and the node keeps trying: {}; nodes "
        "that do not know this one cannot find it{}",
        settings_.alive, why, *more);
  }
}

gen::Result<void> Registration::Register(std::uint16_t port) {
  epmd_ = std::make_unique<Stream>(context_, tasks_);
  const TimeLimit limit(context_, settings_.handshake_timeout.Now(), [this] { epmd_->Close(); });
  try {
    epmd_->Connect({asio::ip::address_v4::loopback()}, settings_.epmd_port, {});
    epmd_->Write(EpmdRegister(settings_.alive, port, settings_.hidden));
    std::string answer;
    std::array<char, 16> some{};
    for (;;) {
      answer.append(some.data(), epmd_->ReadSome(some.data(), some.size()));
      auto parsed = ParseRegistered(answer, settings_.alive);
      if (!parsed) return std::move(parsed.error());
      if (*parsed) return gen::Result<void>();
    }
  } catch (const std::system_error& error) {
    return gen::Error(gen::ErrorCode::kNoConnection,
                      fmt::format("EPMD at 127.0.0.1:{}: {}", settings_.epmd_port,
                                  limit.expired() ? "it takes too long" : error.what()));
  }
}

void Registration::UntilGone() {
  char byte = 0;
  try {
    while (epmd_->ReadSome(&byte, 1) != 0) {
    }
  } catch (const std::system_error&) {  // that is what is waited for
  }
}

bool Registration::IsInForeground() {
  if (started_ != 0 && ::waitpid(started_, nullptr, WNOHANG) != 0) started_ = 0;
  return started_ != 0;
}

gen::Result<void> Registration::StartEpmd() {
  const std::string port = std::to_string(settings_.epmd_port);
  const std::string address = settings_.listen_address.to_string();
  std::string program = "epmd";
  std::string flag = "-daemon";
  std::string port_flag = "-port";
  std::string address_flag = "-address";
  std::array<char*, 7> arguments{
      program.data(), flag.data(), port_flag.data(), const_cast<char*>(port.c_str()),
      nullptr,        nullptr,     nullptr};
  if (settings_.listen_address.is_loopback()) {
    arguments[4] = address_flag.data();
    arguments[5] = const_cast<char*>(address.c_str());
  }
  pid_t child = 0;
  const int problem = ::posix_spawnp(&child, "epmd", nullptr, nullptr, arguments.data(), environ);
  if (problem != 0) {
    return gen::Error(gen::ErrorCode::kNoConnection,
                      fmt::format("there is no EPMD at 127.0.0.1:{}, and none can be started: {} "
                                  "(epmd is a program of the Debian package erlang-base)",
                                  settings_.epmd_port, std::system_category().message(problem)));
  }
  // It goes into the background at once. One that does not, as a script of that name may, serves as well, and nobody
  // waits for its end.
  const auto end = std::chrono::steady_clock::now() + kChildTime;
  started_ = child;
  while (IsInForeground() && std::chrono::steady_clock::now() < end) tasks_.Sleep(kChildPause);
  return {};
}

}  // namespace ergon::dist
