#include <ergon/node/delivery/unmade_messages.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/messages/envelope_pool.h>
#include <ergon/core/messages/envelope_sizes.h>
#include <ergon/core/messages/mailbox_turn.h>

namespace ergon::node::unmade_messages_test {
namespace {

const gen::PID kFrom{7, gen::Atom("unmade@there"), 3};
const gen::PID kTo{9, gen::Atom("unmade@here"), 1};

core::EnvelopePtr MakeLength(std::size_t length) {
  return core::MakeEnvelope<std::size_t>(static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage),
                                         core::Lane::kMain, length);
}

// Makes the number of bytes, and of none nothing.
class Lengths final : public MessageMaker {
 public:
  core::EnvelopePtr Make(const void* type, std::string_view bytes, gen::PID from,
                         gen::PID to) override {
    CHECK(type == this);
    CHECK(from == kFrom);
    CHECK(to == kTo);
    if (bytes.empty()) return nullptr;
    ++made;
    return MakeLength(bytes.size());
  }

  std::size_t made = 0;
};

std::vector<core::EnvelopePtr> TakeAll(core::EnvelopeList list) {
  std::vector<core::EnvelopePtr> all;
  for (core::Envelope* next = list.head; next != nullptr;) {
    all.emplace_back(next);
    next = next->next;
  }
  return all;
}

// When a message is pushed behind those that came together. Only if none is there at once, their envelope is the marker
// of the mailbox while it is handled.
enum class Follows { kAtOnce, kLater, kNot };

// A mailbox with messages that came together, some of which nobody makes.
struct SomeTogether {
  explicit SomeTogether(Follows when) : follows(when) {
    constexpr std::uint32_t kMessages = 40;
    Gathering gathering(maker);
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      const std::size_t length = i % 5 == 3 ? 0 : i + 1;
      gathering.Add(kFrom, kTo, &maker, std::string(length, 'x'));
      if (length != 0) expected.push_back(length);
    }
    mailbox.Open(0);
    core::EnvelopePtr together = gathering.TakeEnvelope();
    CHECK(mailbox.PushTogether(together.release(), kMessages) == core::PushOutcome::kPushed);
    if (follows == Follows::kAtOnce) PushLast();
    if (follows != Follows::kNot) expected.push_back(kLastLength);
  }

  void PushLast() {
    CHECK(mailbox.PushMain(MakeLength(kLastLength).release()) == core::PushOutcome::kPushed);
  }
  void Note(const core::Envelope& message) { taken.push_back(*message.ValueAs<std::size_t>()); }
  // Takes as many messages.
  void Take(std::size_t count) {
    while (taken.size() < count) {
      core::Envelope* const envelope = mailbox.Pop();
      REQUIRE(envelope != nullptr);
      if (IsUnmade(*envelope)) {
        MakeInPlace(mailbox, *envelope);
        if (taken.empty()) CHECK(maker.made < expected.size() / 2);
        if (taken.empty() && follows == Follows::kLater) PushLast();
        continue;
      }
      Note(*envelope);
      mailbox.Release(envelope);
    }
  }

  static constexpr std::size_t kLastLength = 1000;

  const Follows follows;
  Lengths maker;
  core::Mailbox mailbox;
  std::vector<std::size_t> expected;
  std::vector<std::size_t> taken;
};

}  // namespace

TEST_CASE("unmade_messages: the same strings in their order, of every size") {
  Lengths maker;
  Gathering gathering(maker);
  for (std::size_t size = 0; size <= Gathering::kMostBytesOfOne; ++size) {
    const std::string bytes(size, static_cast<char>('a' + size % 26));
    gathering.Add(kFrom, kTo, nullptr, bytes);
    if (gathering.HasRoomFor(kTo, size + 1) && size != Gathering::kMostBytesOfOne) continue;
    const std::uint32_t count = gathering.size();
    const core::EnvelopePtr envelope = gathering.TakeEnvelope();
    CHECK(gathering.size() == 0);
    REQUIRE(IsUnmade(*envelope));
    envelope->generation = 5;
    const MadeMessages made = MakeMessages(*envelope);
    CHECK(made.missing == 0);
    const auto all = TakeAll(made.list);
    REQUIRE(all.size() == count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t its_size = size + 1 - count + i;
      const auto* text = all[i]->ValueAs<std::string>();
      REQUIRE(text != nullptr);
      CHECK(*text == std::string(its_size, static_cast<char>('a' + its_size % 26)));
      CHECK(all[i]->kind == static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage));
      CHECK(all[i]->lane == core::Lane::kMain);
      CHECK(gen::PID::FromAddress(all[i]->from) == kFrom);
      CHECK(all[i]->generation == 5);
    }
  }
}

TEST_CASE("unmade_messages: what is no string is made by who gathers, or is missing") {
  Lengths maker;
  Gathering gathering(maker);
  for (const char* const bytes : {"", "123", "", "1", "12", ""}) {
    gathering.Add(kFrom, kTo, &maker, bytes);
  }
  const core::EnvelopePtr envelope = gathering.TakeEnvelope();
  const MadeMessages made = MakeMessages(*envelope);
  CHECK(made.missing == 3);
  const auto all = TakeAll(made.list);
  REQUIRE(all.size() == 3);
  CHECK(*all[0]->ValueAs<std::size_t>() == 3);
  CHECK(*all[1]->ValueAs<std::size_t>() == 1);
  CHECK(*all[2]->ValueAs<std::size_t>() == 2);
}

