#include <ergon/gen/reason.h>

namespace ergon::gen {

// These are never destroyed: a node that is a static variable may need them when it ends, after others of that kind.

Reason Reason::Shutdown() {
  static const Reason& reason =
      *new Reason(std::make_shared<const Rep>(Rep{ReasonKind::kShutdown, {}}));
  return reason;
}

Reason Reason::Kill() {
  static const Reason& reason =
      *new Reason(std::make_shared<const Rep>(Rep{ReasonKind::kKill, {}}));
  return reason;
}

Reason Reason::NoProcess() {
  static const Reason& reason =
      *new Reason(std::make_shared<const Rep>(Rep{ReasonKind::kNoProcess, {}}));
  return reason;
}

Reason Reason::NoConnection() {
  static const Reason& reason =
      *new Reason(std::make_shared<const Rep>(Rep{ReasonKind::kNoConnection, {}}));
  return reason;
}

Reason Reason::Unregistered() {
  static const Reason& reason =
      *new Reason(std::make_shared<const Rep>(Rep{ReasonKind::kUnregistered, {}}));
  return reason;
}

Reason Reason::Panic(std::string what) {
  return Reason(std::make_shared<const Rep>(Rep{ReasonKind::kPanic, std::move(what)}));
}

Reason Reason::Error(std::string text) {
  return Reason(std::make_shared<const Rep>(Rep{ReasonKind::kError, std::move(text)}));
}

Reason Reason::OfAtom(Atom name) {
  return Reason(std::make_shared<const Rep>(Rep{ReasonKind::kError, name.ToString(), name}));
}

std::string Reason::ToString() const {
  switch (kind()) {
    case ReasonKind::kNormal:
      return "normal";
    case ReasonKind::kShutdown:
      return "shutdown";
    case ReasonKind::kKill:
      return "killed";
    case ReasonKind::kNoProcess:
      return "noproc";
    case ReasonKind::kNoConnection:
      return "noconnection";
    case ReasonKind::kUnregistered:
      return "unregistered";
    case ReasonKind::kPanic:
      return "panic: " + rep_->text;
    case ReasonKind::kError:
      return rep_->text;
  }
  return "unknown";
}

}  // namespace ergon::gen
