// Reads OpenMetrics text as strictly as its specification is, as far as gauges, counters, infos and histograms go.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ergon::node::observer_test {

// Throws std::runtime_error, which names the line, for what is not valid.
class MetricsReader {
 public:
  explicit MetricsReader(std::string_view text) {
    if (!text.ends_with("\n# EOF\n")) throw std::runtime_error("no # EOF at the end");
    text.remove_suffix(std::string_view("# EOF\n").size());
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      line_ = text.substr(0, end);
      line_.starts_with("# ") ? ReadAbout() : ReadSample();
      text.remove_prefix(end + 1);
    }
  }

  // By name and labels as written, as in `x_total{reason="expired"}`.
  [[nodiscard]] double operator[](const std::string& sample) const {
    const auto found = samples_.find(sample);
    if (found == samples_.end()) throw std::runtime_error("no sample " + sample);
    return found->second;
  }
  [[nodiscard]] bool Has(const std::string& sample) const { return samples_.contains(sample); }
  // Of all samples of that name.
  [[nodiscard]] double Sum(const std::string& name) const {
    double sum = 0;
    for (const auto& [sample, value] : samples_) {
      if (sample.substr(0, sample.find('{')) == name) sum += value;
    }
    return sum;
  }
  [[nodiscard]] std::size_t Samples() const { return samples_.size(); }

 private:
  void Require(bool condition, const char* what) const {
    if (!condition) throw std::runtime_error(std::string(what) + ": " + std::string(line_));
  }
  std::string Word(std::string_view& rest) const {
    const std::size_t size = std::min(rest.find(' '), rest.size());
    std::string word(rest.substr(0, size));
    rest.remove_prefix(std::min(rest.size(), size + 1));
    Require(!word.empty(), "a word is missing");
    return word;
  }
  void ReadAbout() {
    std::string_view rest = line_.substr(2);
    const std::string what = Word(rest);
    const std::string name = Word(rest);
    if (what == "TYPE") {
      Require(families_.insert(name).second, "a family a second time");
      Require(std::ranges::all_of(name, IsNameCharacter), "an odd name");
      family_ = name;
      type_ = Word(rest);
      const bool is_known =
          type_ == "gauge" || type_ == "counter" || type_ == "info" || type_ == "histogram";
      Require(is_known, "an unknown type");
      Require(!name.ends_with("_total") && !name.ends_with("_info"), "a suffix in a family's name");
      has_samples_ = false;
      return;
    }
    Require(name == family_ && !has_samples_, "not at the beginning of its family");
    Require(what == "HELP" || what == "UNIT", "an unknown line");
    if (what == "UNIT") Require(name.ends_with("_" + Word(rest)), "not the unit of the name");
    if (what == "HELP") Require(!rest.empty(), "no help");
  }
  void ReadSample() {
    has_samples_ = true;
    std::size_t end = std::min(line_.find('{'), line_.find(' '));
    Require(end != std::string_view::npos, "no value");
    const std::string name(line_.substr(0, end));
    Require(IsOfFamily(name), "not a name of the family before");
    if (line_[end] == '{') end = ReadLabels(end + 1);
    Require(end < line_.size() && line_[end] == ' ', "no space before the value");
    std::size_t used = 0;
    const std::string text(line_.substr(end + 1));
    const double value = std::stod(text, &used);
    Require(used == text.size(), "no number");
    Require(type_ != "counter" || value >= 0, "a negative counter");
    Require(samples_.emplace(std::string(line_.substr(0, end)), value).second, "a sample twice");
  }
  [[nodiscard]] bool IsOfFamily(const std::string& name) const {
    if (type_ == "histogram") {
      return name == family_ + "_bucket" || name == family_ + "_sum" || name == family_ + "_count";
    }
    return name == family_ + (type_ == "counter" ? "_total" : type_ == "info" ? "_info" : "");
  }
  // From behind the brace; returns where the other brace ends.
  std::size_t ReadLabels(std::size_t at) const {
    std::set<std::string> names;
    for (;;) {
      const std::size_t equals = line_.find("=\"", at);
      Require(equals != std::string_view::npos, "no value of a label");
      const std::string name(line_.substr(at, equals - at));
      Require(!name.empty() && std::ranges::all_of(name, IsNameCharacter), "an odd label");
      Require(names.insert(name).second, "a label twice");
      at = equals + 2;
      for (; at < line_.size() && line_[at] != '"'; ++at) {
        if (line_[at] != '\\') continue;
        ++at;
        Require(at < line_.size() && std::string_view("\\\"n").find(line_[at]) < 3,
                "an odd escape");
      }
      Require(at + 1 < line_.size(), "a label without an end");
      if (line_[at + 1] == '}') return at + 2;
      Require(line_[at + 1] == ',', "no comma between labels");
      at += 2;
    }
  }
  static bool IsNameCharacter(char byte) {
    return std::islower(static_cast<unsigned char>(byte)) != 0 || byte == '_' ||
           (byte >= '0' && byte <= '9');
  }

  std::string_view line_;
  std::string family_;
  std::string type_;
  bool has_samples_ = false;
  std::set<std::string> families_;
  std::map<std::string, double> samples_;
};

}  // namespace ergon::node::observer_test
