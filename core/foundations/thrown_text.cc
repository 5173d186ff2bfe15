#include <ergon/core/foundations/thrown_text.h>

#include <cxxabi.h>

#include <exception>
#include <typeinfo>

#include <ergon/core/foundations/demangle.h>

namespace ergon::core {
namespace {

std::string (*text_of_others)() = nullptr;

}  // namespace

void SetTextOfThrown(std::string (*function)()) noexcept { text_of_others = function; }

std::string ThrownText() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (const std::string& text) {
    return text;
  } catch (const char* text) {
    return text;
  } catch (...) {
    if (text_of_others != nullptr) {
      if (std::string text = text_of_others(); !text.empty()) return text;
    }
    const std::type_info* type = abi::__cxa_current_exception_type();
    return type == nullptr ? std::string("an exception of another language")
                           : "an exception of type " + Demangle(type->name());
  }
}

}  // namespace ergon::core
