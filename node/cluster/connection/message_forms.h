// In which form a value goes to another node: as a term, or packed.
#pragma once

#include <utility>

#include <ergon/gen/atom.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/values/packed_types.h>
#include <ergon/node/cluster/values/values.h>

namespace ergon::dist {

// Returns the form that the peer takes; the errors of PackedTypes::FormFor. With the lock of the connection.
[[nodiscard]] inline gen::Result<Form> FormFor(const Values::Writer& how, Connection& connection) {
  if (how.packed == nullptr) return Form::kTerm;
  return PackedTypes::FormFor(*how.packed, how.write != nullptr, connection.peer_state().packs,
                              connection.MaySayPacks(), connection.peer());
}

// Sets `form` to FormFor. The type is packed.
[[nodiscard]] inline gen::Result<void> SelectForm(Form& form, const Values::Writer& how,
                                                  Connection& connection) {
  if (connection.peer_state().packs.Of(how.packed->index).what == PeerPacks::What::kTheSame)
      [[likely]] {
    form = Form::kPacked;
    return {};
  }
  auto taken = FormFor(how, connection);
  if (!taken) return std::move(taken.error());
  form = *taken;
  return {};
}

// Calls send(tried, form) with the form that a value is to be written in. `send` finds out with the lock of the
// connection whether the peer takes another form (SelectForm); then it sends nothing, and is called again.
template <class Send>
gen::Result<void> SendInForm(const Values::Writer& how, gen::Atom node, Send send) {
  Form form = Form::kTerm;
  if (how.packed == nullptr) [[likely]]
    return send(form, form);
  form = how.write == nullptr ? Form::kPacked : how.packed->hints.Of(node);
  for (;;) {
    const Form tried = form;
    auto sent = send(tried, form);
    if (form == tried) return sent;
    how.packed->hints.Note(node, form);
  }
}

}  // namespace ergon::dist
