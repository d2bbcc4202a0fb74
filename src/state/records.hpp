// What outlives the daemon, as plain values.
//
// Responsible for: the fields, and the rules that each of them obeys whether it comes from an
// operator or from a file. Refuses to know how they are kept.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/adjudication.hpp"
#include "domain/context.hpp"
#include "domain/gate.hpp"
#include "domain/tenant.hpp"

namespace cxlpool {

struct TenantRecord {
    TenantId id;
    std::string name;        // may be empty
    std::uint64_t salt = 0;  // 0: none
    std::uint32_t weight = kDefaultWeight;
    std::uint64_t trust_epoch = 1;
    std::uint64_t incarnation = 0;  // raised by each erasure
    bool had_cells = false;         // since its last erasure; a salt is then refused
    bool operator==(const TenantRecord&) const = default;
};

// Bytes of a pool that a tenant is sure of.
struct Reservation {
    TenantId tenant;
    std::string pool;
    std::uint64_t bytes = 0;  // 0: none
    bool operator==(const Reservation&) const = default;
};

// One erasure of everything that a tenant had under one incarnation.
struct ErasureRecord {
    TenantId tenant;
    std::uint64_t incarnation = 0;
    std::string step;   // how far it is: lower-case letters and '_'
    Timestamp started;  // wall clock
    std::optional<Timestamp> finished;
    std::string receipt;  // JSON; empty until it has finished
    bool operator==(const ErasureRecord&) const = default;
};

// A cell at rest whose bytes outlive the daemon: where they lie, what they are, who may attend
// them.
struct CellRecord {
    CellId id;
    TenantId owner;
    std::string pool;
    std::uint64_t segment = 0;  // of the pool
    std::uint64_t offset_bytes = 0;
    std::uint64_t extent_bytes = 0;
    std::uint64_t length_bytes = 0;
    bool offered = false;  // as Location::offered of the registry
    ContextFields context;
    SpanDigest span;
    ContentDigest digest;
    std::uint64_t recompute_ns = 0;  // 0: unknown
    bool quarantined = false;
    Taint taint = Taint::tainted;
    Admission admission = Admission::unknown;
    Scope scope = Scope::agent;
    std::vector<TenantId> allow_list;
    std::uint64_t adjudicated_epoch = 0;
    std::optional<Adjudication> adjudication;
    uid_t uid = 0;       // of its engine
    std::string engine;  // as that calls itself
    Timestamp begun_at;  // wall clock, both
    Timestamp sealed_at;
    bool operator==(const CellRecord&) const = default;
};

struct State {
    std::vector<TenantRecord> tenants;      // by id
    std::vector<Reservation> reservations;  // by tenant, then pool; none of 0 bytes
    std::vector<ErasureRecord> erasures;    // by start
};

// Errors: invalid_argument.
Result<void> check_record(const TenantRecord& tenant);
Result<void> check_record(const Reservation& reservation);
Result<void> check_record(const ErasureRecord& erasure);
Result<void> check_record(const CellRecord& cell);

// What no single record can break: a name twice, a reservation of no tenant. Errors:
// already_exists, not_found.
Result<void> check_state(const State& state);

}  // namespace cxlpool
