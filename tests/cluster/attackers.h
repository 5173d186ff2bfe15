// Peers that ask a node for trouble, of every kind at once, each on a thread of its own and again and again.
//
// Some know the cookie and some do not. None of them needs more than the port of a node. Whatever they do, the node
// goes on for others; what it holds for them has bounds.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <ergon/node/cluster/groups/group_messages.h>
#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/erlang/terms/writer.h>

#include <cluster/gen_call.h>
#include <cluster/hostile_socket.h>
#include <cluster/victim.h>

namespace ergon::dist {

struct AttackedNode {
  std::string name;
  std::function<std::uint16_t()> port;  // 0: it does not listen now; any thread
  std::string cookie = "secret";
  // Functions that are registered there, as {"words", much}: with an answer of many bytes, and one with more than a
  // frame may have. They need not be there: then the answers are errors.
  std::string much = "much";
  std::string huge = "huge";
  // Links and monitors of the process kVictim, see victim.h; without it there is nobody to be linked with.
  std::uint64_t relations = 10'000;
  std::chrono::milliseconds pause{1};  // of each attacker, between two rounds
};

class Attackers {
 public:
  explicit Attackers(AttackedNode node) : node_(std::move(node)) {
    for (const auto& [name, round] : Kinds()) attacks_.emplace_back(name);
    for (std::size_t i = 0; i < attacks_.size(); ++i) {
      threads_.emplace_back([this, &attack = attacks_[i], round = Kinds()[i].second] {
        while (!stop_) {
          if ((this->*round)(attack)) ++attack.rounds;
          std::this_thread::sleep_for(node_.pause);
        }
      });
    }
  }
  ~Attackers() { Stop(); }
  Attackers(const Attackers&) = delete;
  Attackers& operator=(const Attackers&) = delete;

  void Stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  // How often the one that has succeeded least has gone all the way.
  [[nodiscard]] std::uint64_t Rounds() const {
    std::uint64_t least = ~std::uint64_t{0};
    for (const Attack& attack : attacks_) least = std::min(least, attack.rounds.load());
    return least;
  }
  // As in "idle 12, unread 3".
  [[nodiscard]] std::string ToString() const {
    std::string text;
    for (const Attack& attack : attacks_) {
      text += (text.empty() ? "" : ", ") + std::string(attack.name) + " " +
              std::to_string(attack.rounds.load());
    }
    return text;
  }

 private:
  struct Attack {
    explicit Attack(const char* of_kind) : name(of_kind) {}
    const char* const name;
    std::atomic<std::uint64_t> rounds{0};
    std::vector<std::unique_ptr<HostileSocket>> sockets;
    std::uint64_t number = 0;
  };
  using Round = bool (Attackers::*)(Attack&);
  static constexpr std::uint32_t kCreation = 77;
  static constexpr std::string_view kEmptyList = "j";
  static constexpr std::size_t kIdle = 80;  // more than a node lets wait
  static constexpr std::uint64_t kNames = 10'000;

  static const std::array<std::pair<const char*, Round>, 11>& Kinds() {
    static const std::array<std::pair<const char*, Round>, 11> kinds = {{
        {"idle", &Attackers::BeIdle},
        {"unproved", &Attackers::ProveNothing},
        {"nonsense", &Attackers::TalkNonsense},
        {"names", &Attackers::HaveManyNames},
        {"unread", &Attackers::AskAndNotRead},
        {"groups", &Attackers::LeaveGroups},
        {"claims", &Attackers::SpeakForOthers},
        {"frames", &Attackers::SendNoFrames},
        {"huge", &Attackers::AskForTooMuch},
        {"relations", &Attackers::HaveManyRelations},
        {"unlinks", &Attackers::UnlinkAcross},
    }};
    return kinds;
  }

