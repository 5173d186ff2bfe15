#include <ergon/gen/atom.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

static_assert(std::is_trivially_copyable_v<Atom>);
static_assert(sizeof(Atom) == 4);

TEST_CASE("atom: equal exactly when the text is") {
  const Atom worker("worker");
  CHECK(worker == Atom(std::string("worker")));
  CHECK(worker == Atom(std::string_view("workers", 6)));
  CHECK(worker != Atom("Worker"));
  CHECK(worker.Text() == "worker");
  CHECK(worker.ToString() == "worker");
  CHECK(Atom::FromIndex(worker.Index()) == worker);
}

TEST_CASE("atom: the empty one") {
  CHECK(Atom().empty());
  CHECK(Atom("").empty());
  CHECK(Atom() == Atom(""));
  CHECK(Atom().Index() == 0);
  CHECK(Atom().Text() == "");
  CHECK_FALSE(Atom("x").empty());
}

TEST_CASE("atom: any bytes, at most 255") {
  const std::string zeros("a\0b", 3);
  CHECK(Atom(zeros).Text() == zeros);
  CHECK(Atom(zeros) != Atom("a"));
  const std::string longest(Atom::kMaxBytes, 'x');
  CHECK(Atom(longest).Text() == longest);
  CHECK_THROWS_WITH_AS(
      Atom(longest + "y"),
      ("atom: 256 bytes, at most 255 are possible: " + std::string(40, 'x') + "...").c_str(),
      std::length_error);
}

TEST_CASE("atom: one that exists is found, and looking for others makes none") {
  CHECK(Atom::Find("") == Atom());
  CHECK(Atom::Find("atom test: found") == std::nullopt);
  CHECK(Atom::Find("atom test: found") == std::nullopt);
  const Atom made("atom test: found");
  CHECK(Atom::Find("atom test: found") == made);
  CHECK(Atom::Find(std::string(Atom::kMaxBytes + 1, 'x')) == std::nullopt);
}

TEST_CASE("atom: texts stay where they are") {
  const std::string_view text = Atom("atom test: stays").Text();
  for (int i = 0; i < 5000; ++i) (void)Atom("atom test: filler " + std::to_string(i));
  CHECK(text.data() == Atom("atom test: stays").Text().data());
  CHECK(text == "atom test: stays");
}

TEST_CASE("atom: in the order of creation") {
  const Atom first("atom test: z");
  const Atom second("atom test: a");
  CHECK(first < second);
  CHECK(second > first);
}

TEST_CASE("atom: formatted and hashed") {
  CHECK(fmt::format("[{}] [{:>6}]", Atom("abc"), Atom("abc")) == "[abc] [   abc]");
  const std::unordered_set<Atom> set{"a", "b", "a"};
  CHECK(set.size() == 2);
}

TEST_CASE("atom: made by many threads at once") {
  constexpr int kThreads = 4;
  constexpr int kTexts = 20'000;
  // All make the same texts, each in an order of its own, and read those that the others have made.
  std::vector<std::vector<Atom>> made(kThreads, std::vector<Atom>(kTexts));
  std::vector<std::atomic<std::uint32_t>> published(kTexts);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<int> order(kTexts);
      for (int i = 0; i < kTexts; ++i) order[static_cast<std::size_t>(i)] = i;
      std::shuffle(order.begin(), order.end(), std::minstd_rand(static_cast<unsigned>(t) + 1));
      for (const int number : order) {
        const auto place = static_cast<std::size_t>(number);
        const std::string text = "atom test: shared " + std::to_string(number);
        if (const std::uint32_t index = published[place].load(std::memory_order_acquire)) {
          if (Atom::FromIndex(index).Text() != text) wrong.fetch_add(1);
        }
        const Atom atom(text);
        if (atom.Text() != text) wrong.fetch_add(1);
        made[static_cast<std::size_t>(t)][place] = atom;
        published[place].store(atom.Index(), std::memory_order_release);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  for (int t = 1; t < kThreads; ++t) CHECK(made[static_cast<std::size_t>(t)] == made[0]);
  CHECK(std::unordered_set<Atom>(made[0].begin(), made[0].end()).size() == kTexts);
}

}  // namespace
}  // namespace ergon::gen
