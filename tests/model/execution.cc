#include "execution.h"

#include <algorithm>
#include <cstring>

namespace ergon::model {
namespace {

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

constexpr std::size_t kStackBytes = 128 * 1024;

const char* NameOf(Kind kind) {
  switch (kind) {
    case Kind::kBegin:
      return "begin";
    case Kind::kLoad:
      return "load";
    case Kind::kStore:
      return "store";
    case Kind::kBuffered:
      return "store into buffer";
    case Kind::kFlush:
      return "flush";
    case Kind::kReadModifyWrite:
      return "read-modify-write";
    case Kind::kLock:
      return "lock";
    case Kind::kPause:
      return "pause";
    case Kind::kFutexWait:
      return "futex wait";
    case Kind::kFutexSleep:
      return "end of futex wait";
    case Kind::kFutexWake:
      return "futex wake";
  }
  return "";
}

}  // namespace

Execution& TheExecution() {
  static Execution execution;
  return execution;
}

Execution::Execution() {
  for (int i = 0; i < kMaxThreads; ++i) {
    threads_[static_cast<std::size_t>(i)].number = i;
    threads_[static_cast<std::size_t>(i)].stack = std::make_unique<char[]>(kStackBytes);
  }
}

void Execution::Begin(const Options& options, Model& model, Chooser chooser) {
  options_ = options;
  model_ = &model;
  chooser_ = chooser;
  events_.clear();
  failure_.clear();
  steps_ = 0;
  sleeps_ = 0;
  for (Thread& thread : Threads()) {
    thread.ended = false;
    thread.next = Operation{};
    thread.clock = VectorClock{};
    thread.clock.counts[static_cast<std::size_t>(thread.number)] = 1;
    thread.buffer.clear();
    thread.seen = nullptr;
    thread.timeouts_left = options.timeouts;
    thread.spurious_left = options.spurious;
    thread.now = 0;
    // What was on the stack is forgotten: an execution that was cut off never returns from it.
    thread.context = make_fcontext(thread.stack.get() + kStackBytes, kStackBytes, &Execution::Main);
  }
  // What a thread does before its first operation concerns nobody else.
  for (int i = 0; i < options.threads; ++i) Step(i);
  steps_ = 0;
}

void Execution::Main(transfer_t from) {
  Execution& self = TheExecution();
  self.explorer_ = from.fctx;
  self.model_->Run(self.running_->number);
  self.running_->ended = true;
  jump_fcontext(self.explorer_, nullptr);
}

bool Execution::IsDone() const {
  const auto threads = Threads();
  return model_->MayRest() || std::all_of(threads.begin(), threads.end(),
                                          [](const Thread& thread) { return thread.ended; });
}

bool Execution::CanStep(const Thread& thread) const {
  if (thread.ended) return false;
  const Operation& next = thread.next;
  switch (next.kind) {
    case Kind::kStore:
    case Kind::kReadModifyWrite:
    case Kind::kFutexWait:
    case Kind::kFutexWake:
      return thread.buffer.empty();
    case Kind::kLock: {
      bool locked;
      std::memcpy(&locked, next.location, sizeof locked);
      return thread.buffer.empty() && !locked;
    }
    case Kind::kPause:
      return thread.seen == nullptr || locations_.At(thread.seen).version != thread.seen_version;
    case Kind::kFutexSleep:
      return thread.woken || thread.spurious_left > 0 || (thread.timed && thread.timeouts_left > 0);
    default:
      return true;
  }
}

AgentSet Execution::Enabled() const {
  AgentSet enabled = 0;
  for (const Thread& thread : Threads()) {
    if (CanStep(thread)) enabled |= 1u << thread.number;
    if (!thread.buffer.empty()) enabled |= 1u << (thread.number + kMaxThreads);
  }
  if (enabled != 0 || options_.timeouts == 0) return enabled;
  // Nothing happens any more, but time passes.
  for (const Thread& thread : Threads()) {
    const bool sleeps = !thread.ended && thread.next.kind == Kind::kFutexSleep;
    if (sleeps && thread.timed) enabled |= 1u << thread.number;
  }
  return enabled;
}

Operation Execution::Next(int agent) const {
  if (agent < kMaxThreads) return threads_[static_cast<std::size_t>(agent)].next;
  const Thread& thread = threads_[static_cast<std::size_t>(agent - kMaxThreads)];
  return {Kind::kFlush, thread.buffer.front().location};
}

void Execution::Step(int agent) {
  ++steps_;
  if (agent >= kMaxThreads) {
    Flush(threads_[static_cast<std::size_t>(agent - kMaxThreads)]);
    return;
  }
  running_ = &threads_[static_cast<std::size_t>(agent)];
  running_->context = jump_fcontext(running_->context, nullptr).fctx;
  running_ = nullptr;
}

void Execution::Await(Kind kind, const void* location) {
  running_->next = {kind, location};
  explorer_ = jump_fcontext(explorer_, nullptr).fctx;
}

void Execution::FailInThread(const std::string& what) {
  NoteFailure("thread " + std::to_string(running_->number) + ": " + what);
  running_->ended = true;
  for (;;) jump_fcontext(explorer_, nullptr);  // never resumed
}

void Execution::NoteFailure(const std::string& what) {
  if (failure_.empty()) failure_ = what;
}

void Execution::Flush(Thread& thread) {
  const BufferedStore store = thread.buffer.front();
  thread.buffer.erase(thread.buffer.begin());
  WriteMemory(store.location, store.size, store.value);
  Location& location = locations_.At(store.location);
  location.released = store.released;
  events_.push_back({thread.number + kMaxThreads, Kind::kFlush, location.number, store.value});
}

void Execution::WriteMemory(void* address, std::size_t size, std::uint64_t value) {
  if (std::memcmp(address, &value, size) == 0) return;
  std::memcpy(address, &value, size);
  ++locations_.At(address).version;
}

Location& Execution::Use(const void* address) {
  Location& location = locations_.At(address);
  if (location.destroyed) FailInThread("uses an atomic that was destroyed");
  const auto number = static_cast<std::size_t>(running_->number);
  location.used[number] = running_->clock.counts[number];
  return location;
}

void Execution::Wake(const void* word, int count) {
  for (; count > 0; --count) {
    Thread* first = nullptr;  // first in, first out, as the kernel does it among equals
    for (Thread& thread : Threads()) {
      if (thread.ended || thread.next.kind != Kind::kFutexSleep || thread.woken) continue;
      if (thread.next.location != word) continue;
      if (first == nullptr || thread.sleeps_since < first->sleeps_since) first = &thread;
    }
    if (first == nullptr) return;
    first->woken = true;
  }
}

void Execution::Record(Kind kind, const void* location, std::uint64_t value) {
  if (kind == Kind::kFutexWait) running_->sleeps_since = ++sleeps_;
  const int number = location == nullptr ? 0 : locations_.At(location).number;
  events_.push_back({running_->number, kind, number, value});
}

std::string Execution::Trace() const {
  std::string trace;
  char line[128];
  for (const Event& event : events_) {
    const bool is_flush = event.agent >= kMaxThreads;
    const int thread = is_flush ? event.agent - kMaxThreads : event.agent;
    std::snprintf(line, sizeof line, "  %*sthread %d: %s, word %d, value 0x%llx\n", 4 * thread, "",
                  thread, NameOf(event.kind), event.location,
                  static_cast<unsigned long long>(event.value));
    trace += line;
  }
  return trace;
}

}  // namespace ergon::model
