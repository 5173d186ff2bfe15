#include <ergon/gen/message.h>

namespace ergon::gen {

std::string Message::TypeName() const {
  return envelope_ == nullptr || envelope_->type == nullptr ? "nothing" : envelope_->type->Name();
}

std::string Message::Describe() const { return HasWords() ? Words() : TypeName(); }

std::string Message::DescribeToOthers() const {
  if (envelope_ == nullptr || envelope_->type == nullptr) return "nothing";
  return HasWords() ? Words() : envelope_->type->TagOrName();
}

bool Message::HasWords() const noexcept {
  return envelope_ != nullptr && envelope_->type != nullptr &&
         envelope_->type->describe != nullptr && !taken_;
}

std::string Message::Words() const { return envelope_->type->describe(envelope_->Value()); }

void Message::ThrowBadMessage(const core::TypeDescriptor& wanted) const {
  throw BadMessage("message is " + TypeName() + ", not " + wanted.Name());
}

}  // namespace ergon::gen
