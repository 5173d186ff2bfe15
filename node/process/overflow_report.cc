// Who has used up its stack. Runs in a signal handler: it allocates nothing and takes no lock.
#include <typeinfo>

#include <ergon/core/foundations/signal_text.h>
#include <ergon/node/process/current_process.h>
#include <ergon/node/process/process.h>

namespace ergon::node {

void Process::ReportOverflow(core::SignalText& text, std::size_t stack_bytes) {
  const Process* const process = CurrentProcess();
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
    const auto state =
        static_cast<gen::ProcessState>(process->state_.load(std::memory_order_relaxed));
    const core::TypeDescriptor* const type = process->current_type_.load(std::memory_order_relaxed);
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
