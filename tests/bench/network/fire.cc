#include <bench/network/fire.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

#include <cluster/attackers.h>

namespace ergon::bench {

void Attack(const std::string& peer, std::uint16_t port) {
  const char* const cookie = std::getenv("RELEASE_COOKIE");
  dist::Attackers attackers(
      {.name = peer, .port = [=] { return port; }, .cookie = cookie == nullptr ? "" : cookie});
  while (attackers.Rounds() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::cout << "ready" << std::endl;  // NOLINT(performance-avoid-endl): somebody waits for it
  while (std::cin.get() != std::istream::traits_type::eof()) {
  }
  attackers.Stop();
  std::cout << attackers.ToString() << "\n";
}

}  // namespace ergon::bench