TEST_CASE("unmade_messages: in a mailbox a few at a time, in their order, before what follows") {
  for (const Follows follows : {Follows::kAtOnce, Follows::kLater, Follows::kNot}) {
    CAPTURE(static_cast<int>(follows));
    SomeTogether together(follows);
    together.Take(together.expected.size());
    CHECK(together.taken == together.expected);
    CHECK(together.mailbox.Pop() == nullptr);
    CHECK(together.mailbox.MainDepthApprox() == 0);
    CHECK(together.mailbox.Close().main == nullptr);
  }
}

TEST_CASE("unmade_messages: a mailbox is closed when a few are made and fewer are taken") {
  for (const Follows follows : {Follows::kAtOnce, Follows::kLater, Follows::kNot}) {
    CAPTURE(static_cast<int>(follows));
    SomeTogether together(follows);
    together.Take(3);
    const std::size_t made = together.maker.made;
    CHECK(made > 3);
    const core::Mailbox::Rest rest = together.mailbox.Close();
    std::uint32_t found = 0;
    std::uint32_t unmade = 0;
    for (core::Envelope* next = rest.main; next != nullptr;) {
      const core::EnvelopePtr envelope(next);
      next = next->next;
      if (!IsUnmade(*envelope)) {
        ++found;
        together.Note(*envelope);
        continue;
      }
      ++unmade;
      CHECK(together.taken.size() == made);  // behind those that are made
      const MadeMessages rest_made = MakeMessages(*envelope);
      found += rest_made.missing;
      for (const core::EnvelopePtr& message : TakeAll(rest_made.list)) {
        ++found;
        together.Note(*message);
      }
    }
    CHECK(unmade == 1);
    CHECK(together.taken == together.expected);
    CHECK(found == rest.main_messages);
    CHECK(rest.express == nullptr);
  }
}

TEST_CASE("unmade_messages: one receiver, and no more than there is room for") {
  Lengths maker;
  Gathering gathering(maker);
  const gen::PID other{10, kTo.node, 1};
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{5}, std::size_t{97}, Gathering::kMostBytesOfOne}) {
    CAPTURE(size);
    CHECK(gathering.HasRoomFor(other, size));
    while (gathering.HasRoomFor(kTo, size)) {
      gathering.Add(kFrom, kTo, nullptr, std::string(size, 'x'));
      CHECK_FALSE(gathering.HasRoomFor(other, size));
      REQUIRE(gathering.size() <= Gathering::kMostMessages);
    }
    CHECK(gathering.size() > 5);
    CHECK(gathering.to() == kTo);
    (void)gathering.TakeEnvelope();
  }
}

TEST_CASE("unmade_messages: short ones travel in a block of the pool") {
  Lengths maker;
  Gathering gathering(maker);
  while (gathering.HasRoomFor(kTo, 16)) gathering.Add(kFrom, kTo, nullptr, std::string(16, 'x'));
  CHECK(gathering.size() > 10);
  std::uint8_t largest = 0;
  void* const block =
      core::AllocateEnvelope(core::kEnvelopeClasses * core::kEnvelopeAlignment, largest);
  core::FreeEnvelope(block, largest);
  CHECK(gathering.TakeEnvelope()->size_class == largest);
}

TEST_CASE("unmade_messages: each has its own sender and kind") {
  Lengths maker;
  const gen::PID other{8, kFrom.node, 3};
  Gathering gathering(maker);
  std::vector<gen::PID> senders;
  for (std::size_t i = 1; gathering.HasRoomFor(kTo, i); ++i) {
    const bool is_string = i % 3 == 0;
    senders.push_back(is_string && i % 2 == 0 ? other : kFrom);
    gathering.Add(senders.back(), kTo, is_string ? nullptr : &maker, std::string(i, 'x'));
  }
  const core::EnvelopePtr envelope = gathering.TakeEnvelope();
  const auto all = TakeAll(MakeMessages(*envelope).list);
  REQUIRE(all.size() == senders.size());
  for (std::size_t i = 1; i <= all.size(); ++i) {
    CAPTURE(i);
    core::Envelope& message = *all[i - 1];
    CHECK(gen::PID::FromAddress(message.from) == senders[i - 1]);
    if (i % 3 == 0) {
      REQUIRE(message.ValueAs<std::string>() != nullptr);
      CHECK(message.ValueAs<std::string>()->size() == i);
    } else {
      REQUIRE(message.ValueAs<std::size_t>() != nullptr);
      CHECK(*message.ValueAs<std::size_t>() == i);
    }
  }
}

TEST_CASE("unmade_messages: some that nobody makes leave nothing behind") {
  Lengths maker;
  Gathering gathering(maker);
  for (int i = 0; i < 10; ++i) gathering.Add(kFrom, kTo, nullptr, std::string(100, 'x'));
  (void)gathering.TakeEnvelope();  // the sanitizers would tell
}

}  // namespace ergon::node::unmade_messages_test
