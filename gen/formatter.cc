#include <ergon/gen/formatter.h>

#include <fmt/format.h>

namespace ergon::gen::detail {

fmt::format_context::iterator TextFormatter::Write(std::string_view text,
                                                   fmt::format_context& context) const {
  return fmt::formatter<fmt::string_view>::format({text.data(), text.size()}, context);
}

}  // namespace ergon::gen::detail
