#include <ergon/gen/host/child_end.h>

#include <algorithm>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/gen/node.h>
#include <ergon/gen/process_options.h>

namespace ergon::gen {
namespace {

// False: it was killed instead, also if it cannot be asked because it has just ended.
bool Ask(ProcessHost& parent, PID child, std::chrono::nanoseconds timeout) {
  if (timeout.count() != 0 && parent.StopAfterQueue(child, Reason::Shutdown())) return true;
  (void)parent.Kill(child);
  return false;
}

}  // namespace

TimerHandle EndChild(ProcessHost& parent, PID child, std::chrono::nanoseconds timeout) {
  if (!Ask(parent, child, timeout) || timeout == kInfinite) return {};
  return parent.SendSelfAfter(ChildTimeout{child}, timeout);
}

void KillLateChild(ProcessHost& parent, PID child, Atom name, std::chrono::nanoseconds timeout) {
  if (!parent.Kill(child)) return;  // it has just ended
  parent.Log().Warning("child {}{} is killed: it has not ended within {}",
                       name.empty() ? "" : fmt::format("'{}' ", name), child,
                       core::RoundTime(timeout));
}

void EndChildAndWait(ProcessHost& parent, PID child, Atom name, std::chrono::nanoseconds timeout) {
  if (Ask(parent, child, timeout)) {
    const auto ended = parent.AwaitEnd(child, timeout);
    if (ended) return;
    if (ended.error() == ErrTimeout) {
      KillLateChild(parent, child, name, timeout);
    } else {
      (void)parent.Kill(child);  // the parent is being ended itself, and cannot wait
    }
  }
  (void)parent.AwaitEnd(child, kInfinite);
}

bool IsExitToCome(ProcessHost& parent, const MessageDownPID& notice) {
  if (notice.reason != Reason::NoProcess()) return false;
  const auto own = parent.Node().ProcessInfo(parent.Self());
  return own && std::find(own->links.begin(), own->links.end(), notice.pid) != own->links.end();
}

}  // namespace ergon::gen
