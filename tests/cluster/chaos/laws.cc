#include <cluster/chaos/laws.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/core.h>

namespace ergon::chaos {
namespace {

using Words = std::vector<std::string_view>;

Words WordsOf(std::string_view line) {
  Words words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

std::int64_t NumberOf(std::string_view word) {
  std::int64_t number = -1;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

struct Message {
  bool sent = false;
  bool important = false;
  bool unsure = false;  // an important one whose connection was lost: nobody knows
  bool refused = false;
  int handled = 0;
};

// Messages of one sender to one receiver, while one monitor lasts.
struct Session {
  const NodeLedger* owner = nullptr;
  std::string node;
  bool tight = false;  // to a mailbox that drops what it has no room for
  std::vector<Message> messages;
  std::size_t covered = 0;  // so many were sent when its monitor told of a lost connection
  std::size_t closed = 0;   // so many must have been handled: the receiver has said so

  Message& At(std::int64_t number) {
    const auto index = static_cast<std::size_t>(std::max<std::int64_t>(number, 1));
    if (messages.size() < index) messages.resize(index);
    return messages[index - 1];
  }
};

// The same as one incarnation of the receiver sees it.
struct Reception {
  bool opened = false;
  bool lost = false;  // its own monitor has told
  bool has_gap = false;
  std::int64_t last = 0;
};

struct Watch {
  const NodeLedger* owner = nullptr;
  std::string node;
  int signals = 0;
  bool undone = false;
};

// To an event of another node. Its values are numbers, each the next one.
struct Subscription {
  const NodeLedger* owner = nullptr;
  std::string node;
  std::int64_t last = 0;
  std::int64_t latest = 0;  // had been published before an answer of the publisher's that came
  std::uint64_t missing = 0;
  std::uint64_t values = 0;
  int ends = 0;
};

// A process that was spawned on another node.
struct Child {
  const NodeLedger* owner = nullptr;
  std::string node;
  bool is_linked = false;
  int outcomes = 0;
  bool spawned = false;
  int downs = 0;
  int exits = 0;
};

struct Call {
  const NodeLedger* owner = nullptr;
  std::string node;
  bool hasty = false;  // has a time-out
  bool async = false;  // nobody waits, not even for room on the way
  int outcomes = 0;
  bool answered = false;
  std::string error;
  int handled = 0;
};

class Trial {
 public:
  explicit Trial(const std::vector<NodeLedger>& ledgers) : ledgers_(ledgers) {
    for (const NodeLedger& ledger : ledgers) {
      ++incarnations_[ledger.node];
      if (ledger.killed) ++killed_[ledger.node];
    }
  }

  Judgement Decide() {
    for (const NodeLedger& ledger : ledgers_) Read(ledger);
    for (auto& [name, session] : sessions_) DecideSession(name, session);
    for (const auto& [name, call] : calls_) DecideCall(name, call);
    for (const auto& [name, watch] : watches_) DecideWatch(name, watch);
    for (auto& [name, subscription] : subscriptions_) DecideSubscription(name, subscription);
    for (const auto& [name, child] : children_) DecideChild(name, child);
    for (const auto& [node, lost] : lost_at_) {
      if (lost > dropped_at_[node]) {
        Broken(
            "sent, not handled, and nobody has counted it",
            fmt::format("{} messages to {}, which has dropped {}", lost, node, dropped_at_[node]));
      }
    }
    Check(!has_packing_node_ || judgement_.tally.packed != 0, "nothing has travelled packed",
          "of all values");
    for (const auto& [law, examples] : broken_) {
      judgement_.broken.push_back(fmt::format(
          "{}: {}{}", law, examples.first,
          examples.second == 1 ? "" : fmt::format(" (and {} more)", examples.second - 1)));
    }
    return std::move(judgement_);
  }

 private:
  void Broken(const std::string& law, const std::string& example) {
    auto& examples = broken_[law];
    if (examples.second++ == 0) examples.first = example;
  }
  void Check(bool holds, const char* law, const std::string& example) {
    if (!holds) Broken(law, example);
  }
  [[nodiscard]] bool WasRestarted(const std::string& node) { return incarnations_[node] > 1; }

  void Read(const NodeLedger& ledger) {
    std::unordered_map<std::string, Reception> receptions;
    bool ended = false;
    for (const std::string& line : ledger.lines) {
      const Words words = WordsOf(line);
      if (words.empty()) continue;
      ended = words[0] == "end";
      if (!ReadSender(ledger, words) && !ReadSubscriber(ledger, words) &&
          !ReadSpawner(ledger, words) && !ReadReceiver(words, receptions) &&
          !ReadNode(ledger, words)) {
        Broken("a line that nobody understands", line);
      }
    }
    Check(ended || ledger.killed, "a node has not come to its end", ledger.node);
    for (const auto& [name, reception] : receptions) {
      Check(!reception.has_gap || (ledger.erlang && reception.lost),
            "a message is missing on a connection that was not lost", name);
    }
  }

  bool ReadSender(const NodeLedger& ledger, const Words& words) {
    const std::string name(words.size() > 1 ? words[1] : "");
    if (words[0] == "session" && words.size() == 4) {
      Session& session = sessions_[name];
      session.owner = &ledger;
      session.node = words[2];
      session.tight = words[3] == "tight";
    } else if (words[0] == "sent" && words.size() == 4) {
      Message& message = sessions_[name].At(NumberOf(words[2]));
      message.sent = true;
      message.important = words[3] == "important";
    } else if (words[0] == "unsure" && words.size() == 3) {
      sessions_[name].At(NumberOf(words[2])).unsure = true;
    } else if (words[0] == "refused" && words.size() == 4) {
      sessions_[name].At(NumberOf(words[2])).refused = true;
      Check(words[3] == "noconnection" || words[3] == "incarnation",
            "a message was refused for no reason", fmt::format("{} {}", name, words[3]));
    } else if (words[0] == "closed" && words.size() == 3) {
      sessions_[name].closed = static_cast<std::size_t>(NumberOf(words[2]));
    } else if (words[0] == "watch" && words.size() == 3) {
      watches_[name].owner = &ledger;
      watches_[name].node = words[2];
    } else if (words[0] == "signal" && words.size() == 3) {
      ReadSignal(name, words[2]);
    } else if (words[0] == "unwatch" && words.size() == 2) {
      watches_[name].undone = true;
    } else if (words[0] == "call" && words.size() == 5) {
      Call& call = calls_[CallName(words)];
      call.owner = &ledger;
      call.node = words[3];
      call.hasty = words[4] == "hasty";
      call.async = words[4] == "async";
    } else if (words[0] == "answer" && words.size() == 4) {
      Call& call = calls_[CallName(words)];
      ++call.outcomes;
      call.answered = true;
      Check(words[3] == words[2], "the answer to another question",
            fmt::format("{}: {}", CallName(words), words[3]));
    } else if (words[0] == "error" && words.size() == 4) {
      Call& call = calls_[CallName(words)];
      ++call.outcomes;
      call.error = words[3];
    } else {
      return false;
    }
    return true;
  }

  bool ReadSubscriber(const NodeLedger& ledger, const Words& words) {
    if (words.size() != 3) return false;
    const std::string name(words[1]);
    if (words[0] == "subscribe") {
      Subscription& subscription = subscriptions_[name];
      subscription.owner = &ledger;
      subscription.node = words[2];
      return true;
    }
    const bool is_of_one = words[0] == "value" || words[0] == "latest" || words[0] == "event_end" ||
                           words[0] == "no_event";
    if (!is_of_one) return false;
    Subscription& subscription = subscriptions_[name];
    if (words[0] == "value") {
      ReadValue(name, subscription, NumberOf(words[2]));
    } else if (words[0] == "latest") {
      subscription.latest = NumberOf(words[2]);
    } else {
      ++subscription.ends;
      const bool has_begun = words[0] == "event_end";
      const bool is_unknown = words[2] == "unknown" && WasRestarted(subscription.node);
      // To subscribe has a time-out of its own, which a handshake that is cut may last longer than.
      Check(words[2] == "noconnection" || (!has_begun && (is_unknown || words[2] == "timeout")),
            "a subscription has ended for no reason", fmt::format("{} {}", name, words[2]));
    }
    return true;
  }

  void ReadValue(const std::string& name, Subscription& subscription, std::int64_t number) {
    ++subscription.values;
    Check(number > subscription.last, "a value came twice, or was overtaken by a later one",
          fmt::format("{} {} after {}", name, number, subscription.last));
    Check(subscription.ends == 0, "a value after the end of its subscription", name);
    if (subscription.last != 0 && number > subscription.last + 1) {
      subscription.missing += static_cast<std::uint64_t>(number - subscription.last - 1);
    }
    subscription.last = number;
  }

  // What finds no room on its way is dropped and counted; nobody knows what one that was killed has counted.
  void DecideSubscription(const std::string& name, Subscription& subscription) {
    if (subscription.owner == nullptr) {
      Broken("values of nobody", name);
      return;
    }
    Check(subscription.ends <= 1, "a subscription has ended twice", name);
    if (subscription.latest > subscription.last) {
      subscription.missing += static_cast<std::uint64_t>(subscription.latest - subscription.last);
    }
    ++judgement_.tally.subscriptions;
    judgement_.tally.values += subscription.values;
    if (killed_[subscription.node] == 0) lost_at_[subscription.node] += subscription.missing;
  }

  bool ReadSpawner(const NodeLedger& ledger, const Words& words) {
    const std::string name(words.size() > 1 ? words[1] : "");
    if (words[0] == "spawn" && words.size() == 4) {
      Child& child = children_[name];
      child.owner = &ledger;
      child.node = words[2];
      child.is_linked = words[3] == "linked";
    } else if (words[0] == "spawned" && words.size() == 2) {
      children_[name].spawned = true;
      ++children_[name].outcomes;
    } else if (words[0] == "no_spawn" && words.size() == 3) {
      ++children_[name].outcomes;
      Check(words[2] == "noconnection", "a process was not spawned for no reason",
            fmt::format("{} {}", name, words[2]));
    } else if ((words[0] == "child_down" || words[0] == "child_exit") && words.size() == 3) {
      Child& child = children_[name];
      ++(words[0] == "child_down" ? child.downs : child.exits);
      Check(words[2] == "noconnection" || words[2] == "normal" || words[2] == "told",
            "a spawned process has ended for no reason", fmt::format("{} {}", name, words[2]));
    } else {
      return false;
    }
    return true;
  }

  void DecideChild(const std::string& name, const Child& child) {
    if (child.owner == nullptr) {
      Broken("the end of what nobody has spawned", name);
      return;
    }
    ++judgement_.tally.spawns;
    if (child.spawned) ++judgement_.tally.children;
    Check(child.outcomes == 1 || (child.outcomes == 0 && child.owner->killed),
          "a spawn has another number of outcomes than one",
          fmt::format("{}: {}", name, child.outcomes));
    const int ends = child.spawned ? 1 : 0;
    Check(child.downs == ends || (child.downs == 0 && child.owner->killed),
          "the end of a spawned process was told another number of times than once",
          fmt::format("{}: {}", name, child.downs));
    const int exits = child.is_linked ? ends : 0;
    Check(child.exits == exits || (child.exits == 0 && child.owner->killed),
          "a link with a spawned process has told another number of times than once",
          fmt::format("{}: {}", name, child.exits));
  }

  static std::string CallName(const Words& words) {
    return fmt::format("{}:{}", words[1], words[2]);
  }

  void ReadSignal(const std::string& name, std::string_view reason) {
    Watch& watch = watches_[name];
    ++watch.signals;
    Check(!watch.undone, "a signal of what was ended before", name);
    Check(reason == "noconnection" || (reason == "noproc" && WasRestarted(watch.node)),
          "a signal with a wrong reason", fmt::format("{} {}", name, reason));
    const auto session = sessions_.find(name);
    if (session != sessions_.end() && reason == "noconnection") {
      session->second.covered = session->second.messages.size();
    }
  }

  bool ReadReceiver(const Words& words, std::unordered_map<std::string, Reception>& receptions) {
    const std::string name(words.size() > 1 ? words[1] : "");
    if (words[0] == "opened" && words.size() == 2) {
      receptions[name].opened = true;
    } else if ((words[0] == "lost" || words[0] == "ended") && words.size() == 2) {
      receptions[name].lost = true;
    } else if (words[0] == "got" && words.size() == 3) {
      Reception& reception = receptions[name];
      const std::int64_t number = NumberOf(words[2]);
      ++sessions_[name].At(number).handled;
      Check(number > reception.last, "a message was overtaken by a later one",
            fmt::format("{} {} after {}", name, number, reception.last));
      // On another connection there may be a gap; that is told of before anything comes on it. A mailbox that drops
      // messages is never opened.
      if (reception.opened && !reception.lost && number > reception.last + 1) {
        reception.has_gap = true;
      }
      reception.last = std::max(reception.last, number);
    } else if (words[0] == "asked" && words.size() == 3) {
      ++calls_[CallName(words)].handled;
    } else {
      return false;
    }
    return true;
  }

  bool ReadNode(const NodeLedger& ledger, const Words& words) {
    if (words[0] == "balance" && words.size() == 4) {
      Check(words[1] == "0", "a node's messages are not balanced",
            fmt::format("{}: {} unaccounted", ledger.node, words[1]));
      Check(words[2] == "0", "messages wait at a node that has ended",
            fmt::format("{}: {}", ledger.node, words[2]));
      dropped_at_[ledger.node] = static_cast<std::uint64_t>(NumberOf(words[3]));
    } else if (words[0] == "packed" && words.size() == 2) {
      has_packing_node_ = true;
      judgement_.tally.packed += static_cast<std::uint64_t>(NumberOf(words[1]));
    } else if (words[0] == "left" && words.size() == 3) {
      Check(words[2] == "0", "something is left over",
            fmt::format("{}: {} {}", ledger.node, words[2], words[1]));
    } else {
      return words[0] == "end";
    }
    return true;
  }

  void DecideSession(const std::string& name, Session& session) {
    if (session.owner == nullptr) {
      Broken("messages of nobody", name);
      return;
    }
    Tally& tally = judgement_.tally;
    for (std::size_t i = 0; i < session.messages.size(); ++i) {
      const Message& message = session.messages[i];
      const std::string which = fmt::format("{} {}", name, i + 1);
      const bool covered = i < session.covered;
      Check(message.handled <= 1, "a message was handled twice", which);
      if (message.handled != 0) {
        Check(message.sent || message.unsure || session.owner->killed,
              message.refused ? "a message was refused, and handled nevertheless"
                              : "a message was handled that nobody has sent",
              which);
      }
      if (!message.sent) continue;
      ++tally.sent;
      if (message.handled != 0) {
        ++tally.handled;
        continue;
      }
      Check(i >= session.closed || covered, "the receiver had all, but one is missing", which);
      Check(
          !message.important || (killed_[session.node] != 0 && (covered || session.owner->killed)),
          "an important message has arrived, but was not handled", which);
      if (covered) {
        ++tally.covered;
      } else if (session.owner->killed) {
        ++tally.unknown;
      } else if (session.tight) {
        ++tally.dropped;
        ++lost_at_[session.node];
      } else {
        Broken("sent, not handled, and its sender was not told of a lost connection", which);
      }
    }
  }

  void DecideCall(const std::string& name, const Call& call) {
    if (call.owner == nullptr) {
      Broken("a call of nobody", name);
      return;
    }
    Tally& tally = judgement_.tally;
    ++tally.calls;
    Check(call.outcomes == 1 || (call.outcomes == 0 && call.owner->killed),
          "a call has another number of outcomes than one",
          fmt::format("{}: {}", name, call.outcomes));
    Check(call.handled <= 1, "a request was handled twice", name);
    if (call.answered) {
      ++tally.answers;
      Check(call.handled != 0, "an answer to what nobody has handled", name);
      return;
    }
    if (call.error.empty()) return;
    ++tally.errors[call.error];
    Check(call.error != "busy" || call.handled == 0,
          "a request was refused, and handled nevertheless", name);
    // Where a node is started anew, a name may come about between the question whether it is there and the request.
    Check(call.error == "noconnection" || (call.error == "timeout" && call.hasty) ||
              (call.error == "busy" && call.async) ||
              (call.error == "unknown" && WasRestarted(call.node)),
          "a call has failed for no reason", fmt::format("{}: {}", name, call.error));
  }

  void DecideWatch(const std::string& name, const Watch& watch) {
    if (watch.owner == nullptr) {
      Broken("a signal of what nobody has made", name);
      return;
    }
    Tally& tally = judgement_.tally;
    ++tally.watches;
    tally.signals += static_cast<std::uint64_t>(watch.signals);
    if (watch.undone) ++tally.undone;
    const int expected = watch.undone ? 0 : 1;
    Check(watch.signals == expected || (watch.signals == 0 && watch.owner->killed) ||
              (watch.undone && watch.signals > 0),  // told above
          "a monitor or link has another number of signals than one",
          fmt::format("{}: {}", name, watch.signals));
  }

  const std::vector<NodeLedger>& ledgers_;
  std::map<std::string, int> incarnations_;  // by node
  std::map<std::string, int> killed_;
  std::unordered_map<std::string, Session> sessions_;
  std::unordered_map<std::string, Watch> watches_;
  std::unordered_map<std::string, Call> calls_;
  std::unordered_map<std::string, Subscription> subscriptions_;
  std::unordered_map<std::string, Child> children_;
  std::map<std::string, std::uint64_t> lost_at_;     // by node: told by senders
  std::map<std::string, std::uint64_t> dropped_at_;  // counted by the node
  bool has_packing_node_ = false;                    // that has come to its end
  std::map<std::string, std::pair<std::string, int>> broken_;
  Judgement judgement_;
};

}  // namespace

Judgement Judge(const std::vector<NodeLedger>& ledgers) { return Trial(ledgers).Decide(); }

}  // namespace ergon::chaos
