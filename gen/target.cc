#include <ergon/gen/target.h>

#include <optional>

#include <fmt/format.h>

namespace ergon::gen {

Target::Target(std::string_view name) : name_(), kind_(Kind::kProcessID) {
  if (const std::optional<Atom> atom = Atom::Find(name)) {
    name_.name = *atom;
  } else {
    unknown_name_ = std::make_shared<const std::string>(name);
    kind_ = Kind::kUnknownName;
  }
}

Result<void> Target::Check() const {
  const std::string* name = AsUnknownName();
  if (name == nullptr || name->size() <= Atom::kMaxBytes) return {};
  return Error(ErrorCode::kIncorrect,
               fmt::format("name: {} bytes, at most {} are possible: {}...", name->size(),
                           Atom::kMaxBytes, name->substr(0, 40)));
}

Result<Target> Target::Kept() const {
  auto checked = Check();
  if (!checked) return std::move(checked.error());
  const std::string* name = AsUnknownName();
  return name == nullptr ? *this : Target(Atom(*name));
}

std::uint64_t Target::TagOfUnknownName() const noexcept {
  const std::optional<Atom> atom = Atom::Find(*AsUnknownName());
  return atom ? kNameTag | atom->Index() : 0;
}

std::string Target::ToString() const {
  if (const auto* pid = AsPID()) return pid->ToString();
  if (const auto* name = AsProcessID()) return name->ToString();
  if (const auto* alias = AsAlias()) return alias->ToString();
  return fmt::format("'{}'", *AsUnknownName());  // as ProcessID::ToString
}

}  // namespace ergon::gen
