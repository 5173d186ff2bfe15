// What a line is answered with.
#pragma once

#include <string>
#include <string_view>

#include <ergon/act/pool.h>

namespace line_server {

// "echo text" -> "text", "upper text" -> "TEXT", "sum 1 2 3" -> "6"; else "error: ...".
[[nodiscard]] std::string AnswerTo(std::string_view line);

// Workers that answer lines, as many as there are processors.
class Answerers : public ergon::act::Pool {
  ergon::gen::Result<ergon::act::PoolOptions> Init(const ergon::gen::Args& args) override;
};

}  // namespace line_server
