#include <bench/network/fire.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

#include <cluster/attackers.h>
#include <cluster/dialled.h>
#include <cluster/fake_epmd.h>
#include <ergon/node/cluster/handshake/epmd.h>

namespace ergon::bench {

void Attack(const std::string& peer, std::uint16_t port) {
  const char* const cookie = std::getenv("RELEASE_COOKIE");
  const dist::AttackedNode node{
      .name = peer, .port = [=] { return port; }, .cookie = cookie == nullptr ? "" : cookie};
  // Of another host: the EPMD of this one is an honest one.
  const char* const host = "127.0.0.2";
  dist::Dialled dialled(host);
  const dist::FakeEpmd epmd([&](std::string_view request) { return dialled.Answer(request); },
                            {asio::ip::make_address(host), dist::EpmdPort().value()});
  dist::Attackers attackers(node);
  dialled.Start(node);
  while (attackers.Rounds() == 0 || dialled.Rounds() == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::cout << "ready" << std::endl;  // NOLINT(performance-avoid-endl): somebody waits for it
  while (std::cin.get() != std::istream::traits_type::eof()) {
  }
  attackers.Stop();
  dialled.Stop();
  std::cout << attackers.ToString() << ", " << dialled.ToString() << "\n";
}

}  // namespace ergon::bench
