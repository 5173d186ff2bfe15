// Node options from a command line, for programs that use CLI11.
//
// This header does not include CLI11, nor does the library: it is for those who have included
// <CLI/CLI.hpp> themselves.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include <ergon/node/option_keys.h>
#include <ergon/node/options_file.h>

namespace ergon::node {

// Adds an option for each key of OptionKeys, with dashes for what separates its words (--workers,
// --turn-time, --stealing-relaxed-pause), and --config FILE, which LoadOptions reads:
//
//   CLI::App app;
//   gen::NodeOptions options;
//   node::AddNodeOptions(app, options);
//   CLI11_PARSE(app, argc, argv);
//
// `options` has the defaults before and the result after the parsing; it must live until then. The
// command line overrides the file, wherever on it --config stands. What is wrong is an error of CLI11
// that names the option, and the file's line. `App` is CLI::App.
template <class App>
void AddNodeOptions(App& app, gen::NodeOptions& options) {
  constexpr const char* kGroup = "Node";
  // First, because CLI11 calls back in this order.
  auto loaded = std::make_shared<gen::NodeOptions>();
  app.template add_option_function<std::string>(
         "--config", [&options, loaded](const std::string&) { options = *loaded; },
         "read options of the node from this file; those given here override it")
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
