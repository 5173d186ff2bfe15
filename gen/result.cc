#include <ergon/gen/result.h>

namespace ergon::gen {

void ThrowBadResult(const Error& error) { throw BadResult(error); }

void ThrowHasNoError() {
  throw std::logic_error("Result::error: there is no error; look at the result first");
}

}  // namespace ergon::gen
