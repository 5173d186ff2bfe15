// A program that is started by the test, told lines and listened to.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

namespace ergon::chaos {

class Child {
 public:
  // Standard error goes to the file `errors`. It does not outlive this program. Throws std::system_error.
  Child(const std::vector<std::string>& words, const std::vector<std::string>& environment,
        const std::string& errors);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void Tell(const std::string& line);
  // Whether it has said this word, as a line. Takes what has come, and whether it has ended.
  [[nodiscard]] bool HasSaid(const std::string& word);
  // How it has ended, as waitpid tells; -1: it has not.
  [[nodiscard]] int Status();
  void Signal(int signal) const;
  // SIGKILL, and returns when it is gone.
  void Kill();

 private:
  void Listen();

  pid_t pid_ = 0;
  int in_ = -1;
  int out_ = -1;
  int status_ = -1;
  std::string said_;  // the line that is not complete
  std::set<std::string> words_;
};

}  // namespace ergon::chaos
