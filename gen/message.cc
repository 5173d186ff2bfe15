#include <ergon/gen/message.h>

namespace ergon::gen {

std::string Message::TypeName() const {
  return envelope_ == nullptr || envelope_->type == nullptr ? "nothing" : envelope_->type->Name();
}

std::string Message::TagOrTypeName() const {
  return envelope_ == nullptr || envelope_->type == nullptr ? "nothing"
                                                            : envelope_->type->TagOrName();
}

void Message::ThrowBadMessage(const core::TypeDescriptor& wanted) const {
  throw BadMessage("message is " + TypeName() + ", not " + wanted.Name());
}

}  // namespace ergon::gen
