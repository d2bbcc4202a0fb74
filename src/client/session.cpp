#include "client/session.hpp"

#include <algorithm>
#include <string>

#include "base/units.hpp"

namespace cxlpool::client {
namespace {

// Below this number a cell may be used (domain's Verdict, cxlpool-protocol(7)).
constexpr std::uint16_t kFirstRefusal = 16;

bool is_hit(const wire::LookupItem& item) noexcept {
    return item.verdict > 0 && item.verdict < kFirstRefusal &&
           item.status == static_cast<std::uint16_t>(Errc::ok);
}

}  // namespace

Session::Session(Connection connection, LeaseBoard board, const Clock& clock)
    : clock_(clock), board_(std::move(board)), connection_(std::move(connection)) {}

Result<std::unique_ptr<Session>> Session::open(Connection connection, const Clock& clock) {
    const wire::HelloReply& greeting = connection.greeting();
    if (greeting.max_leases == 0 || greeting.max_lookup_spans == 0 || greeting.lease_ttl_ms == 0) {
        return connection.hang_up("a hello with a limit of zero");
    }
    const UniqueFd descriptor = connection.take_lease_board();
    if (!descriptor) {
        return connection.hang_up("a hello without a lease board");
    }
    auto board = LeaseBoard::map(descriptor, greeting.max_leases);
    if (!board) {
        return std::move(board).error();
    }
    return std::unique_ptr<Session>(
        new Session(std::move(connection), std::move(board).value(), clock));
}

Result<Session::Turn> Session::take_turn() {
    if (!connection_.is_ours()) {
        return Error{Errc::wrong_state,
                     "the client belongs to the process that opened it; connect again after a "
                     "fork"};
    }
    return Turn(mutex_);
}

template <typename Body>
Result<Body> Session::ask(wire::RequestBody request, UniqueFd* descriptor) {
    auto body = connection_.ask<Body>(std::move(request), descriptor);
    closed_.store(!connection_.is_open(), std::memory_order_relaxed);
    return body;
}

Error Session::hang_up(std::string why) {
    closed_.store(true, std::memory_order_relaxed);
    return connection_.hang_up(std::move(why));
}

// From the time of the question, which is before the daemon's own time of granting.
Timestamp Session::ttl_from(Timestamp asked_at, std::uint32_t ttl_ms) const noexcept {
    return Timestamp{asked_at.ns + std::uint64_t{ttl_ms} * 1'000'000ULL};
}

bool Session::may_be_lease(LeaseRef lease) const noexcept {
    return lease.generation != 0 && lease.index < board_.entries();
}

Result<std::uint32_t> Session::register_context(std::vector<wire::AxisField> axes) {
    const auto turn = take_turn();
    if (!turn) {
        return turn.error();
    }
    auto reply = ask<wire::ContextRegisterReply>(wire::ContextRegisterRequest{std::move(axes)});
    if (!reply) {
        return std::move(reply).error();
    }
    return reply->context;
}

Result<void> Session::release_context(std::uint32_t context) {
    const auto turn = take_turn();
    if (!turn) {
        return turn.error();
    }
    CXLPOOL_TRY(ask<wire::EmptyReply>(wire::ContextReleaseRequest{context}));
    return {};
}

Result<std::vector<wire::LookupItem>> Session::lookup(std::uint32_t context,
                                                      std::span<const SpanDigest> spans) {
    const std::size_t batch =
        std::min<std::size_t>(greeting().max_lookup_spans, wire::kMaxLookupSpans);
    // Within one message the daemon looks for itself; it sees no more than one at a time.
    if (spans.size() > batch) {
        if (const std::optional<std::size_t> twice = wire::first_repeated(spans)) {
            return Error{Errc::invalid_argument,
                         "span " + std::to_string(*twice) + " of this lookup stands in it twice"};
        }
    }
    const auto turn = take_turn();
    if (!turn) {
        return turn.error();
    }
    std::vector<wire::LookupItem> all;
    all.reserve(spans.size());
    while (all.size() < spans.size()) {
        const auto rest = spans.subspan(all.size());
        auto items = lookup_batch(context, rest.first(std::min(batch, rest.size())));
        if (!items) {
            give_back(all);
            return std::move(items).error();
        }
        all.insert(all.end(), items->begin(), items->end());
    }
    return all;
}

Result<std::vector<wire::LookupItem>> Session::lookup_batch(std::uint32_t context,
                                                            std::span<const SpanDigest> spans) {
    const Timestamp asked_at = clock_.monotonic();
    auto reply = ask<wire::LookupReply>(
        wire::LookupRequest{context, std::vector<SpanDigest>(spans.begin(), spans.end())});
    if (!reply) {
        return std::move(reply).error();
    }
    if (reply->items.size() != spans.size()) {
        return hang_up("a lookup answered with another number of items");
    }
    for (wire::LookupItem& item : reply->items) {
        if (!is_hit(item)) {
            wire::LookupItem refusal;
            refusal.verdict = item.verdict;
            refusal.status = item.status;
            item = refusal;
            continue;
        }
        if (!may_be_lease(item.lease) || item.length_bytes == 0) {
            return hang_up("a hit without a lease or without bytes");
        }
        board_.set_end(item.lease, ttl_from(asked_at, greeting().lease_ttl_ms));
    }
    return std::move(reply->items);
}

// As far as the daemon can be told: what it does not hear of lapses by itself.
void Session::give_back(std::span<const wire::LookupItem> items) {
    for (const wire::LookupItem& item : items) {
        if (is_hit(item)) {
            const auto released = ask<wire::EmptyReply>(wire::ReleaseRequest{item.lease});
            if (!released && released.error().code() == Errc::timeout) {
                return;
            }
        }
    }
}

bool Session::live(LeaseRef lease) const noexcept {
    return !closed_.load(std::memory_order_relaxed) && board_.live(lease, clock_.monotonic());
}

Result<const std::byte*> Session::attend(const wire::LookupItem& hit) {
    const auto turn = take_turn();
    if (!turn) {
        return turn.error();
    }
    if (!connection_.is_open()) {
        return Error{Errc::disconnected, "the connection is closed; connect again"};
    }
    if (!live(hit.lease)) {
        return Error{Errc::stale_lease, "the lease of the hit has ended; look the span up again"};
    }
    auto bytes = bytes_for(hit.lease, {hit.segment, wire::MapAccess::read}, hit.offset_bytes,
                           hit.length_bytes);
    if (!bytes) {
        return std::move(bytes).error();
    }
    return *bytes;
}

Result<std::byte*> Session::bytes_for(LeaseRef lease, SegmentMappings::Key key,
                                      std::uint64_t offset_bytes, std::uint64_t length_bytes) {
    const auto end = checked_add(offset_bytes, length_bytes);
    CXLPOOL_TRY(map_segment(key));
    const auto segment = mappings_.find(key)->bytes();
    if (!end || *end > segment.size()) {
        mappings_.forget_unheld(key);
        return Error{Errc::invalid_argument, "the bytes are not inside the segment"};
    }
    if (!mappings_.hold(lease, key)) {
        mappings_.forget_unheld(key);
        return Error{Errc::invalid_argument, "the lease is of a cell in another segment"};
    }
    return segment.data() + offset_bytes;
}

Result<void> Session::map_segment(SegmentMappings::Key key) {
    if (mappings_.find(key) != nullptr) {
        return {};
    }
    UniqueFd descriptor;
    auto reply = ask<wire::MapReply>(wire::MapRequest{key.segment, key.access}, &descriptor);
    if (!reply) {
        return std::move(reply).error();
    }
    if (!descriptor) {
        return hang_up("a map without a descriptor");
    }
    auto mapping = Mapping::map(descriptor, reply->size_bytes, key.access);
    if (!mapping) {
        if (mapping.error().code() == Errc::protocol) {
            return hang_up(mapping.error().message());
        }
        return std::move(mapping).error();
    }
    mappings_.insert(key, std::move(mapping).value());
    return {};
}

Result<std::uint32_t> Session::renew(LeaseRef lease) {
    const auto turn = take_turn();
    if (!turn) {
        return turn.error();
    }
    const Timestamp asked_at = clock_.monotonic();
    auto reply = ask<wire::RenewReply>(wire::RenewRequest{lease});
    if (!reply) {
        return std::move(reply).error();
    }
    board_.set_end(lease, ttl_from(asked_at, reply->ttl_ms));
    return reply->ttl_ms;
}

Result<void> Session::release(LeaseRef lease) {
    const auto turn = take_turn();
    if (!turn) {
        return turn.error();
    }
    auto released = ask<wire::EmptyReply>(wire::ReleaseRequest{lease});
    // Being sealed, or the wrong process: the pointer is still in use.
    if (released || released.error().code() != Errc::wrong_state) {
        mappings_.drop(lease);
    }
    if (!released) {
        return std::move(released).error();
    }
    return {};
}

Result<Fill> Session::begin(wire::BeginRequest request) {
    const auto turn = take_turn();
    if (!turn) {
        return turn.error();
    }
    const std::uint64_t length_bytes = request.length_bytes;
    const Timestamp asked_at = clock_.monotonic();
    auto grant = ask<wire::BeginReply>(std::move(request));
    if (!grant) {
        return std::move(grant).error();
    }
    if (!may_be_lease(grant->lease) || grant->length_bytes < length_bytes) {
        return hang_up("a begin without a lease or with fewer bytes than were asked for");
    }
    auto bytes = bytes_for(grant->lease, {grant->segment, wire::MapAccess::write},
                           grant->offset_bytes, grant->length_bytes);
    if (!bytes) {
        if (bytes.error().code() == Errc::invalid_argument) {
            return hang_up("an extent that is not inside its segment");
        }
        static_cast<void>(ask<wire::EmptyReply>(wire::ReleaseRequest{grant->lease}));
        return std::move(bytes).error();
    }
    board_.set_end(grant->lease, ttl_from(asked_at, greeting().lease_ttl_ms));
    grant->length_bytes = length_bytes;
    return Fill{*grant, *bytes};
}

Result<ContentDigest> Session::seal(LeaseRef lease) {
    const auto turn = take_turn();
    if (!turn) {
        return turn.error();
    }
    auto reply = ask<wire::SealReply>(wire::SealRequest{lease});
    if (!reply) {
        return std::move(reply).error();
    }
    mappings_.drop(lease);
    return reply->digest;
}

Result<void> Session::share(wire::ShareRequest request) {
    const auto turn = take_turn();
    if (!turn) {
        return turn.error();
    }
    CXLPOOL_TRY(ask<wire::EmptyReply>(std::move(request)));
    return {};
}

Result<UniqueFd> Session::open_segment(std::uint32_t segment, wire::MapAccess access) {
    const auto turn = take_turn();
    if (!turn) {
        return turn.error();
    }
    UniqueFd descriptor;
    CXLPOOL_TRY(ask<wire::MapReply>(wire::MapRequest{segment, access}, &descriptor));
    if (!descriptor) {
        return hang_up("a map without a descriptor");
    }
    return descriptor;
}

Result<wire::PlanFleetReply> Session::plan_fleet(wire::PlanFleetRequest request) {
    const auto turn = take_turn();
    if (!turn) {
        return turn.error();
    }
    return ask<wire::PlanFleetReply>(std::move(request));
}

Result<wire::PlanPlacementReply> Session::plan_placement(wire::PlanPlacementRequest request) {
    const auto turn = take_turn();
    if (!turn) {
        return turn.error();
    }
    const std::size_t cells = request.cells.size();
    auto reply = ask<wire::PlanPlacementReply>(std::move(request));
    if (reply && reply->items.size() != cells) {
        return hang_up("a placement plan answered with another number of items");
    }
    return reply;
}

Result<wire::OwnStatisticsReply> Session::own_statistics() {
    const auto turn = take_turn();
    if (!turn) {
        return turn.error();
    }
    return ask<wire::OwnStatisticsReply>(wire::OwnStatisticsRequest{});
}

}  // namespace cxlpool::client
