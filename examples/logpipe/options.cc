#include "options.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <ergon/node/command_line.h>

namespace logpipe {

using namespace std::chrono_literals;

namespace {

constexpr int kUsageError = 2;
constexpr int kMaxParsers = 1'000;
constexpr int kMaxQueue = 1'000'000;

constexpr const char* kDescription =
    "Reads lines of logs, \"<PRI>TAG: TEXT\" as syslog has them, from files and from UDP, and "
    "writes\n"
    "those that matter as JSON. Lines of one TAG and one source stay in their order.\n";

constexpr const char* kFooter =
    "\nCtrl-C and SIGTERM stop it in order: what has been read is written. A slow output slows "
    "down\n"
    "the reading of files; of datagrams the system drops what is not read in time. Exit status:\n"
    "0 all is written; 1 something failed, or a file was not read to its end; 2 a wrong command\n"
    "line.";

class Help : public CLI::Formatter {
 public:
  Help() { column_width(30); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "\nUsage: logpipe [OPTION]... [FILE]...\n";
  }
};

// What is left of the command line without the options: files, and what nobody knows. (CLI11 would take a list of files
// itself, but read a file "[a,b]" as two, "a" and "b".) Returns what is wrong with it, or nothing.
std::string TakeFiles(const std::vector<std::string>& rest, std::vector<std::string>& files) {
  bool options_end = false;
  for (const std::string& word : rest) {
    if (!options_end && word == "--") {
      options_end = true;
    } else if (!options_end && word.size() > 1 && word.front() == '-') {
      return "no such option: " + word;
    } else {
      files.push_back(word);
    }
  }
  return {};
}

std::string CheckSeverity(const std::string& name) {
  return SeverityOf(name) ? std::string() : "\"" + name + "\" is no severity of syslog";
}

}  // namespace

std::variant<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  options.parsers = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
  options.node.log_level = ergon::gen::LogLevel::kWarning;
  options.node.shutdown_timeout = 30s;  // for what has been read

  CLI::App app(kDescription, "logpipe");
  app.footer(kFooter)->allow_extras();
  app.formatter(std::make_shared<Help>());
  std::string unused;  // for the help: nothing gets there
  app.add_option(
         "FILE", unused,
         "Files, named pipes, or - for standard input, which is the default if there is no --udp")
      ->option_text("...")
      ->expected(0, 1)
      ->allow_extra_args(false);
  app.add_option("-u,--udp", options.udp,
                 "Take datagrams of a line each; 0: at a port that is free")
      ->type_name("PORT")
      ->option_text("PORT");
  app.add_option("-a,--address", options.address, "Where they come to; default: 127.0.0.1")
      ->type_name("IP")
      ->option_text("IP");
  app.add_option("-o,--output", options.output, "A file to append to; default: standard output")
      ->type_name("FILE")
      ->option_text("FILE");
  app.add_option("-m,--minimum",
                 "The least severity: debug (default), info, notice, warning, error, critical, "
                 "alert, emergency")
      ->type_name("SEVERITY")
      ->option_text("SEVERITY")
      ->check(CheckSeverity)
      ->each([&](const std::string& name) { options.minimum = *SeverityOf(name); });
  app.add_option("--parsers", options.parsers, "Workers of the pool; default: as many as cores")
      ->type_name("N")
      ->option_text("N")
      ->check(CLI::Range(1, kMaxParsers));
  app.add_option("--queue", options.queue,
                 "Lines that may wait at each, and before the output; default: 1000")
      ->type_name("N")
      ->option_text("N")
      ->check(CLI::Range(1, kMaxQueue));
  ergon::node::AddNodeOptions(app, options.node);
  std::string wrong;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help() << std::flush;
    return std::cout ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    wrong = error.what();
  }
  if (wrong.empty()) wrong = TakeFiles(app.remaining(), options.files);
  if (!wrong.empty()) {
    std::cerr << "logpipe: " << wrong << "\nTry 'logpipe --help'.\n";
    return kUsageError;
  }
  if (options.files.empty() && !options.udp) options.files.emplace_back("-");
  return options;
}

}  // namespace logpipe