  [[nodiscard]] std::unique_ptr<HostileSocket> Open() const {
    const std::uint16_t port = node_.port();
    if (port == 0) return nullptr;
    auto socket = std::make_unique<HostileSocket>(port, stop_);
    return socket->IsOpen() ? std::move(socket) : nullptr;
  }
  // One that has proved that it knows the cookie.
  [[nodiscard]] std::unique_ptr<HostileSocket> Connect(const std::string& name) const {
    auto socket = Open();
    if (socket == nullptr || !socket->ShakeHands(name, node_.name, node_.cookie)) return nullptr;
    return socket;
  }
  static std::string NameOf(const char* kind) { return std::string(kind) + "@127.0.0.1"; }
  static std::string ReferenceOf(const std::string& name, std::uint64_t number) {
    std::string term;
    AppendReference(term, number, gen::Atom(name), kCreation);
    return term;
  }
  // As gen_server:call does it, with a monitor.
  static void AppendCall(std::string& frames, const std::string& from, std::string_view name,
                         std::uint64_t number, const std::function<void(TermWriter&)>& request) {
    const gen::PID pid{3, gen::Atom(from), kCreation};
    const std::string reference = ReferenceOf(from, number);
    std::string call;
    TermWriter writer(call);
    BeginGenCall(writer, pid, reference);
    request(writer);
    Append(frames, {.kind = SignalKind::kMonitor, .from = pid, .name = name, .ref = reference});
    Append(frames, {.kind = SignalKind::kSendToName, .from = pid, .name = name, .payload = call});
  }
  // `arguments`: a list, as a term.
  static void AppendFunctionCall(std::string& frames, const std::string& from, std::uint64_t number,
                                 std::string_view module, const std::string& function,
                                 std::string_view arguments) {
    AppendCall(frames, from, "rex", number, [&](TermWriter& writer) {
      writer.Tuple(5);
      writer.Atom("call");
      writer.Atom(module);
      writer.Atom(function);
      writer.Raw(arguments);
      writer.Atom("user");
    });
  }
  static void AppendFunctionCall(std::string& frames, const std::string& from, std::uint64_t number,
                                 const std::string& function) {
    AppendFunctionCall(frames, from, number, "words", function, kEmptyList);
  }
  // Is answered when all before it has been handled.
  static void AppendPing(std::string& frames, const std::string& from, std::uint64_t number) {
    AppendCall(frames, from, "net_kernel", number, [&](TermWriter& writer) {
      writer.Tuple(2);
      writer.Atom("is_auth");
      writer.Atom(from);
    });
  }
  static void Append(std::string& frames, const Signal& signal) {
    AppendFrame(frames, signal, kOwnFlags & ~kFlagErgon);
  }

  // ---- without the cookie

