#include <ergon/gen/message.h>

namespace ergon::gen {

std::string Message::TypeName() const {
  return envelope_ == nullptr || envelope_->type == nullptr ? "nothing" : envelope_->type->Name();
}

std::string Message::TagOrTypeName() const {
  return envelope_ == nullptr || envelope_->type == nullptr ? "nothing"
                                                            : envelope_->type->TagOrName();
}

std::string Message::Describe() const {
  const bool has_words = envelope_ != nullptr && envelope_->type != nullptr &&
                         envelope_->type->describe != nullptr && !taken_;
  return has_words ? envelope_->type->describe(envelope_->Value()) : TagOrTypeName();
}

void Message::ThrowBadMessage(const core::TypeDescriptor& wanted) const {
  throw BadMessage("message is " + TypeName() + ", not " + wanted.Name());
}

}  // namespace ergon::gen
