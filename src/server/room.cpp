// Where the bytes of new cells and of shared copies go, and who waits until there is room.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "server/server.hpp"

namespace cxlpool {

Result<Location> Server::place(TenantId owner, std::uint64_t length_bytes,
                               const std::string& pool) {
    std::optional<Error> last;
    std::uint64_t largest_bytes = 0;
    for (std::size_t i = 0; i < pools_.size(); ++i) {
        if (!pool.empty() && pools_[i].pool->name() != pool) {
            continue;
        }
        largest_bytes = std::max(largest_bytes, pools_[i].pool->usage().capacity_bytes);
        const Result<Placement> placement = pools_[i].pool->place_private(owner, length_bytes);
        if (placement) {
            return located(i, *placement, false);
        }
        last = placement.error();
    }
    if (!last) {
        return Error{Errc::not_found, "no pool of this name"};
    }
    if (length_bytes > largest_bytes) {
        return Error{Errc::span_exceeds_capacity,
                     "a cell of " + std::to_string(length_bytes) +
                         " bytes fits no pool, not even " +
                         "an empty one: the largest that it may be in has " +
                         std::to_string(largest_bytes) + " bytes"};
    }
    if (last->code() == Errc::capacity) {
        // How full the pool is says how much others have stored.
        return Error{Errc::capacity, "no room for a cell of this size"};
    }
    spdlog::warn("placing {} bytes for tenant {} failed: {}; the engine is told", length_bytes,
                 owner.value, last->message());
    return Error{last->code(), "the daemon could not make room for this cell"};
}

std::size_t Server::pool_for(const NewCell& cell) const {
    for (std::size_t i = 0; i < pools_.size(); ++i) {
        const Pool& pool = *pools_[i].pool;
        const bool named = cell.pool.empty() || pool.name() == cell.pool;
        if (named && pool.usage().capacity_bytes >= cell.length_bytes) {
            return i;
        }
    }
    return 0;  // place() says why there is none.
}

Location Server::located(std::size_t pool, const Placement& placement, bool offered) const {
    const Pool& in = *pools_[pool].pool;
    // A segment of nobody is divided among tenants.
    const bool own = static_cast<bool>(in.segment_owner(placement.segment));
    return Location{pool, placement, offered, own ? in.segment_size_bytes(placement.segment) : 0};
}

void Server::finish_attempt(Session& session, wire::Type type, std::uint64_t cookie,
                            Attempt attempt) {
    if (Answer* const answer = std::get_if<Answer>(&attempt)) {
        reply(session, type, cookie, std::move(*answer));
    }
}

void Server::with_room(Session& session, wire::Type type, std::uint64_t cookie, Need need) {
    if (waiting_.empty()) {
        Attempt attempt = need.attempt(session, cookie);
        if (!std::holds_alternative<NoRoom>(attempt)) {
            need.end();
            finish_attempt(session, type, cookie, std::move(attempt));
            return;
        }
    }
    // Behind those who wait already, so that nobody takes what others made room for.
    ++session.pending;
    waiting_.push_back(Waiting{session.id, type, cookie, std::move(need)});
    serve_waiting();
}

void Server::serve_waiting() {
    // What is done in here can lead here again: a reply closes a session, whose cells go.
    if (std::exchange(serving_waiting_, true)) {
        return;
    }
    while (!waiting_.empty() && serve_first()) {
    }
    serving_waiting_ = false;
}

bool Server::serve_first() {
    Waiting& first = waiting_.front();
    Session* const session = find(first.session);
    if (session == nullptr) {
        first.need.give_up();
        waiting_.pop_front();
        return true;
    }
    Attempt attempt = first.need.attempt(*session, first.cookie);
    if (std::holds_alternative<NoRoom>(attempt)) {
        if (bytes_under_way()) {
            return false;  // Whoever ends that comes back here.
        }
        if (make_room(first.need)) {
            return true;
        }
        first.need.give_up();
        attempt = Answer(Error{Errc::capacity,
                               "no room, and nothing may go for this cell; release leases, or ask "
                               "the operator for a larger share"});
    } else {
        first.need.end();
    }
    const Waiting done = std::move(waiting_.front());
    waiting_.pop_front();
    --session->pending;
    finish_attempt(*session, done.type, done.cookie, std::move(attempt));
    if (Session* const there = find(done.session)) {
        update_interest(*there);
    }
    return true;
}

bool Server::bytes_under_way() const noexcept {
    return running_scrubs_ != 0 || !scrubs_.empty();
}

bool Server::make_room(const Need& need) {
    std::uint64_t bytes = 0;
    while (bytes < need.bytes) {
        const Result<Evicted> gone =
            registry_.evict_for(need.tenant, need.pool, need.bytes, need.segment);
        if (!gone) {
            break;
        }
        bytes += gone->bytes;
        if (gone->victim != need.tenant) {
            audit_.evicted(need.tenant, *gone);
        }
    }
    settle();
    return bytes != 0;
}

}  // namespace cxlpool
