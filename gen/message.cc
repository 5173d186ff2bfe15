#include <ergon/gen/message.h>

#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <ergon/gen/pid.h>

namespace ergon::gen {
namespace {

// Values of other nodes have these types without being registered.
bool IsPlain(const core::TypeDescriptor* type) noexcept {
  return core::IsType<std::string>(type) || core::IsType<std::int64_t>(type) ||
         core::IsType<double>(type) || core::IsType<bool>(type) || core::IsType<PID>(type);
}

std::string PlainWords(core::Envelope& envelope) {
  // Not what it says: a text of this node may be a secret.
  if (const auto* text = envelope.ValueAs<std::string>())
    return fmt::format("text of {} bytes", text->size());
  if (const auto* integer = envelope.ValueAs<std::int64_t>())
    return fmt::format("integer {}", *integer);
  if (const auto* number = envelope.ValueAs<double>()) return fmt::format("float {}", *number);
  if (const auto* truth = envelope.ValueAs<bool>()) return *truth ? "true" : "false";
  return "PID " + envelope.ValueAs<PID>()->ToString();
}

constinit thread_local std::vector<core::EnvelopePtr>* left_messages = nullptr;

}  // namespace

detail::LeftMessages::LeftMessages(std::vector<core::EnvelopePtr>& list) noexcept
    : former_(std::exchange(left_messages, &list)) {}
detail::LeftMessages::~LeftMessages() { left_messages = former_; }

void detail::LeftMessages::Take(core::EnvelopePtr envelope) noexcept {
  if (left_messages == nullptr) return;
  try {
    left_messages->push_back(std::move(envelope));
  } catch (...) {
    // There is no memory to keep it.
  }
}

std::string Message::TypeName() const {
  return envelope_ == nullptr || envelope_->type == nullptr ? "nothing"
                                                            : envelope_->type->TagOrName();
}

std::string Message::Describe() const { return HasWords() ? Words() : TypeName(); }

bool Message::HasWords() const noexcept {
  if (envelope_ == nullptr || envelope_->type == nullptr || taken_) return false;
  return envelope_->type->describe != nullptr || IsPlain(envelope_->type);
}

std::string Message::Words() const {
  const auto describe = envelope_->type->describe;
  return describe != nullptr ? describe(envelope_->Value()) : PlainWords(*envelope_);
}

void Message::ThrowBadMessage(const core::TypeDescriptor& wanted) const {
  throw BadMessage("message is " + Describe() + ", not " + wanted.TagOrName());
}

}  // namespace ergon::gen
