// Exit reasons and errors as terms of Erlang, and back.
#pragma once

#include <string>
#include <string_view>

#include <ergon/gen/error.h>
#include <ergon/gen/reason.h>

namespace ergon::dist {

class AtomBudget;

// Appends an exit reason: normal, shutdown, killed, noproc, noconnection as these atoms; a panic as {panic, Text}; the
// user's own reason as an atom if it was made from an atom that is none of these, else as a binary, because the other
// node keeps every atom for ever.
void AppendReason(std::string& out, const gen::Reason& reason);
// Reads an exit reason. Other terms become an error of the user's own with their text, as Erlang prints them.
// An atom that is new to the program is made if `atoms` allow it, else it becomes a text, too.
[[nodiscard]] gen::Reason ReadReason(std::string_view term, AtomBudget* atoms = nullptr);

// Appends the answer to a failed request: {error, mailbox_full}, {error, {incorrect, <<"...">>}} if
// there is a detail, {error, {overloaded, Milliseconds}} if it is known when to try again, and the
// user's own error as in AppendReason: {error, <<"no such user">>}, made from an atom {error, no_such_user}.
void AppendError(std::string& out, const gen::Error& error);
// Reads the error from the term that stands behind `error` there. Other terms become an error of the user's own, as in
// ReadReason.
[[nodiscard]] gen::Error ReadError(std::string_view term, AtomBudget* atoms = nullptr);

}  // namespace ergon::dist
