// What the test kit throws when something is not as a test expects it; every test framework reports
// that.
#pragma once

#include <stdexcept>

namespace ergon::testkit {

class ExpectationFailed : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace ergon::testkit
