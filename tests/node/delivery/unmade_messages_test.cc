#include <ergon/node/delivery/unmade_messages.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace ergon::node::unmade_messages_test {
namespace {

const gen::PID kFrom{7, gen::Atom("unmade@there"), 3};
const gen::PID kTo{9, gen::Atom("unmade@here"), 1};

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
    return core::MakeEnvelope<std::size_t>(static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage),
                                           core::Lane::kMain, bytes.size());
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

}  // namespace

TEST_CASE("unmade_messages: the same strings in their order, of every size") {
  Lengths maker;
  Gathering gathering(maker);
  for (std::size_t size = 0; size <= Gathering::kMostBytesOfOne; ++size) {
    const std::string bytes(size, static_cast<char>('a' + size % 26));
    gathering.Add(kFrom, kTo, nullptr, bytes);
    if (gathering.HasRoomFor(kTo) && size != Gathering::kMostBytesOfOne) continue;
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
  constexpr std::uint32_t kMessages = 40;
  for (const bool follows_at_once : {true, false}) {
    Lengths maker;
    Gathering gathering(maker);
    std::vector<std::size_t> expected;
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      const std::size_t size = i % 5 == 3 ? 0 : i + 1;
      gathering.Add(kFrom, kTo, &maker, std::string(size, 'x'));
      if (size != 0) expected.push_back(size);
    }
    const std::size_t all = expected.size();
    expected.push_back(1000);
    core::Mailbox mailbox;
    mailbox.Open(0);
    const auto push_last = [&] {
      core::EnvelopePtr last = maker.Make(&maker, std::string(1000, 'x'), kFrom, kTo);
      CHECK(mailbox.PushMain(last.release()) == core::PushOutcome::kPushed);
      maker.made = 0;
    };
    core::EnvelopePtr together = gathering.TakeEnvelope();
    CHECK(mailbox.PushTogether(together.release(), kMessages) == core::PushOutcome::kPushed);
    if (follows_at_once) push_last();
    std::vector<std::size_t> taken;
    while (core::Envelope* const envelope = mailbox.Pop()) {
      if (IsUnmade(*envelope)) {
        MakeInPlace(mailbox, *envelope);
        if (taken.empty()) CHECK(maker.made < all / 2);
        if (taken.empty() && !follows_at_once) push_last();
        continue;
      }
      taken.push_back(*envelope->ValueAs<std::size_t>());
      mailbox.Release(envelope);
    }
    CHECK(taken == expected);
    CHECK(mailbox.MainDepthApprox() == 0);
    CHECK(mailbox.Close().main == nullptr);
  }
}

TEST_CASE("unmade_messages: one receiver, and no more than there is room for") {
  Lengths maker;
  Gathering gathering(maker);
  const gen::PID other{10, kTo.node, 1};
  CHECK(gathering.HasRoomFor(other));
  for (std::uint32_t i = 0; i < Gathering::kMostMessages; ++i) {
    REQUIRE(gathering.HasRoomFor(kTo));
    gathering.Add(kFrom, kTo, nullptr, "short");
    CHECK_FALSE(gathering.HasRoomFor(other));
  }
  CHECK_FALSE(gathering.HasRoomFor(kTo));
  CHECK(gathering.to() == kTo);
}

TEST_CASE("unmade_messages: some that nobody makes leave nothing behind") {
  Lengths maker;
  Gathering gathering(maker);
  for (int i = 0; i < 10; ++i) gathering.Add(kFrom, kTo, nullptr, std::string(100, 'x'));
  (void)gathering.TakeEnvelope();  // the sanitizers would tell
}

}  // namespace ergon::node::unmade_messages_test
