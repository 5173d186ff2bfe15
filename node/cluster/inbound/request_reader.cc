#include <ergon/node/cluster/inbound/request_reader.h>

#include <utility>

#include <ergon/node/process_state/unique_id.h>

namespace ergon::dist {

std::string_view AliasIn(std::string_view tag, std::size_t max_depth) {
  ControlReader reader(tag, max_depth);
  std::size_t size = 0;
  std::string_view head;
  std::string_view alias;
  if (!reader.ReadList(size) || size != 1) return {};
  if (reader.ReadAtom(head)) {
    if (head == "alias") (void)reader.ReadReference(alias);
    return alias;
  }
  if (!reader.ReadList(size) || size != 1 || !reader.ReadAtom(head) || head != "alias") return {};
  return reader.ReadReference(alias) ? alias : std::string_view();
}

bool ReadCaller(ControlReader& reader, gen::Atom peer, std::size_t max_depth,
                PeerState::Request& request) {
  std::size_t size = 0;
  std::string_view tag;
  if (!reader.ReadTuple(size) || size != 2 || !reader.ReadPid(peer, request.caller) ||
      !reader.ReadTerm(tag)) {
    return false;
  }
  request.tag = tag;
  request.alias = AliasIn(tag, max_depth);
  // The caller watches with the reference that it has made the request with.
  std::string_view reference;
  if (!request.alias.empty()) {
    request.watch = request.alias;
  } else if (ControlReader(tag, max_depth).ReadReference(reference)) {
    request.watch = reference;
  }
  return true;
}

std::uint64_t NoteRequest(Connection& connection, PeerState::Request request) {
  const std::uint64_t number = node::NextUniqueId();
  connection.Lock()->peer_state().AddRequest(number, std::move(request));
  return number;
}

}  // namespace ergon::dist