  // More sockets than may wait that say nothing; those that are closed are opened anew.
  bool BeIdle(Attack& attack) {
    std::erase_if(attack.sockets, [](const auto& socket) { return socket->IsClosedByPeer(); });
    const bool had_to = attack.sockets.size() < kIdle;
    while (attack.sockets.size() < kIdle && !stop_) {
      auto socket = Open();
      if (socket == nullptr) return false;
      attack.sockets.push_back(std::move(socket));
    }
    return had_to;
  }
  bool ProveNothing(Attack& attack) {
    auto socket = Open();
    if (socket == nullptr) return false;
    const std::string name = "nobody" + std::to_string(++attack.number) + "@127.0.0.1";
    return !socket->ShakeHands(name, node_.name, "guessed") && !stop_;
  }
  bool TalkNonsense(Attack& attack) {
    auto socket = Open();
    if (socket == nullptr) return false;
    std::string bytes(300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(++attack.number * 2'654'435'761u >> 13);
    return socket->Write(bytes);
  }

  // ---- with it

  bool HaveManyNames(Attack& attack) {
    const std::string name = "many" + std::to_string(++attack.number % kNames) + "@127.0.0.1";
    const auto socket = Connect(name);
    return socket != nullptr;
  }
  // Until the node reads no more, or for long enough.
  bool AskAndNotRead(Attack& attack) {
    const std::string name = NameOf("unread");
    const auto socket = Connect(name);
    if (socket == nullptr) return false;
    constexpr int kQuestions = 200;
    constexpr int kBursts = 100;
    for (int burst = 0; burst < kBursts && !stop_; ++burst) {
      std::string frames;
      for (int i = 0; i < kQuestions; ++i) {
        AppendPing(frames, name, ++attack.number);
        AppendFunctionCall(frames, name, ++attack.number, node_.much);
      }
      if (!socket->WriteForAWhile(frames)) return true;
    }
    return !stop_;
  }
  // Of many groups at once, and asks for all members in the name of ever new ones.
  bool LeaveGroups(Attack& attack) {
    const std::string name = NameOf("groups");
    const auto socket = Connect(name);
    if (socket == nullptr) return false;
    const gen::PID scope{4, gen::Atom(name), kCreation};
    MembersByGroup members;
    for (int i = 0; i < 100; ++i) {
      members[gen::Atom("fire" + std::to_string(i))].insert({9, gen::Atom(name), kCreation});
    }
    std::string frames;
    const auto tell = [&](const std::string& term) {
      Append(
          frames,
          {.kind = SignalKind::kSendToName, .from = scope, .name = kGroupScope, .payload = term});
    };
    std::string term;
    AppendSync(term, scope, members);
    tell(term);
    term.clear();
    TermWriter writer(term);
    writer.Tuple(4);
    writer.Atom("leave");
    writer.Pid(scope);
    writer.List(1000);
    for (std::uint64_t i = 0; i < 1000; ++i) writer.Pid({100 + i, gen::Atom(name), kCreation});
    writer.Nil();
    writer.List(1000);
    for (int i = 0; i < 1000; ++i) writer.Atom("fire" + std::to_string(i % 100));
    writer.Nil();
    tell(term);
    for (std::uint64_t i = 0; i < 200; ++i) {
      term.clear();
      AppendDiscover(term, {4 + i % 2, gen::Atom(name), kCreation});
      tell(term);
    }
    AppendPing(frames, name, ++attack.number);
    return socket->Write(frames) && socket->AwaitText("yes");
  }
  bool SpeakForOthers(Attack& attack) {
    const std::string name = NameOf("claims");
    const auto socket = Connect(name);
    if (socket == nullptr) return false;
    const gen::PID third{5, gen::Atom("third@127.0.0.1"), 9};
    std::string term;
    TermWriter(term).Atom("news");
    std::string lie;
    AppendDiscover(lie, third);
    std::string frames;
    for (int i = 0; i < 100; ++i) {
      const std::string_view payload = i % 2 == 0 ? term : lie;
      Append(frames, {.kind = SignalKind::kSendToName,
                      .from = third,
                      .name = i % 2 == 0 ? "nobody" : kGroupScope,
                      .payload = payload});
    }
    AppendPing(frames, name, ++attack.number);
    if (!socket->Write(frames) || !socket->AwaitText("yes")) return false;
    frames.clear();
    const gen::PID victim{1, gen::Atom(node_.name), 1};
    Append(frames, {.kind = SignalKind::kLink, .from = third, .to = victim});
    return socket->Write(frames) && socket->AwaitEnd();
  }
  // One that begins and has no end, one that is far too long, and what is none.
  bool SendNoFrames(Attack& attack) {
    const auto socket = Connect(NameOf("frames"));
    if (socket == nullptr) return false;
    switch (++attack.number % 3) {
      case 0:
        return socket->Write(std::string("\0\0\1\0p\x83", 6));
      case 1:
        return socket->Write("\xff\xff\xff\xff") && socket->AwaitEnd();
      default:
        return socket->Write(std::string("\0\0\0\4p\x83\x68\xff", 8)) && socket->AwaitEnd();
    }
  }
  bool AskForTooMuch(Attack& attack) {
    const std::string name = NameOf("huge");
    const auto socket = Connect(name);
    if (socket == nullptr) return false;
    std::string frames;
    AppendFunctionCall(frames, name, ++attack.number, node_.huge);
    return socket->Write(frames) && socket->AwaitText("badrpc");
  }
  // Asks where the victim is, as rpc:call does it. False: it is closed.
  bool FindVictim(HostileSocket& socket, const std::string& name, gen::PID& victim) const {
    const std::uint64_t number = 2 * node_.relations;  // of no monitor
    std::string list;
    TermWriter writer(list);
    writer.List(1);
    writer.Atom(kVictim);
    writer.Nil();
    std::string frames;
    AppendFunctionCall(frames, name, number, "erlang", "whereis", list);
    const std::string reference = ReferenceOf(name, number);
    std::string frame;
    if (!socket.Write(frames) || !socket.AwaitFrame("h\2" + reference, frame)) return false;
    TermReader answer(std::string_view(frame).substr(frame.find("h\2" + reference)));
    std::size_t size = 0;
    answer.EnterTuple(size);
    answer.Skip();
    const auto found = answer.ReadPid();
    victim = found ? *found : gen::PID{1'000'000, gen::Atom(node_.name), 1};
    return true;
  }
  // Those with odd numbers are links, the others monitors. False: it is closed.
  bool TellRelations(HostileSocket& socket, const std::string& name, gen::PID victim,
                     std::uint64_t last, SignalKind link, SignalKind monitor) const {
    constexpr std::uint64_t kTogether = 1000;
    std::string frames;
    for (std::uint64_t i = 1; i <= last; ++i) {
      const gen::PID from{i, gen::Atom(name), kCreation};
      const std::string reference = ReferenceOf(name, i);
      if (i % 2 != 0) {
        Append(frames, {.kind = link, .from = from, .to = victim, .id = i});
      } else {
        Append(frames, {.kind = monitor, .from = from, .to = victim, .ref = reference});
      }
      if (i != last && i % kTogether != 0) continue;
      if (!socket.Write(frames)) return false;
      frames.clear();
    }
    return true;
  }
  // Of one process, of which half are ended and the others lost.
  bool HaveManyRelations(Attack& attack) {
    const std::string name = NameOf("relations");
    const auto socket = Connect(name);
    gen::PID victim;
    if (socket == nullptr || !FindVictim(*socket, name, victim)) return false;
    const auto tell = [&](std::uint64_t last, SignalKind link, SignalKind monitor) {
      return TellRelations(*socket, name, victim, last, link, monitor);
    };
    std::string ping;
    AppendPing(ping, name, 2 * node_.relations + ++attack.number);
    return tell(node_.relations, SignalKind::kLink, SignalKind::kMonitor) &&
           tell(node_.relations / 2, SignalKind::kUnlink, SignalKind::kDemonitor) &&
           socket->Write(ping) && socket->AwaitText("yes");
  }
  // The victim ends each link, and before it is told so, the peer ends it, makes it again, and acknowledges what it was
  // not told.
  bool UnlinkAcross(Attack& attack) {
    const std::string name = NameOf("unlinks");
    const auto socket = Connect(name);
    gen::PID victim;
    if (socket == nullptr || !FindVictim(*socket, name, victim)) return false;
    std::string word;
    TermWriter(word).Atom("unlink");
    std::string frames;
    for (std::uint64_t i = 1; i <= node_.relations / 10; ++i) {
      const gen::PID from{i, gen::Atom(name), kCreation};
      const auto say = [&](SignalKind kind, std::uint64_t id) {
        Append(frames, {.kind = kind, .from = from, .to = victim, .id = id});
      };
      say(SignalKind::kLink, 0);
      Append(frames, {.kind = SignalKind::kSend, .from = from, .to = victim, .payload = word});
      say(SignalKind::kUnlink, i);
      say(SignalKind::kLink, 0);
      say(SignalKind::kUnlinkAck, i);
      say(SignalKind::kUnlinkAck, ~std::uint64_t{0} >> 1);
      say(SignalKind::kUnlink, i);
      if (i % 2 == 0) say(SignalKind::kLink, 0);
    }
    AppendPing(frames, name, 2 * node_.relations + ++attack.number);
    return socket->Write(frames) && socket->AwaitText("yes");
  }

  const AttackedNode node_;
  std::atomic<bool> stop_{false};
  std::deque<Attack> attacks_;
  std::vector<std::thread> threads_;
};

}  // namespace ergon::dist
