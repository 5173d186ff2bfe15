#include <ergon/core/foundations/language.h>

namespace ergon::core::detail {

#ifdef _GLIBCXX_DEBUG
const char kLibraryIsCompiledWithGlibcxxDebug = 0;
#else
const char kLibraryIsCompiledWithoutGlibcxxDebug = 0;
#endif

}  // namespace ergon::core::detail
