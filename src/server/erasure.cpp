// Erasing a tenant: journal, drain or revoke, overwrite, receipt.
//
// Each step is on the disk before the next one begins, so that a start after a crash goes on where
// the last process was: what of the tenant it finds again is removed and overwritten, too.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/check.hpp"
#include "server/server.hpp"

namespace cxlpool {
namespace {

// How far an erasure is, in the journal.
constexpr const char* kBegun = "begun";
constexpr const char* kOverwritten = "overwritten";
constexpr const char* kFinished = "finished";

// Whose the bytes are that an earlier process left.
constexpr TenantId kNobody{};

// All of them fit into what a document may have.
constexpr std::size_t kMaxReceipts = 4096;

}  // namespace

void Server::forget(Session& session, std::uint64_t cookie, const wire::ForgetRequest& request) {
    constexpr wire::Type kType = wire::Type::forget;
    const TenantId tenant{request.tenant};
    if (!session.has_role(Role::admin)) {
        reply(session, kType, cookie, Error{Errc::not_permitted, "this needs the role admin"});
        return;
    }
    if (!registry_.has_tenant(tenant)) {
        reply(session, kType, cookie,
              Error{Errc::not_found, "there is no tenant " + std::to_string(tenant.value)});
        return;
    }
    const Timestamp deadline = after_ms(clock_.monotonic(), request.wait_ms);
    const auto [at, fresh] = erasures_.try_emplace(tenant);
    RunningErasure& erasure = at->second;
    if (fresh) {
        const TenantRecord record = tenants_.record_of(registry_, tenant);
        erasure.report.tenant = tenant;
        erasure.report.name = record.name;
        erasure.report.incarnation = record.incarnation;
        erasure.report.started = clock_.wall();
        erasure.deadline = deadline;
        erasure.uid = session.peer.uid;
    }
    erasure.deadline = std::min(erasure.deadline, deadline);
    ++session.pending;
    erasure.waiters.push_back({session.id, cookie});
    advance_erasures();
}

void Server::resume_erasures() {
    for (const ErasureRecord& record : options_.erasures) {
        if (record.finished) {
            receipts_.push_back(record.receipt);
            continue;
        }
        // Its record is in the state since the erasure began.
        CXLPOOL_CHECK(registry_.has_tenant(record.tenant));
        RunningErasure& erasure = erasures_[record.tenant];
        erasure.report.tenant = record.tenant;
        erasure.report.name = std::string(registry_.tenant_name(record.tenant));
        erasure.report.incarnation = record.incarnation;
        erasure.report.started = record.started;
        erasure.report.resumed = true;
        start_forgetting(record.tenant, erasure);
    }
    if (!erasures_.empty()) {
        overwrite_what_was_left();
    }
}

void Server::overwrite_what_was_left() {
    // On a device lie the bytes of cells that were gone, and not overwritten yet, when the last
    // process ended; nobody knows whose.
    constexpr std::uint64_t kAtOnceBytes = 256ULL << 20U;
    for (std::size_t i = 0; i < pools_.size(); ++i) {
        while (const auto left = pools_[i].pool->place_unscrubbed(kAtOnceBytes)) {
            release_location(located(i, *left, false), kNobody);
        }
    }
}

void Server::advance_erasures() {
    std::vector<TenantId> tenants;
    for (const auto& [tenant, erasure] : erasures_) {
        tenants.push_back(tenant);
    }
    for (const TenantId tenant : tenants) {
        if (const auto at = erasures_.find(tenant); at != erasures_.end()) {
            advance(tenant, at->second);
        }
    }
}

void Server::advance(TenantId tenant, RunningErasure& erasure) {
    if (erasure.writing) {
        return;
    }
    switch (erasure.step) {
        case RunningErasure::Step::begin:
            write_journal(
                tenant,
                [record = tenants_.record_of(registry_, tenant), wall = erasure.report.started](
                    StateStore& state) { return state.begin_erasure(record, kBegun, wall); },
                [this, tenant](RunningErasure& begun) { start_forgetting(tenant, begun); });
            return;
        case RunningErasure::Step::overwrite:
            if (is_overwritten(tenant, erasure)) {
                write_journal(
                    tenant,
                    [tenant, incarnation = erasure.report.incarnation](StateStore& state) {
                        return state.advance_erasure(tenant, incarnation, kOverwritten);
                    },
                    [](RunningErasure& done) { done.step = RunningErasure::Step::finish; });
            }
            return;
        case RunningErasure::Step::finish: {
            erasure.report.finished = clock_.wall();
            const std::string receipt = receipt_of(erasure.report);
            write_journal(
                tenant,
                [record = tenants_.record_after_erasure(registry_, tenant), receipt,
                 wall = erasure.report.finished](StateStore& state) {
                    return state.finish_erasure(record, kFinished, receipt, wall);
                },
                [this, tenant, receipt](RunningErasure& done) {
                    finish_forgetting(tenant, done, receipt);
                });
            return;
        }
    }
}

void Server::start_forgetting(TenantId tenant, RunningErasure& erasure) {
    const TenantCounters had = registry_.counters(tenant);
    erasure.report.cells = had.cells;
    erasure.report.bytes = had.bytes;
    CXLPOOL_CHECK(registry_.start_forget(tenant).has_value());
    // Those that end by themselves are what is left when the others are taken off.
    erasure.report.leases_drained = registry_.sweep_forgotten(tenant).leases;
    erasure.step = RunningErasure::Step::overwrite;
    const Timestamp now = clock_.monotonic();
    const std::uint64_t left_ns = erasure.deadline.ns > now.ns ? erasure.deadline.ns - now.ns : 0;
    audit_.erasure_begun(erasure.uid, erasure.report, left_ns / 1'000'000);
    settle();
}

bool Server::is_overwritten(TenantId tenant, RunningErasure& erasure) {
    Remains remains = registry_.sweep_forgotten(tenant);
    if (remains.leases != 0 && clock_.monotonic().ns >= erasure.deadline.ns) {
        erasure.report.leases_drained -= remains.leases;
        erasure.report.leases_revoked += remains.leases;
        registry_.revoke_readers(tenant);
        remains = registry_.sweep_forgotten(tenant);
    }
    settle();
    const bool left_over = erasure.report.resumed && scrubs_of_.count(kNobody) != 0;
    return remains == Remains{} && scrubs_of_.count(tenant) == 0 && !left_over;
}

void Server::write_journal(TenantId tenant, std::function<Result<void>(StateStore&)> write,
                           std::function<void(RunningErasure&)> written) {
    if (saving_) {
        return;  // The next tick comes here again.
    }
    auto done = std::make_shared<Result<void>>();
    const Result<void> accepted = workers_->submit(
        [state = options_.state.get(), write = std::move(write), done] { *done = write(*state); },
        [this, tenant, done, written = std::move(written)] {
            saving_ = false;
            RunningErasure& erasure = erasures_.at(tenant);
            erasure.writing = false;
            if (*done) {
                erasure.failed = false;
                written(erasure);
            } else if (erasure.step == RunningErasure::Step::begin) {
                // Nothing has happened yet.
                answer_waiters(erasure, done->error());
                erasures_.erase(tenant);
            } else if (!std::exchange(erasure.failed, true)) {
                spdlog::error(
                    "the journal of the erasure of tenant {} cannot be written: {}; it "
                    "is tried again",
                    tenant.value, done->error().message());
            }
            advance_erasures();
            start_changes();
        });
    if (accepted) {
        saving_ = true;
        erasures_.at(tenant).writing = true;
    }
}

void Server::finish_forgetting(TenantId tenant, RunningErasure& erasure, std::string receipt) {
    registry_.end_forget(tenant);
    tenants_.erased(tenant);
    incarnations_.begin_for(tenant, registry_, refusals_);
    audit_.erasure_finished(erasure.report);
    receipts_.push_back(receipt);
    if (receipts_.size() > kMaxReceipts) {
        receipts_.pop_front();
    }
    answer_waiters(erasure, Reply(wire::ForgetReply{std::move(receipt)}));
    erasures_.erase(tenant);
}

void Server::answer_waiters(RunningErasure& erasure, const Answer& answer) {
    for (const RunningErasure::Waiter& waiter : std::exchange(erasure.waiters, {})) {
        Session* const session = find(waiter.session);
        if (session == nullptr) {
            continue;
        }
        --session->pending;
        reply(*session, wire::Type::forget, waiter.cookie, answer);
        if (Session* const there = find(waiter.session)) {
            update_interest(*there);
        }
    }
}

std::string Server::receipts() const {
    std::string out = "{\"receipts\":[";
    for (const std::string& receipt : receipts_) {
        out.append(&receipt == &receipts_.front() ? "" : ",").append(receipt);
    }
    return out + "]}";
}

}  // namespace cxlpool
