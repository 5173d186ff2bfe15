#include <ergon/gen/message.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include <ergon/gen/pid.h>

namespace ergon::gen {
namespace {

// On one line, shortened between two characters.
std::string Quoted(std::string_view text) {
  constexpr std::size_t kShort = 100;  // bytes
  std::size_t size = std::min(text.size(), kShort);
  while (size < text.size() && size > 0 &&
         (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) {
    --size;
  }
  std::string quoted = "text \"";
  for (const char byte : text.substr(0, size)) {
    const auto code = static_cast<unsigned char>(byte);
    quoted += code < 0x20 || code == 0x7f ? '?' : byte;
  }
  if (size == text.size()) return quoted + '"';
  return fmt::format("{}...\", {} bytes", quoted, text.size());
}

// Values of other nodes have these types without being registered.
bool IsPlain(const core::TypeDescriptor* type) noexcept {
  return core::IsType<std::string>(type) || core::IsType<std::int64_t>(type) ||
         core::IsType<double>(type) || core::IsType<bool>(type) || core::IsType<PID>(type);
}

std::string PlainWords(core::Envelope& envelope) {
  if (const auto* text = envelope.ValueAs<std::string>()) return Quoted(*text);
  if (const auto* integer = envelope.ValueAs<std::int64_t>())
    return fmt::format("integer {}", *integer);
  if (const auto* number = envelope.ValueAs<double>()) return fmt::format("float {}", *number);
  if (const auto* truth = envelope.ValueAs<bool>()) return *truth ? "true" : "false";
  return "PID " + envelope.ValueAs<PID>()->ToString();
}

}  // namespace

std::string Message::TypeName() const {
  return envelope_ == nullptr || envelope_->type == nullptr ? "nothing" : envelope_->type->Name();
}

std::string Message::Describe() const { return HasWords() ? Words() : TypeName(); }

std::string Message::DescribeToOthers() const {
  if (envelope_ == nullptr || envelope_->type == nullptr) return "nothing";
  return HasWords() ? Words() : envelope_->type->TagOrName();
}

bool Message::HasWords() const noexcept {
  if (envelope_ == nullptr || envelope_->type == nullptr || taken_) return false;
  return envelope_->type->describe != nullptr || IsPlain(envelope_->type);
}

std::string Message::Words() const {
  const auto describe = envelope_->type->describe;
  return describe != nullptr ? describe(envelope_->Value()) : PlainWords(*envelope_);
}

void Message::ThrowBadMessage(const core::TypeDescriptor& wanted) const {
  throw BadMessage("message is " + TypeName() + ", not " + wanted.Name());
}

}  // namespace ergon::gen
