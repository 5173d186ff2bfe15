// Who has used up its stack. Runs in a signal handler: it allocates nothing and takes no lock.
#include <typeinfo>

#include <ergon/core/foundations/signal_text.h>
#include <ergon/node/process/runner.h>

namespace ergon::node {

void ProcessRunner::ReportOverflow(core::SignalText& text, std::size_t stack_bytes) {
  const ProcessRunner* const process = CurrentProcess();
  if (process == nullptr) {
    text << "a turn";
  } else {
    const gen::PID self = process->Self();
    text << "<" << self.node.Text() << "." << (self.id & 0xffffffffu) << "." << (self.id >> 32)
         << ">";
    if (process->behavior_ != nullptr) {
      const gen::ProcessBehavior& behavior = *process->behavior_;
      text << " (";
      text.AddType(typeid(behavior).name()) << ")";
    }
    const gen::ProcessState state = process->activity_.state();
    const core::TypeDescriptor* const type = process->activity_.type();
    if (!process->started_) {
      text << ", in Init";
    } else if (state == gen::ProcessState::kTerminating) {
      text << ", in Terminate";
    } else if (type != nullptr) {
      text << ", handling ";
      text.AddType(type->info->name());
    }
  }
  text << ": its stack of " << stack_bytes / 1024
       << " KiB overflowed; see NodeOptions::handler_stack_bytes";
}

}  // namespace ergon::node
