// Handlers for messages that were sent to the process's name, or to one of its aliases.
#pragma once

#include <ergon/act/message_loop.h>
#include <ergon/gen/alias.h>
#include <ergon/gen/atom.h>

namespace ergon::act {

// The handlers of a behaviour, with further ones for messages and requests sent to a name or to an alias.
class SplitCallbacks : public Callbacks {
 public:
  virtual gen::Status HandleMessageName(gen::Atom name, gen::PID from, gen::Message& message) = 0;
  virtual gen::Status HandleMessageAlias(gen::Alias alias, gen::PID from,
                                         gen::Message& message) = 0;
  virtual gen::CallResult HandleCallName(gen::Atom name, gen::PID from, gen::Ref ref,
                                         gen::Message& request) = 0;
  virtual gen::CallResult HandleCallAlias(gen::Alias alias, gen::PID from, gen::Ref ref,
                                          gen::Message& request) = 0;

 protected:
  SplitCallbacks() = default;
  SplitCallbacks(const SplitCallbacks&) = default;
  SplitCallbacks& operator=(const SplitCallbacks&) = default;
  ~SplitCallbacks() = default;
};

}  // namespace ergon::act
