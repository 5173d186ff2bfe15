#include <ergon/gen/host/child_end.h>

#include <algorithm>

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

void EndChildAndWait(ProcessHost& parent, PID child, std::chrono::nanoseconds timeout) {
  if (Ask(parent, child, timeout) && parent.AwaitEnd(child, timeout)) return;
  (void)parent.Kill(child);
  (void)parent.AwaitEnd(child, kInfinite);
}

bool IsExitToCome(ProcessHost& parent, const MessageDownPID& notice) {
  if (notice.reason != Reason::NoProcess()) return false;
  const auto own = parent.Node().ProcessInfo(parent.Self());
  return own && std::find(own->links.begin(), own->links.end(), notice.pid) != own->links.end();
}

}  // namespace ergon::gen
