// Node options from a command line, for programs that use CLI11.
//
// Neither this header nor the library includes CLI11: include <CLI/CLI.hpp> yourself.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include <ergon/node/option_keys.h>
#include <ergon/node/options_file.h>

namespace ergon::node {

// Adds an option for each key of OptionKeys, with dashes between its words (--workers,
// --turn-time, --stealing-relaxed-pause), and --config FILE, which LoadOptions reads:
//
//   CLI::App app;
//   gen::NodeOptions options;
//   node::AddNodeOptions(app, options);
//   CLI11_PARSE(app, argc, argv);
//
// `options` holds the defaults before the parsing and the result after it; it must live until then. Options on the
// command line override the file, wherever --config stands, also when the file is read again. --config sets
// NodeOptions::options_file to the absolute path, so that SIGHUP reads the file again instead of ending the program. A
// wrong value is an error of CLI11 that names the option and, for the file, the line. `App` is CLI::App.
template <class App>
void AddNodeOptions(App& app, gen::NodeOptions& options) {
  constexpr const char* kGroup = "Node";
  // First, because CLI11 calls back in this order.
  auto loaded = std::make_shared<gen::NodeOptions>();
  app.template add_option_function<std::string>(
         "--config",
         [&options, loaded](const std::string& path) {
           options = *loaded;
           std::error_code error;  // as it is given, if nobody knows where that is
           const auto absolute = std::filesystem::absolute(path, error);
           options.options_file = error ? path : absolute.string();
         },
         "read options of the node from this file, and again at SIGHUP; those given here "
         "override it")
      ->check([&options, loaded](const std::string& path) -> std::string {
        auto result = LoadOptions(path, options);
        if (!result) return std::string(result.error().detail());
        *loaded = *result;
        return {};
      })
      ->type_name("FILE")
      ->group(kGroup);
  for (const OptionKey& key : OptionKeys()) {
    std::string name = "--" + std::string(key.name);
    std::replace(name.begin(), name.end(), '_', '-');
    std::replace(name.begin(), name.end(), '.', '-');
    app.template add_option_function<std::string>(
           name,
           [&options, key](const std::string& text) {
             (void)SetOption(options, key.name, text);  // was checked
             options.overridden_options.emplace_back(key.name);
           },
           std::string(key.help))
        ->check([key](const std::string& text) -> std::string {
          gen::NodeOptions any;
          auto set = SetOption(any, key.name, text);
          return std::string(set ? "" : set.error().detail());
        })
        ->type_name(std::string(key.value))
        ->default_str(OptionText(options, key.name))
        ->group(kGroup);
  }
}

}  // namespace ergon::node
