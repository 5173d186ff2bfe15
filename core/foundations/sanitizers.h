// Which sanitizer this is built with. The sanitizer of a program that uses this library is found out at run time
// instead: see fiber_annotations.h.
#pragma once

// ERGON_ASAN and ERGON_TSAN are always defined, as 0 or 1.
#if defined(__SANITIZE_ADDRESS__)
#define ERGON_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ERGON_ASAN 1
#endif
#endif
#ifndef ERGON_ASAN
#define ERGON_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#define ERGON_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ERGON_TSAN 1
#endif
#endif
#ifndef ERGON_TSAN
#define ERGON_TSAN 0
#endif
