#include "job_list.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/core.h>

namespace jobs {

using namespace ergon;
using namespace std::chrono_literals;

namespace {

constexpr int kMaxRetries = 100;
constexpr std::size_t kMaxJobs = 10'000;

using Places = std::map<std::string, std::size_t>;  // in the list, by name

template <class... T>
gen::Error Wrong(fmt::format_string<T...> text, T&&... values) {
  return gen::Error(fmt::format(text, std::forward<T>(values)...));
}

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

gen::Result<void> SetField(Job& job, std::string_view field, const std::string& value) {
  int number = -1;
  const char* const end = value.data() + value.size();
  const std::string unit(std::from_chars(value.data(), end, number).ptr, end);
  if (field == "after") {
    std::istringstream names(value + ",");
    for (std::string name; std::getline(names, name, ',');) job.after.push_back(name);
  } else if (field == "retries") {
    job.retries = number;
    if (number < 0 || number > kMaxRetries || !unit.empty()) {
      return Wrong("retries: \"{}\" is not a number from 0 to {}", value, kMaxRetries);
    }
  } else {
    const std::map<std::string_view, std::chrono::milliseconds> units{
        {"ms", 1ms}, {"s", 1s}, {"m", 1min}, {"h", 1h}};
    if (units.contains(unit)) job.timeout = number * units.at(unit);
    if (!job.timeout || *job.timeout < 1ms || *job.timeout > 24h) {
      return Wrong("timeout: \"{}\" is not a time from 1ms to 24h, as 500ms, 2s or 3m", value);
    }
  }
  return {};
}

gen::Result<Job> ParseJob(const std::string& line) {
  if (std::ranges::any_of(line, [](unsigned char c) { return c != '\t' && std::iscntrl(c); })) {
    return Wrong("has control characters: write plain text, with '\\n' at the ends of lines");
  }
  Job job;
  std::istringstream words(line);
  words >> job.name;
  if (!IsName(job.name)) return Wrong("name: \"{}\" is not 1 to 64 of A-Z a-z 0-9 - _ .", job.name);
  std::set<std::string> given;
  std::string word;
  while (words >> word && word != ":") {
    const std::string field = word.substr(0, word.find('='));
    if (field == word || (field != "after" && field != "retries" && field != "timeout")) {
      return Wrong("\"{}\" is no after=, retries= or timeout=, nor the : before the command", word);
    }
    const std::string value = word.substr(field.size() + 1);
    if (!given.insert(field).second) return Wrong("{}: \"{}\" is a second one", field, value);
    if (auto set = SetField(job, field, value); !set) return set.error();
  }
  while (words >> word) job.command.push_back(word);
  if (job.command.empty()) return Wrong("command: is missing, with a : as a word before it");
  return job;
}

// Follows `after` from jobs[at]. Returns what is wrong with the circle that it comes to, or nothing.
std::string FindCircle(const std::vector<Job>& jobs, const Places& places, std::size_t at,
                       std::vector<std::size_t>& path, std::vector<bool>& is_done) {
  std::string circle;
  for (auto place = std::ranges::find(path, at); place != path.end(); ++place) {
    circle += jobs[*place].name + " after ";
  }
  if (!circle.empty()) {
    return fmt::format("line {}: after: a circle: {}{}", jobs[at].line, circle, jobs[at].name);
  }
  path.push_back(at);
  for (const std::string& name : jobs[at].after) {
    const std::size_t next = places.at(name);
    if (circle.empty() && !is_done[next]) circle = FindCircle(jobs, places, next, path, is_done);
  }
  path.pop_back();
  is_done[at] = true;
  return circle;
}

}  // namespace

gen::Result<std::vector<Job>> ReadJobs(std::istream& input) {
  std::vector<Job> jobs;
  Places places;
  std::string text;
  for (int line = 1; std::getline(input, text); ++line) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == text.npos || text[first] == '#') continue;
    auto job = ParseJob(text);
    if (!job) return Wrong("line {}: {}", line, job.error().detail());
    if (!places.emplace(job->name, jobs.size()).second) {
      return Wrong("line {}: name: \"{}\" is the name of another job", line, job->name);
    }
    if (jobs.size() == kMaxJobs) return Wrong("line {}: more than {} jobs", line, kMaxJobs);
    jobs.push_back(std::move(*job));
    jobs.back().line = line;
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    for (const std::string& name : jobs[i].after) {
      if (!places.contains(name)) return Wrong("line {}: after: no job \"{}\"", jobs[i].line, name);
      jobs[places.at(name)].next.push_back(i);
    }
  }
  std::vector<bool> is_done(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::vector<std::size_t> path;
    const std::string wrong = is_done[i] ? "" : FindCircle(jobs, places, i, path, is_done);
    if (!wrong.empty()) return gen::Error(wrong);
  }
  return jobs;
}

}  // namespace jobs
