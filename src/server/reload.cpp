// Taking on another configuration while connections are open.
#include <algorithm>
#include <map>
#include <utility>

#include "base/check.hpp"
#include "server/server.hpp"

namespace cxlpool {
namespace {

bool may_read_documents(const Session& session) {
    return session.has_role(Role::inspector) || session.has_role(Role::admin);
}

}  // namespace

void Server::reload(std::string asked_by, ReloadDone done) {
    reload_wishes_.push_back(ReloadWish{std::move(asked_by), std::move(done)});
    // The file may have changed after the running reload read it, so it is read once more.
    if (!reloading_) {
        start_reload();
    }
}

void Server::start_reload() {
    reloading_ = true;
    auto wishes = std::make_shared<std::vector<ReloadWish>>(std::exchange(reload_wishes_, {}));
    auto wanted = std::make_shared<Result<Reconfiguration>>(
        Error{Errc::internal, "the configuration was not read"});
    const Result<void> accepted =
        workers_->submit([wanted, read = options_.read_configuration] { *wanted = read(); },
                         [this, wanted, wishes] {
                             finish_reload(*wanted ? take_on(std::move(**wanted))
                                                   : Result<ReloadReport>(wanted->error()),
                                           *wishes);
                         });
    if (!accepted) {
        finish_reload(Error{Errc::limit_exceeded, "the daemon is busy; try again"}, *wishes);
    }
}

void Server::finish_reload(const Result<ReloadReport>& report,
                           const std::vector<ReloadWish>& wishes) {
    for (const ReloadWish& wish : wishes) {
        audit_.reloaded(wish.asked_by, report);
    }
    if (options_.reload_ended) {
        options_.reload_ended(report);
    }
    for (const ReloadWish& wish : wishes) {
        if (wish.done) {
            wish.done(report);
        }
    }
    reloading_ = false;
    if (!reload_wishes_.empty()) {
        start_reload();
    }
}

void Server::reload_for(Session& session, std::uint64_t cookie) {
    constexpr wire::Type kType = wire::Type::reload;
    if (!session.has_role(Role::admin)) {
        reply(session, kType, cookie, Error{Errc::not_permitted, "this needs the role admin"});
        return;
    }
    ++session.pending;
    reload("uid " + std::to_string(session.peer.uid),
           [this, id = session.id, cookie](const Result<ReloadReport>& report) {
               Session* there = find(id);
               if (there == nullptr) {
                   return;
               }
               --there->pending;
               reply(*there, kType, cookie,
                     report ? Answer(Reply(wire::ReloadReply{report->connections_closed}))
                            : Answer(report.error()));
               if (find(id) != nullptr) {
                   update_interest(*there);
               }
           });
}

Result<ReloadReport> Server::take_on(Reconfiguration wanted) {
    // What can fail comes first, and is undone when it does.
    const std::size_t before = listeners_.size();
    std::map<std::string, std::vector<TenantId>> kept;
    Result<void> possible = tenants_.check_declared(registry_, wanted.tenants);
    for (Listener& listener : wanted.listeners) {
        if (!listener.socket) {
            kept.emplace(std::move(listener.name), std::move(listener.tenants));
        } else if (possible) {
            possible = open_listener(std::make_shared<Listener>(std::move(listener)));
        }
    }
    if (possible && wanted.publish) {
        possible = wanted.publish();
    }
    if (!possible) {
        for (std::size_t i = before; i < listeners_.size(); ++i) {
            close_listener(*listeners_[i]);
        }
        listeners_.resize(before);
        return possible.error();
    }
    // From here on nothing fails, and nobody is served in between.
    tenants_.declare(registry_, wanted.tenants);
    authorizer_ = std::move(wanted.authorizer);
    options_.limits = wanted.limits;
    registry_.set_limits(registry_limits(wanted.limits));
    std::vector<std::shared_ptr<Listener>> listeners;
    for (std::size_t i = 0; i < listeners_.size(); ++i) {
        Listener& listener = *listeners_[i];
        if (i < before && !listener.tenants.empty()) {
            const auto at = kept.find(listener.name);
            if (at == kept.end()) {
                close_listener(listener);
                continue;
            }
            listener.tenants = at->second;
        }
        listeners.push_back(listeners_[i]);
    }
    listeners_ = std::move(listeners);
    const ReloadReport report{identify_again()};
    if (wanted.taken) {
        wanted.taken();
    }
    return report;
}

std::optional<std::string> Server::lost_right(const Session& session,
                                              Result<Identity>& identity) const {
    if (!session.listener->socket) {
        return "its listener was removed or made anew";
    }
    identity = identify_at(*session.listener, session.peer, authorizer_);
    if (!identity) {
        return identity.error().message();
    }
    const std::vector<TenantId>& tenants = identity->tenants;
    if (session.tenant &&
        std::find(tenants.begin(), tenants.end(), session.tenant) == tenants.end()) {
        return "it may not act as tenant " + std::to_string(session.tenant.value) + " any more";
    }
    return std::nullopt;
}

std::uint32_t Server::identify_again() {
    std::map<std::uint64_t, std::string> gone;  // in the order in which they came
    for (const auto& [id, session] : sessions_) {
        if (session->refusal) {
            continue;  // It hears why and goes.
        }
        Result<Identity> identity = Identity{};
        if (std::optional<std::string> why = lost_right(*session, identity)) {
            gone.emplace(id, std::move(*why));
            continue;
        }
        session->identity = std::move(*identity);
        if (!may_read_documents(*session)) {
            session->document.clear();
        }
    }
    for (const auto& [id, why] : gone) {
        Session& session = *find(id);
        audit_.ended(session.peer, session.listener->name, session.tenant, why);
        session.identity.roles = 0;
        session.identity.tenants.clear();
        session.document.clear();
        if (session.door() == Door::admin && session.pending > 0) {
            session.closing = true;  // It hears what came of its reload, and goes.
        } else {
            close_session(id);
        }
    }
    settle();
    return static_cast<std::uint32_t>(gone.size());
}

}  // namespace cxlpool
