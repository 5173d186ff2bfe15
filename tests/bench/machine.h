// What the machine itself takes: the yardsticks beside a benchmark's figures.
#pragma once

#include <cstdint>

namespace ergon::bench {

// Nanoseconds, monotonic.
std::int64_t Now();
// Processor time of the whole program so far, in nanoseconds.
std::int64_t ProcessorTime();
// Resident memory of the program, in bytes.
std::int64_t ResidentBytes();

// Nanoseconds that a cache line takes from one core to another and back; the smallest of several
// short tries. Tells runs on near cores from runs on far ones.
double LineRoundTrip();

// Work that the compiler cannot shorten: xorshift64, `iterations` times.
std::uint64_t Work(std::uint64_t seed, std::int64_t iterations);
// How many iterations of Work take a microsecond; measured once.
double IterationsPerMicrosecond();

}  // namespace ergon::bench
