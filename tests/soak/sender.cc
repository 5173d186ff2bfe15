#include <soak/sender.h>

#include <chrono>

namespace ergon::soak {

void SendTick(Book& book, gen::Process& self, bool at_once) {
  const Kind kind = at_once ? Kind::kSend : Kind::kDelayed;
  bool sent = false;
  if (at_once) {
    sent = static_cast<bool>(self.Send(self.Self(), Tick{book.Issue(kind)}));
  } else {
    sent = static_cast<bool>(
        self.SendAfter(self.Self(), Tick{book.Issue(kind)}, std::chrono::microseconds(200)));
  }
  if (sent) {
    book.Accepted(kind, nullptr);
  } else {
    book.Refused(kind);
  }
}

Sender::Sender(Stage* stage, Book* book, const std::vector<Destination>* destinations,
               std::uint64_t seed)
    : stage_(*stage), book_(*book), driver_(*stage, *book, *destinations, seed) {}

gen::Status Sender::Init(const gen::Args&) {
  SendTick(book_, Host(), true);
  return gen::Continue();
}

gen::Status Sender::HandleMessage(gen::PID from, gen::Message& message) {
  auto* tick = message.As<Tick>();
  if (tick == nullptr) return Actor::HandleMessage(from, message);
  tick->ticket.Start();
  if (stage_.stopping.load()) return gen::Stop(gen::Reason::Normal());
  const bool has_room = driver_.Act(Host());
  SendTick(book_, Host(), has_room);
  return gen::Continue();
}

}  // namespace ergon::soak
