// Changes of tenants: looked at here, saved by a worker, and in force when they are on the disk.
#include <spdlog/spdlog.h>

#include "server/server.hpp"

namespace cxlpool {
namespace {

// Operators type them one by one; a script may send a few hundred, and each waits for the disk.
constexpr std::size_t kMaxPendingChanges = 256;

std::string_view word_of(wire::TenantOp op) noexcept {
    switch (op) {
        case wire::TenantOp::add:
            return "add";
        case wire::TenantOp::set_name:
            return "set_name";
        case wire::TenantOp::set_salt:
            return "set_salt";
        case wire::TenantOp::set_weight:
            return "set_weight";
        case wire::TenantOp::reserve:
            return "reserve";
    }
    return "unknown";
}

}  // namespace

void Server::tenant_change(Session& session, std::uint64_t cookie,
                           const wire::TenantChangeRequest& request) {
    constexpr wire::Type kType = wire::Type::tenant_change;
    if (!session.has_role(Role::admin)) {
        reply(session, kType, cookie, Error{Errc::not_permitted, "this needs the role admin"});
        return;
    }
    if (changes_.size() >= kMaxPendingChanges) {
        reply(session, kType, cookie,
              Error{Errc::limit_exceeded, std::to_string(kMaxPendingChanges) +
                                              " changes wait for the disk already; try again"});
        return;
    }
    changes_.push_back(PendingChange{session.id, cookie, request});
    start_changes();
}

void Server::start_changes() {
    while (!saving_ && !changes_.empty()) {
        const PendingChange change = std::move(changes_.front());
        changes_.pop_front();
        // Who has gone before it began hears no answer, so nothing was promised.
        if (Session* session = find(change.session)) {
            start_change(*session, change);
        }
    }
}

void Server::start_change(Session& session, const PendingChange& change) {
    constexpr wire::Type kType = wire::Type::tenant_change;
    Result<TenantSaving> saving = tenants_.prepare(registry_, change.request);
    if (!saving) {
        reply(session, kType, change.cookie, std::move(saving).error());
        return;
    }
    // With what is not saved yet, so that an old name of another tenant is free on the disk, too.
    for (TenantRecord& record : tenants_.unsaved(registry_)) {
        if (record.id.value != change.request.tenant) {
            saving->tenants.push_back(std::move(record));
        }
    }
    struct Job {
        TenantSaving saving;
        Result<void> saved;
    };
    auto job = std::make_shared<Job>(Job{std::move(*saving), {}});
    const Result<void> accepted = run_job(
        session, kType, change.cookie,
        [state = options_.state.get(), job] {
            job->saved = state->save(job->saving.tenants, job->saving.reservations);
        },
        // Also for a session that is gone: what is on the disk counts.
        [this, uid = session.peer.uid, request = change.request, job](Session*) -> Answer {
            saving_ = false;
            if (!changes_.empty()) {
                // After the answer to this one. When no worker takes it, the next tick does.
                static_cast<void>(workers_->submit([] {}, [this] { start_changes(); }));
            }
            if (!job->saved) {
                tenants_.abandon();
                spdlog::error("saving a change of tenant {} failed: {}; nothing is changed",
                              request.tenant, job->saved.error().message());
                return job->saved.error();
            }
            // A first cell may have come meanwhile. Then the record that says so is saved next,
            // with the salt that is in force.
            const Result<void> applied = tenants_.apply(registry_, request);
            tenants_.saved(registry_, job->saving.tenants);
            if (!applied) {
                return applied.error();
            }
            audit_.tenant_changed(uid, TenantId{request.tenant}, word_of(request.op));
            return Reply(wire::EmptyReply{});
        });
    if (!accepted) {
        tenants_.abandon();
        reply(session, kType, change.cookie, accepted.error());
        return;
    }
    saving_ = true;
}

void Server::save_the_rest() {
    std::vector<TenantRecord> records =
        saving_ ? std::vector<TenantRecord>() : tenants_.unsaved(registry_);
    if (records.empty()) {
        return;
    }
    struct Job {
        std::vector<TenantRecord> records;
        Result<void> saved;
    };
    auto job = std::make_shared<Job>(Job{std::move(records), {}});
    const Result<void> accepted = workers_->submit(
        [state = options_.state.get(), job] { job->saved = state->save(job->records); },
        [this, job] {
            saving_ = false;
            if (job->saved) {
                tenants_.saved(registry_, job->records);
            } else if (!saving_failed_) {
                spdlog::error("keeping who has had cells, and names, failed: {}; it is tried again",
                              job->saved.error().message());
            }
            saving_failed_ = !job->saved;
            save_cells();
        });
    saving_ = accepted.has_value();
}

}  // namespace cxlpool
