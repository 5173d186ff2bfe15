// JSON, with RapidJSON: for the observer's page, for lines of the log.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/node/texts/clean_text.h>

namespace ergon::node {

// Writes one object: its members one after the other, in one line. Texts are made UTF-8 of bounded length, but for
// PutWhole. One thread.
class JsonWriter {
 public:
  JsonWriter() { writer_.StartObject(); }
  void Begin(const char* key) {
    writer_.Key(key);
    writer_.StartObject();
  }
  void End() { writer_.EndObject(); }
  // A list of objects: `put` puts the members of each element.
  template <class Elements, class Put>
  void PutList(const char* key, const Elements& elements, Put put) {
    writer_.Key(key);
    writer_.StartArray();
    for (const auto& element : elements) {
      writer_.StartObject();
      put(element);
      writer_.EndObject();
    }
    writer_.EndArray();
  }

  void Put(const char* key, std::unsigned_integral auto value) {
    writer_.Key(key);
    writer_.Uint64(value);
  }
  void Put(const char* key, std::signed_integral auto value) {
    writer_.Key(key);
    writer_.Int64(value);
  }
  // A number that is not known, 0, is null.
  void PutIfKnown(const char* key, std::signed_integral auto value) {
    if (value != 0) return Put(key, value);
    writer_.Key(key);
    writer_.Null();
  }
  void Put(const char* key, double value) {
    writer_.Key(key);
    writer_.Double(value);
  }
  void Put(const char* key, bool value) {
    writer_.Key(key);
    writer_.Bool(value);
  }
  void Put(const char* key, std::string_view text) {
    writer_.Key(key);
    Text(text);
  }
  // A text of any length, with its control characters.
  void PutWhole(const char* key, std::string_view text) {
    writer_.Key(key);
    const std::string valid = ValidText(text);
    writer_.String(valid.data(), static_cast<rapidjson::SizeType>(valid.size()));
  }
  void Put(const char* key, gen::Atom name) { Put(key, std::string_view(name.ToString())); }
  void Put(const char* key, const char* text) = delete;  // it would be a bool
  // A PID is a text for people, and "id" its number, a text as well: JavaScript has no integers of 64 bits.
  void PutPid(gen::PID pid) {
    Put("pid", std::string_view(pid ? pid.ToString() : ""));
    Put("id", std::string_view(std::to_string(pid.id)));
  }
  // A list of objects with the members of PutPid, of the first `most`.
  void PutPids(const char* key, const std::vector<gen::PID>& pids, std::size_t most) {
    PutList(key, std::span(pids).first(std::min(pids.size(), most)),
            [this](gen::PID pid) { PutPid(pid); });
  }
  // With a key of a user's.
  void PutAny(std::string_view key, std::string_view text) {
    const std::string clean = CleanText(key, kLongestText);
    writer_.Key(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
    Text(text);
  }
  void Text(std::string_view text) {
    const std::string clean = CleanText(text, kLongestText);
    writer_.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
  }

  // Ends the object and returns it.
  [[nodiscard]] std::string Take() {
    writer_.EndObject();
    return {buffer_.GetString(), buffer_.GetSize()};
  }

 private:
  static constexpr std::size_t kLongestText = 2'000;  // bytes

  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

}  // namespace ergon::node
