// Values of options, from text and to text.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/gen/log_format.h>
#include <ergon/gen/log_level.h>
#include <ergon/gen/node_options.h>

namespace ergon::node {

// Parse: what a value has to be, if the text is none; nullptr, and the value in `out`, if it is.
const char* ParseOption(std::string_view text, int& out);
const char* ParseOption(std::string_view text, std::uint32_t& out);
const char* ParseOption(std::string_view text, std::size_t& out);  // bytes
const char* ParseOption(std::string_view text, double& out);
const char* ParseOption(std::string_view text, bool& out);
const char* ParseOption(std::string_view text, std::chrono::nanoseconds& out);
const char* ParseOption(std::string_view text, gen::DispatcherPolicy& out);
const char* ParseOption(std::string_view text, gen::LogLevel& out);
const char* ParseOption(std::string_view text, gen::LogFormat& out);

// The shortest text that means the value.
std::string FormatOption(int value);
std::string FormatOption(std::uint32_t value);
std::string FormatOption(std::size_t value);
std::string FormatOption(double value);
std::string FormatOption(bool value);
std::string FormatOption(std::chrono::nanoseconds value);
std::string FormatOption(gen::DispatcherPolicy value);
std::string FormatOption(gen::LogLevel value);
std::string FormatOption(gen::LogFormat value);

}  // namespace ergon::node
