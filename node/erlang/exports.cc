#include <ergon/node/erlang/exports.h>

#include <fmt/core.h>

namespace ergon::dist {

gen::Error detail::ArgumentError(std::size_t index, const gen::Error& error) {
  return {gen::ErrorCode::kIncorrect, fmt::format("argument {}: {}", index + 1, error.detail())};
}

gen::Error detail::ResultError(std::string_view what) {
  return {gen::ErrorCode::kIncorrect, fmt::format("result: {}", what)};
}

RemoteFunctions& RemoteFunctions::Add(std::string module, std::string function,
                                      detail::RemoteFunction code) {
  code.module = std::move(module);
  code.function = std::move(function);
  all_.push_back(std::move(code));
  return *this;
}

RemoteBehaviors& RemoteBehaviors::Register(std::string module, std::string function,
                                           gen::ProcessFactory factory,
                                           gen::ProcessOptions options) {
  all_.push_back({std::move(module), std::move(function), std::move(factory), std::move(options)});
  return *this;
}

}  // namespace ergon::dist
