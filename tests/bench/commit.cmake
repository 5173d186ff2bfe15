# Writes <output> with the commit of <source>; leaves it alone when it says so already.
execute_process(
  COMMAND git -C "${source}" describe --always --dirty --abbrev=12
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT "${output}" CONTENT [[
#pragma once

namespace ergon::bench {
inline constexpr char kCommit[] = "@commit@";
}
]] @ONLY)
