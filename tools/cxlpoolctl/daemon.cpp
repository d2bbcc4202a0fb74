#include "cxlpoolctl/daemon.hpp"

#include <cstdlib>
#include <ostream>

#include "base/units.hpp"
#include "client/connection.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/source.hpp"

namespace cxlpool::ctl {
namespace {

// The code is the stable part of what the daemon answers: scripts look for it.
Error with_code(Error error) {
    const std::string_view code = errc_name(error.code());
    return std::move(error).with_context(code);
}

Result<client::Connection> connect(const OptionValues& values,
                                   std::uint32_t timeout_ms = client::kDefaultTimeoutMs) {
    wire::HelloRequest hello;
    hello.engine_name = "cxlpoolctl";
    Result<client::Connection> connection =
        client::Connection::connect(socket_path(values), hello, timeout_ms);
    // A tenant is what an engine acts as; operators act as none.
    if (connection && connection->greeting().tenant != 0) {
        return Error{Errc::not_permitted, "'" + socket_path(values) +
                                              "' is the engine socket; operators use admin.sock"};
    }
    return connection;
}

// For what is answered without a body.
Result<void> ask_for(const OptionValues& values, const wire::RequestBody& request) {
    Result<client::Connection> connection = connect(values);
    if (!connection) {
        return with_code(std::move(connection).error());
    }
    Result<wire::EmptyReply> reply = connection->ask<wire::EmptyReply>(request);
    if (!reply) {
        return with_code(std::move(reply).error());
    }
    return {};
}

}  // namespace

int daemon_failure(Streams& streams, const Error& error) {
    const bool usage = error.code() == Errc::invalid_argument || error.code() == Errc::unknown_word;
    return fail(streams, error, usage ? kExitUsage : kExitNo);
}

void add_socket_option(OptionSet& set) {
    set.value(
        "socket", "PATH",
        "the daemon's admin socket (default: $CXLPOOL_ADMIN_SOCKET, else\n" CXLPOOL_ADMIN_SOCKET
        ")");
}

std::string socket_path(const OptionValues& values) {
    if (const std::optional<std::string> given = values.value("socket")) {
        return *given;
    }
    const char* from_environment = std::getenv("CXLPOOL_ADMIN_SOCKET");
    return from_environment != nullptr && *from_environment != '\0' ? from_environment
                                                                    : CXLPOOL_ADMIN_SOCKET;
}

Result<void> read_digest(const OptionValues& values, const std::string& option, Digest256& digest) {
    const std::string text = values.value(option).value_or("");
    if (!from_hex(text, digest.bytes.data(), digest.bytes.size())) {
        return Error{Errc::invalid_argument, "--" + option + ": '" + text + "' is no digest of " +
                                                 std::to_string(2 * digest.bytes.size()) +
                                                 " hexadecimal digits"};
    }
    if (!digest.present()) {
        return Error{Errc::invalid_argument, "--" + option + ": all zeros is no digest"};
    }
    return {};
}

Result<std::string> fetch_document(const OptionValues& values,
                                   const wire::DocumentRequest& request) {
    Result<client::Connection> connection = connect(values);
    if (!connection) {
        return with_code(std::move(connection).error());
    }
    Result<std::string> document = connection->fetch_document(request);
    return document ? std::move(document) : with_code(std::move(document).error());
}

Result<void> adjudicate(const OptionValues& values, const wire::AdjudicateRequest& request) {
    return ask_for(values, request);
}

Result<void> change_tenant(const OptionValues& values, const wire::TenantChangeRequest& request) {
    return ask_for(values, request);
}

Result<std::string> forget_tenant(const OptionValues& values, const wire::ForgetRequest& request) {
    // Overwriting a large pool takes minutes; who is tired of waiting presses ^C, and it goes on.
    constexpr std::uint32_t kLongestMs = UINT32_MAX;
    Result<client::Connection> connection = connect(values, kLongestMs);
    if (!connection) {
        return with_code(std::move(connection).error());
    }
    Result<wire::ForgetReply> reply = connection->ask<wire::ForgetReply>(request);
    if (!reply) {
        return with_code(std::move(reply).error());
    }
    return std::move(reply->receipt);
}

Result<std::uint32_t> reload(const OptionValues& values) {
    Result<client::Connection> connection = connect(values);
    if (!connection) {
        return with_code(std::move(connection).error());
    }
    const Result<wire::ReloadReply> reply =
        connection->ask<wire::ReloadReply>(wire::ReloadRequest{});
    if (!reply) {
        return with_code(reply.error());
    }
    return reply->connections_closed;
}

Result<std::string> fetch_document(const OptionValues& values, wire::Document kind) {
    wire::DocumentRequest request;
    request.kind = kind;
    return fetch_document(values, request);
}

int show_document(const OptionValues& values, wire::Document kind,
                  void (*print)(std::ostream&, const json::Value&), Streams& streams) {
    const Result<std::string> document = fetch_document(values, kind);
    if (!document) {
        return daemon_failure(streams, document.error());
    }
    if (values.has("json")) {
        print_json(streams.out, *document);
        return kExitOk;
    }
    const Result<json::Value> parsed = parse_document("the daemon's answer", *document);
    if (!parsed) {
        return fail(streams, parsed.error());
    }
    print(streams.out, *parsed);
    return kExitOk;
}

}  // namespace cxlpool::ctl
