// The command line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <string>
#include <thread>
#include <variant>

#include <CLI/CLI.hpp>

namespace jobs {

struct Options {
  std::string file = "-";
  std::size_t at_once = std::clamp(std::thread::hardware_concurrency(), 1U, 100U);
  int grace = 5;
};

// The options, or the exit status when there is nothing to do.
inline std::variant<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Runs the jobs of FILE, one per line; a line that begins with # is a comment:\n\n"
      "  name [after=name,name] [retries=N] [timeout=2s] : command words\n\n"
      "A job starts when those it comes after have succeeded; no shell sees its words. One that\n"
      "fails, or takes longer than its timeout (ms, s, m or h), is tried again after 100 ms, then\n"
      "200 ms, and so on. What comes after a job that has failed is skipped.\n");
  app.footer(
      "\nCtrl-C and SIGTERM end what runs in order, and nothing more starts; a second one kills "
      "it.\n"
      "Exit status: 0 all have succeeded; 1 some have not; 2 nothing was started: a wrong command\n"
      "line or list of jobs; 130 interrupted (143 by SIGTERM).");
  app.name("jobs");
  app.add_option("FILE", options.file, "default: -, standard input")->option_text(" ");
  app.add_option("-n,--at-once", options.at_once, "How many, up to 100; default: one per core")
      ->option_text("N")
      ->check(CLI::Range(1, 100));
  app.add_option("-g,--grace", options.grace, "Seconds from SIGTERM to SIGKILL; default: 5")
      ->option_text("N")
      ->check(CLI::Range(0, 3'600));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help() << std::flush;
    return std::cout ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    std::cerr << "jobs: " << error.what() << "\nTry 'jobs --help'.\n";
    return 2;
  }
  return options;
}

}  // namespace jobs
