// What CAF 0.17, which Debian 12 has, and CAF 1.0 and newer say in different ways.
#pragma once

#include <utility>

#include <caf/all.hpp>

#if CAF_MAJOR_VERSION >= 1  // CAF_VERSION does not tell: it is 0100 in 1.1.0, and 1706 in 0.17.6

CAF_BEGIN_TYPE_ID_BLOCK(ergon_bench, caf::first_custom_type_id)
CAF_ADD_ATOM(ergon_bench, ergon::bench::on_caf, Begin)
CAF_END_TYPE_ID_BLOCK(ergon_bench)

namespace ergon::bench::on_caf {

using Timeout = caf::timespan;
constexpr const char* kSettings = "caf.";  // what the names of settings begin with

inline void Start() {
  caf::init_global_meta_objects<caf::id_block::ergon_bench>();
  caf::core::init_global_meta_objects();
}
inline const char* Policy(bool sharing) { return sharing ? "sharing" : "stealing"; }

template <class... Args>
void Tell(caf::event_based_actor& from, const caf::actor& to, Args&&... args) {
  from.mail(std::forward<Args>(args)...).send(to);
}
template <class... Args>
void TellFromNoActor(const caf::actor& to, Args&&... args) {
  caf::anon_mail(std::forward<Args>(args)...).send(to);
}
template <class... Args>
auto Ask(caf::event_based_actor& from, const caf::actor& to, Timeout timeout, Args&&... args) {
  return from.mail(std::forward<Args>(args)...).request(to, timeout);
}
// CAF 1.1 says that pools will go.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
template <class Factory>
caf::actor MakePool(caf::actor_system& system, std::size_t workers, Factory factory) {
  return caf::actor_pool::make(system, workers, factory, caf::actor_pool::round_robin());
}
#pragma GCC diagnostic pop

}  // namespace ergon::bench::on_caf

#else

namespace ergon::bench::on_caf {

using Begin = caf::atom_constant<caf::atom("begin")>;
using Timeout = caf::duration;
constexpr const char* kSettings = "";

inline void Start() {}
inline caf::atom_value Policy(bool sharing) {
  return sharing ? caf::atom("sharing") : caf::atom("stealing");
}

template <class... Args>
void Tell(caf::event_based_actor& from, const caf::actor& to, Args&&... args) {
  from.send(to, std::forward<Args>(args)...);
}
template <class... Args>
void TellFromNoActor(const caf::actor& to, Args&&... args) {
  caf::anon_send(to, std::forward<Args>(args)...);
}
template <class... Args>
auto Ask(caf::event_based_actor& from, const caf::actor& to, Timeout timeout, Args&&... args) {
  return from.request(to, timeout, std::forward<Args>(args)...);
}
template <class Factory>
caf::actor MakePool(caf::actor_system& system, std::size_t workers, Factory factory) {
  caf::scoped_execution_unit here(&system);
  return caf::actor_pool::make(&here, workers, factory, caf::actor_pool::round_robin());
}

}  // namespace ergon::bench::on_caf

#endif

namespace ergon::bench::on_caf {

template <class... Args>
void TellToBegin(const caf::actor& to, Args&&... args) {
  TellFromNoActor(to, Begin{}, std::forward<Args>(args)...);
}

}  // namespace ergon::bench::on_caf
