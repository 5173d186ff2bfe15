// The outcomes of calls of functions as terms, as Erlang's modules erpc and rpc know them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <ergon/gen/error.h>
#include <ergon/node/erlang/term.h>

namespace ergon::dist {

// The process of a call by erpc ends with the outcome as its reason.

// Returns {Tag, return, Value}.
[[nodiscard]] std::string ReturnTerm(std::string_view tag, const Term& value);
// Returns {Tag, error, Reason, Stack}, where the stack is the function that has failed.
[[nodiscard]] std::string ErrorTerm(std::string_view tag, std::string_view reason,
                                    std::string_view module, std::string_view function,
                                    std::size_t arity);
// Returns the reason for ErrorTerm.
[[nodiscard]] std::string OutcomeReason(const gen::Error& error);

// Appends the outcome of a call by rpc that has failed: {badrpc, {error, Why}}.
void AppendBadCall(std::string& out, const gen::Error& error);

}  // namespace ergon::dist
