#include <ergon/node/erlang/codec/alternatives.h>

#include <set>
#include <stdexcept>
#include <string>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <ergon/core/foundations/demangle.h>

namespace ergon::dist::detail {

namespace {

// All are written, whether they have to be there or not.
std::set<std::string> KeysOf(const TypeShape& shape) {
  std::set<std::string> keys(shape.keys.begin(), shape.keys.end());
  keys.insert(shape.optional_keys.begin(), shape.optional_keys.end());
  return keys;
}

bool LookTheSame(const TypeShape& left, const TypeShape& right) {
  if (left.tag != right.tag) return false;
  return left.tag.empty() ? KeysOf(left) == KeysOf(right) : left.fields == right.fields;
}

}  // namespace

void CheckAlternatives(const std::vector<Alternative>& all) {
  for (auto one = all.begin(); one != all.end(); ++one) {
    for (auto other = one + 1; other != all.end(); ++other) {
      if (!LookTheSame(one->shape, other->shape)) continue;
      const std::string what =
          one->shape.tag.empty()
              ? fmt::format("maps with the keys {{{}}}", fmt::join(KeysOf(one->shape), ", "))
              : fmt::format("the tuple {} of {}", one->shape.tag, one->shape.fields + 1);
      throw std::logic_error(fmt::format(
          "a variant's types {} and {} are both {}, and could not be told apart: give one another "
          "kTag",
          core::Demangle(one->type->name()), core::Demangle(other->type->name()), what));
    }
  }
}

bool ExpectedOneOf(ValueReader& reader, std::initializer_list<const std::type_info*> types) {
  std::string names;
  for (const std::type_info* type : types) {
    if (!names.empty()) names += ", ";
    names += core::Demangle(type->name());
  }
  return reader.Expected("one of " + names);
}

}  // namespace ergon::dist::detail
