// The audit log: one structured line for each decision that somebody may ask about later.
//
// Responsible for: the fields and their order, documented in cxlpoold(8), and a bound on the lines
// a second, so that a hostile peer cannot flood it. What was dropped is counted and said.
#pragma once

#include <string_view>

#include "registry/registry.hpp"
#include "server/listener.hpp"
#include "server/session.hpp"

namespace cxlpool {

// audit event=identity_refused uid= gid= pid= why=
void audit_refused_identity(const PeerCredentials& peer, std::string_view why);

// audit event=cross_tenant uid= requester= owner= cell= span= verdict= told=
void audit_cross_tenant(const Session& session, const LookupResult& found, const SpanDigest& span);

// audit event=adjudicated uid= owner= cell= span= judgement=
void audit_adjudicated(uid_t uid, TenantId owner, CellId cell, const SpanDigest& span,
                       Judgement judgement);

}  // namespace cxlpool
