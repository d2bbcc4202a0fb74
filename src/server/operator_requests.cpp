// What operators and adjudicators ask for.
#include <spdlog/spdlog.h>

#include "server/documents.hpp"
#include "server/server.hpp"
#include "server/wire_context.hpp"
#include "topology/report.hpp"
#include "topology/rules.hpp"

namespace cxlpool {
namespace {

std::vector<std::string> pool_names(const std::vector<ServedPool>& pools) {
    std::vector<std::string> out;
    for (const ServedPool& served : pools) {
        out.push_back(served.pool->name());
    }
    return out;
}

}  // namespace

void Server::adjudicate(Session& session, std::uint64_t cookie,
                        const wire::AdjudicateRequest& request) {
    Answer answer = judge_cell(session, request);
    if (!answer) {
        reply(session, wire::Type::adjudicate, cookie, std::move(answer));
        return;
    }
    // Before the answer: when the operator hears it, every holder can see it, and it outlives a
    // crash.
    settle();
    reply_when_kept(session, wire::Type::adjudicate, cookie, std::move(answer));
}

Server::Answer Server::judge_cell(const Session& session, const wire::AdjudicateRequest& request) {
    // Who runs the machine may take a cell away, but only an adjudicator may call one good.
    const bool poison = request.decision == wire::Decision::poison;
    if (!session.has_role(Role::adjudicator) && !(poison && session.has_role(Role::admin))) {
        return Error{Errc::not_permitted, poison ? "poisoning needs the role adjudicator or admin"
                                                 : "this needs the role adjudicator"};
    }
    Judgement judgement = Judgement::poison;
    switch (request.decision) {
        case wire::Decision::trust:
            judgement = Judgement::trust;
            break;
        case wire::Decision::taint:
            judgement = Judgement::taint;
            break;
        case wire::Decision::poison:
            break;
    }
    const TenantId owner{request.owner};
    std::optional<ContentDigest> expected;
    if (request.expected.present()) {
        expected = request.expected;
    }
    const Result<CellId> cell =
        registry_.adjudicate(owner, request.span, CellId{request.cell}, expected, judgement,
                             session.peer.uid, clock_.wall());
    if (!cell) {
        return cell.error();
    }
    audit_.adjudicated(session.peer.uid, owner, *cell, request.span, judgement);
    return Reply(wire::EmptyReply{});
}

void Server::document(Session& session, std::uint64_t cookie,
                      const wire::DocumentRequest& request) {
    constexpr wire::Type kType = wire::Type::document;
    if (!session.has_role(Role::inspector) && !session.has_role(Role::admin)) {
        reply(session, kType, cookie,
              Error{Errc::not_permitted, "this needs the role inspector or admin"});
        return;
    }
    switch (request.kind) {
        case wire::Document::status:
            reply(session, kType, cookie, first_chunk(session, status()));
            return;
        case wire::Document::cells:
            reply(session, kType, cookie,
                  first_chunk(session, cells_document(registry_, pool_names(pools_))));
            return;
        case wire::Document::stats:
            reply(session, kType, cookie, first_chunk(session, stats()));
            return;
        case wire::Document::stats_ended:
            reply(session, kType, cookie, end_window(session));
            return;
        case wire::Document::tenants:
            reply(session, kType, cookie,
                  first_chunk(session, tenants_document(registry_, tenants_, pool_names(pools_))));
            return;
        case wire::Document::receipts:
            reply(session, kType, cookie, first_chunk(session, receipts()));
            return;
        case wire::Document::profiles:
            reply(session, kType, cookie, first_chunk(session, profiles()));
            return;
        case wire::Document::explain: {
            Result<std::string> text = explain(request);
            reply(session, kType, cookie,
                  text ? first_chunk(session, std::move(*text)) : Answer(text.error()));
            return;
        }
        case wire::Document::topology:
            break;
    }
    auto text = std::make_shared<Result<std::string>>(std::string());
    const Result<void> accepted = run_job(
        session, kType, cookie,
        [text, read = options_.read_topology] {
            const Result<Topology> topology = read();
            *text = topology ? Result<std::string>(topology_json(*topology, assess(*topology)))
                             : Result<std::string>(topology.error());
        },
        [this, text](Session* there) -> Answer {
            if (there == nullptr) {
                return Error{Errc::disconnected, "the connection is gone"};
            }
            if (!*text) {
                return text->error();
            }
            return first_chunk(*there, std::move(**text));
        });
    if (!accepted) {
        reply(session, kType, cookie, accepted.error());
    }
}

Server::Answer Server::first_chunk(Session& session, std::string document) {
    if (document.size() > wire::kMaxDocumentBytes) {
        return Error{Errc::too_large, "the document has " + std::to_string(document.size()) +
                                          " bytes, over the maximum of " +
                                          std::to_string(wire::kMaxDocumentBytes)};
    }
    session.document = std::move(document);
    return document_more(session, wire::DocumentMoreRequest{0});
}

Server::Answer Server::document_more(Session& session, const wire::DocumentMoreRequest& request) {
    if (request.offset_bytes > session.document.size()) {
        return Error{Errc::invalid_argument, "the offset is past the end of the document"};
    }
    wire::DocumentReply out;
    out.total_bytes = session.document.size();
    out.offset_bytes = request.offset_bytes;
    out.chunk = session.document.substr(request.offset_bytes, wire::kMaxChunkBytes);
    if (request.offset_bytes + out.chunk.size() == session.document.size()) {
        // The last chunk is out: nobody needs it any more.
        session.document.clear();
        session.document.shrink_to_fit();
    }
    return Reply(std::move(out));
}

std::string Server::stats() const {
    return stats_document(registry_, pool_names(pools_), refusals_, window_,
                          StatsTimes{uptime_s(), clock_.monotonic()});
}

Server::Answer Server::end_window(Session& session) {
    // What others read changes with it.
    if (!session.has_role(Role::admin)) {
        return Error{Errc::not_permitted, "beginning a new window needs the role admin"};
    }
    Answer answer = first_chunk(session, stats());
    if (answer) {
        window_.begin(registry_, refusals_, clock_.monotonic(), clock_.wall());
        audit_.window_begun(session.peer.uid);
    }
    return answer;
}

Result<std::string> Server::explain(const wire::DocumentRequest& request) {
    Result<ContextFields> fields = wire_context(request.axes);
    if (!fields) {
        return std::move(fields).error();
    }
    const Result<ContextKey> wanted = interner_.probe(*fields);
    if (!wanted) {
        return wanted.error();
    }
    return explain_document(ExplainQuestion{TenantId{request.requester}, request.span, *wanted,
                                            *fields, clock_.monotonic()},
                            registry_, interner_, pool_names(pools_));
}

std::uint64_t Server::uptime_s() const {
    return (clock_.monotonic().ns - started_at_.ns) / 1'000'000'000ULL;
}

std::string Server::status() const {
    DaemonStatus status;
    status.mode = options_.mode;
    status.reactor = reactor_.kind();
    status.uptime_s = uptime_s();
    status.connections = sessions_.size();
    for (const ServedPool& served : pools_) {
        status.pools.push_back(PoolStatus{served.pool->name(), served.pool->traits().kind,
                                          served.pool->traits().isolation, served.pool->usage()});
    }
    return status_document(status, registry_);
}

std::string Server::profiles() const {
    std::vector<Profile> profiles;
    for (const ServedPool& served : pools_) {
        profiles.push_back(served.profile);
    }
    return profiles_json(profiles);
}

}  // namespace cxlpool
