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
