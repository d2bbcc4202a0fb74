// The running daemon, over its admin socket.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "base/json_reader.hpp"
#include "base/result.hpp"
#include "cxlpoolctl/options.hpp"
#include "cxlpoolctl/verb.hpp"
#include "wire/messages.hpp"

namespace cxlpool::ctl {

void add_socket_option(OptionSet& set);

// --socket, else $CXLPOOL_ADMIN_SOCKET, else where the daemon puts it.
std::string socket_path(const OptionValues& values);

// --<option>: 64 hexadecimal digits, not all zero. Error: invalid_argument.
Result<void> read_digest(const OptionValues& values, const std::string& option, Digest256& digest);

// Errors: unavailable (nobody listens there; the message names the socket and the remedy), those of
// the daemon, as "not_permitted: ...".
Result<std::string> fetch_document(const OptionValues& values,
                                   const wire::DocumentRequest& request);
Result<std::string> fetch_document(const OptionValues& values, wire::Document kind);

// Errors of both: as fetch_document.
Result<void> adjudicate(const OptionValues& values, const wire::AdjudicateRequest& request);
Result<void> change_tenant(const OptionValues& values, const wire::TenantChangeRequest& request);

// The receipt. Waits as long as the erasure takes.
Result<std::string> forget_tenant(const OptionValues& values, const wire::ForgetRequest& request);

// How many connections it closed.
Result<std::uint32_t> reload(const OptionValues& values);

// Says why the daemon gave no answer; wrong usage keeps its own exit status.
int daemon_failure(Streams& streams, const Error& error);

// Shows one document of the daemon; the exit status is the verb's.
int show_document(const OptionValues& values, wire::Document kind,
                  void (*print)(std::ostream&, const json::Value&), Streams& streams);

}  // namespace cxlpool::ctl
