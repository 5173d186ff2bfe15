// What every program that uses Ergon has to be compiled with.
#pragma once

#if __cplusplus < 202002L
#error "Ergon needs C++20: compile with -std=c++20 or later"
#endif
#ifndef __cpp_exceptions
#error "Ergon needs exceptions, which end the process that threw: compile without -fno-exceptions"
#endif
#ifndef __cpp_rtti
#error "Ergon needs the names of types, which tell messages apart: compile without -fno-rtti"
#endif

// The containers of a program that is compiled with -D_GLIBCXX_DEBUG have another layout than those of a library that
// is not. The linker refuses such a program: the name of what it misses says why.
namespace ergon::core::detail {
#ifdef _GLIBCXX_DEBUG
extern const char kLibraryIsCompiledWithGlibcxxDebug;
[[gnu::used]] static const char* const kLinkedLayout = &kLibraryIsCompiledWithGlibcxxDebug;
#else
extern const char kLibraryIsCompiledWithoutGlibcxxDebug;
[[gnu::used]] static const char* const kLinkedLayout = &kLibraryIsCompiledWithoutGlibcxxDebug;
#endif
}  // namespace ergon::core::detail
