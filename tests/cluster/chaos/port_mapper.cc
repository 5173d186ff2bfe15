#include <cluster/chaos/port_mapper.h>

#include <array>
#include <utility>

#include <asio/buffer.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>

#include <ergon/node/erlang/terms/big_endian.h>

namespace ergon::chaos {
namespace {

using asio::ip::tcp;
using dist::AppendBigEndian;
using dist::ReadBigEndian;

// Requests and answers, as in node/cluster/handshake/epmd.cc.
constexpr char kRegister = 120;
constexpr char kRegistered = 118;
constexpr char kLookUp = 122;
constexpr char kFound = 119;
constexpr std::size_t kRegisteredLengthAt = 9;  // in a registration

}  // namespace

struct PortMapper::Client {
  Client(std::string asking, tcp::socket accepted)
      : node(std::move(asking)), socket(std::move(accepted)) {}
  const std::string node;
  tcp::socket socket;
  std::array<char, 2> length{};
  std::string request;
  std::string answer;
  std::string registered;  // the node whose connection this is
};

PortMapper::PortMapper(asio::io_context& context, const std::vector<std::string>& nodes, Told told)
    : told_(std::move(told)) {
  const tcp::endpoint any_port(asio::ip::make_address("127.0.0.1"), 0);
  for (const std::string& node : nodes) {
    acceptors_.emplace(node, tcp::acceptor(context, any_port));
    Accept(node);
  }
}

std::uint16_t PortMapper::PortFor(const std::string& node) const {
  return acceptors_.at(node).local_endpoint().port();
}

std::uint16_t PortMapper::PortOf(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? 0 : found->second.port;
}

void PortMapper::Accept(const std::string& node) {
  acceptors_.at(node).async_accept([this, node](const asio::error_code& error, tcp::socket socket) {
    if (error) return;
    Take(std::make_shared<Client>(node, std::move(socket)));
    Accept(node);
  });
}

void PortMapper::Take(const std::shared_ptr<Client>& client) {
  const auto gone = [this, client] {
    const auto found = nodes_.find(client->registered);
    if (found != nodes_.end() && found->second.by == client.get()) nodes_.erase(found);
  };
  asio::async_read(
      client->socket, asio::buffer(client->length),
      [this, client, gone](const asio::error_code& error, std::size_t) {
        if (error) {
          gone();
          return;
        }
        client->request.resize(
            ReadBigEndian<std::uint16_t>({client->length.data(), client->length.size()}));
        asio::async_read(client->socket, asio::buffer(client->request),
                         [this, client, gone](const asio::error_code& problem, std::size_t) {
                           if (problem) {
                             gone();
                             return;
                           }
                           client->answer = AnswerTo(client->request, client);
                           asio::async_write(client->socket, asio::buffer(client->answer),
                                             [this, client](const asio::error_code&, std::size_t) {
                                               // Who has asked for a port is done; who is registered stays.
                                               if (client->registered.empty()) {
                                                 asio::error_code ignored;
                                                 client->socket.close(ignored);
                                               } else {
                                                 Take(client);
                                               }
                                             });
                         });
      });
}

std::string PortMapper::AnswerTo(const std::string& request,
                                 const std::shared_ptr<Client>& client) {
  std::string answer;
  if (request.empty()) return answer;
  if (request.front() == kRegister && request.size() > kRegisteredLengthAt + 2) {
    const auto size =
        ReadBigEndian<std::uint16_t>(std::string_view(request).substr(kRegisteredLengthAt));
    const std::string name = request.substr(kRegisteredLengthAt + 2, size);
    const bool taken = nodes_.contains(name);
    if (!taken) {
      nodes_[name] = {ReadBigEndian<std::uint16_t>(std::string_view(request).substr(1)),
                      client.get()};
      client->registered = name;
    }
    answer += kRegistered;
    answer += taken ? '\1' : '\0';
    AppendBigEndian(answer, ++creation_);
  } else if (request.front() == kLookUp) {
    const std::string name = request.substr(1);
    answer += kFound;
    const std::uint16_t port = PortOf(name) == 0 ? std::uint16_t{0} : told_(client->node, name);
    answer += port == 0 ? '\1' : '\0';
    if (port == 0) return answer;
    AppendBigEndian(answer, port);
    answer += 'M';   // a node that is not hidden
    answer += '\0';  // TCP
    AppendBigEndian(answer, std::uint16_t{6});
    AppendBigEndian(answer, std::uint16_t{5});
    AppendBigEndian(answer, static_cast<std::uint16_t>(name.size()));
    answer += name;
    AppendBigEndian(answer, std::uint16_t{0});
  }
  return answer;
}

}  // namespace ergon::chaos
