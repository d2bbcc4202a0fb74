/* SPDX-License-Identifier: Apache-2.0
 *
 * libcxlpool: reuse of KV cache in the memory pools of this host, for inference engines.
 *
 * An engine connects to cxlpoold as one tenant, registers the contexts that it serves, looks spans
 * up, and either attends the bytes of a cell where they lie or fills a cell in place. KV bytes
 * never travel through the socket: the daemon hands out descriptors, and this library maps them.
 *
 *     cxlpool_options options = {.struct_size = sizeof options, .tenant = 1};
 *     cxlpool_client *client;
 *     int rc = cxlpool_connect(&options, &client);
 *     if (rc != CXLPOOL_OK)
 *         fprintf(stderr, "%s: %s\n", cxlpool_strerror(rc), cxlpool_last_message());
 *
 * RESULTS. Unless it says otherwise, a function returns CXLPOOL_OK (0) or one of the positive
 * CXLPOOL_E_ codes. When it fails, nothing was written through its output pointers, and
 * cxlpool_last_message() has a sentence for people.
 *
 * COMMON ERRORS. Every function that returns a code and takes a client or a context may return:
 *
 *   CXLPOOL_E_INVALID_ARGUMENT  A pointer is null, a struct_size is not one of this library's, or
 *                               the daemon does not accept a value. A mistake of the caller: the
 *                               same call fails again.
 *   CXLPOOL_E_WRONG_STATE       The process is a fork of the one that connected. Connect anew.
 *   CXLPOOL_E_NOT_PERMITTED     The daemon's configuration does not grant this. Ask the operator.
 *   CXLPOOL_E_LIMIT_EXCEEDED    A documented limit of this user or connection is reached. Give
 *                               something back, then try again.
 *   CXLPOOL_E_DISCONNECTED      The daemon closed the connection or was restarted. Close the
 *                               client and connect again; see RESTART.
 *   CXLPOOL_E_TIMEOUT           No answer in time. The connection stays usable, and the call may
 *                               have had its effect: leases that a late answer grants lapse by
 *                               themselves; after a seal, a lookup tells.
 *   CXLPOOL_E_PROTOCOL          The daemon sent nonsense and was hung up on. As DISCONNECTED, and
 *                               worth a report.
 *   CXLPOOL_E_OUT_OF_MEMORY     This process or the daemon has no memory, or this process no
 *                               address space. Release leases, then try again.
 *   CXLPOOL_E_IO                The operating system refused something; the message has its words.
 *   CXLPOOL_E_INTERNAL          A defect of the daemon. Worth a report; the connection stays.
 *
 * Each function lists the errors that it has besides, under "Errors". A code that is not listed
 * (a newer daemon) is a failure like any other.
 *
 * BLOCKING. Functions that talk to the daemon block until it answers, at most for the timeout of
 * the client for each message; cxlpool_connect() for connecting besides. Those that send more than
 * one message say so; other threads' calls on the same client come first where they were first.
 * Functions that do not say that they block do not.
 *
 * THREADS. Several threads may use one client; their calls take turns. Threads that want to call
 * in parallel open a client each. The message of cxlpool_last_message() is the calling thread's.
 * cxlpool_close() must be the last use of a client, and cxlpool_context_destroy() of a context.
 *
 * FORK. A child must not use the client of its parent: every call but cxlpool_close() returns
 * CXLPOOL_E_WRONG_STATE there. All descriptors close on exec.
 *
 * LEASES. A hit and a fill each come with a lease: a right that ends when it is released, when
 * info.lease_ttl_ms pass without a renewal, when the daemon revokes it, and when the connection
 * closes. Pointers into a cell belong to its lease: they stay mapped until cxlpool_release() (or,
 * for a fill, cxlpool_seal()), so release every lease, also one that has ended. The bytes behind a
 * pointer mean something only while the lease is live: check cxlpool_lease_live() before they are
 * used and again after, and drop what was computed in between if it is not.
 *
 * RESTART. When the daemon stops, the connection closes: calls return CXLPOOL_E_DISCONNECTED and
 * no lease is live any more. A daemon that dies without a word is noticed at the next call, and
 * at the latest when the time of the lease is over. Contexts, leases and segment numbers mean
 * nothing to another connection. Cells live as long as the daemon: look up again, and fill what is
 * missed.
 *
 * ABI. Structures that may grow begin with struct_size, which the caller sets to sizeof; sizes over
 * 4096 are refused. The others are fixed for libcxlpool.so.0, with reserved members that are zero.
 */
#ifndef CXLPOOL_CXLPOOL_H
#define CXLPOOL_CXLPOOL_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CXLPOOL_API __attribute__((visibility("default")))
#else
#define CXLPOOL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- error codes --------------------------------------------------------------------------------
 * Stable numbers, the same as on the wire. */
enum {
    CXLPOOL_OK = 0,

    CXLPOOL_E_INVALID_ARGUMENT = 1,
    CXLPOOL_E_MALFORMED = 2,
    CXLPOOL_E_UNSUPPORTED_VERSION = 3,
    CXLPOOL_E_TOO_LARGE = 4,
    CXLPOOL_E_UNKNOWN_WORD = 5,
    CXLPOOL_E_OVERFLOW = 6,
    CXLPOOL_E_SPAN_EXCEEDS_CAPACITY = 7,
    CXLPOOL_E_KEY_INCOMPLETE = 8,

    CXLPOOL_E_NOT_PERMITTED = 20,
    CXLPOOL_E_NOT_FOUND = 21,
    CXLPOOL_E_ALREADY_EXISTS = 22,
    CXLPOOL_E_WRONG_STATE = 23,
    CXLPOOL_E_STALE_LEASE = 24,
    CXLPOOL_E_REVOKED = 25,
    CXLPOOL_E_TENANCY_UNSET = 26,
    CXLPOOL_E_TENANCY_MISMATCH = 27,
    CXLPOOL_E_COOPERATIVE_REFUSED = 28,

    CXLPOOL_E_CAPACITY = 40,
    CXLPOOL_E_LIMIT_EXCEEDED = 41,

    CXLPOOL_E_UNAVAILABLE = 60,
    CXLPOOL_E_DISCONNECTED = 61,
    CXLPOOL_E_IO = 62,
    CXLPOOL_E_TIMEOUT = 63,
    CXLPOOL_E_CANCELLED = 64,
    CXLPOOL_E_PROTOCOL = 65,
    CXLPOOL_E_OUT_OF_MEMORY = 66,

    CXLPOOL_E_INTERNAL = 100
};

/* --- verdicts -----------------------------------------------------------------------------------
 * What the trust gate says about a cell. Below 16 the cell may be used. In tenancy "multi" a
 * refusal about a cell of another tenant is CXLPOOL_MISS_ABSENT, as if the cell did not exist. */
enum {
    CXLPOOL_HIT_IN_PLACE = 1, /* attend the bytes where they are */
    CXLPOOL_HIT_STAGE = 2,    /* they must be copied first; reserved, no daemon answers it yet */

    CXLPOOL_MISS_ABSENT = 16,

    CXLPOOL_REFUSED_NOT_PERMITTED = 32,
    CXLPOOL_REFUSED_QUARANTINED = 33,
    CXLPOOL_REFUSED_NOT_SEALED = 34,
    CXLPOOL_REFUSED_EXPIRED = 35,
    CXLPOOL_REFUSED_LOST = 36,
    CXLPOOL_REFUSED_SCOPE_DENIED = 37,
    CXLPOOL_REFUSED_NOT_ADMITTED = 38,
    CXLPOOL_REFUSED_UNTRUSTED = 39,
    CXLPOOL_REFUSED_STALE_EPOCH = 40,
    CXLPOOL_REFUSED_KEY_INCOMPLETE = 41,
    CXLPOOL_REFUSED_HANDLE_INVALID = 42,
    CXLPOOL_REFUSED_UNREACHABLE = 43,

    /* An axis differs: 64 plus the number of the axis. */
    CXLPOOL_REFUSED_MODEL_MISMATCH = 64,
    CXLPOOL_REFUSED_TOKENIZER_MISMATCH = 65,
    CXLPOOL_REFUSED_SERIALIZER_MISMATCH = 66,
    CXLPOOL_REFUSED_POSITION_MISMATCH = 67,
    CXLPOOL_REFUSED_POLICY_MISMATCH = 68,
    CXLPOOL_REFUSED_ADMITTER_MISMATCH = 69,
    CXLPOOL_REFUSED_WEIGHTS_MISMATCH = 70,
    CXLPOOL_REFUSED_ADAPTER_MISMATCH = 71,
    CXLPOOL_REFUSED_DTYPE_MISMATCH = 72,
    CXLPOOL_REFUSED_KV_QUANT_MISMATCH = 73,
    CXLPOOL_REFUSED_ROPE_MISMATCH = 74,
    CXLPOOL_REFUSED_PAGE_TOKENS_MISMATCH = 75,
    CXLPOOL_REFUSED_LAYERS_MISMATCH = 76,
    CXLPOOL_REFUSED_SHARD_MISMATCH = 77,
    CXLPOOL_REFUSED_LAYOUT_MISMATCH = 78
};

/* --- contexts -----------------------------------------------------------------------------------
 * The axes of a context: everything that must be equal for KV bytes to mean the same. Names are
 * not identity: weights and adapter are "sha256:<64 hex>", "blake2b:<64 hex>", "xxh3:<32 hex>" or
 * "version:<number>", in lower case; an engine without an adapter says "none".
 *
 * The words of the other axes are the engines' to agree on: values are compared byte for byte and
 * not understood. An axis that makes no difference to an engine still has to be given; "none" does.
 */
enum {
    CXLPOOL_AXIS_MODEL = 0,        /* architecture and size: "llama-3-70b" */
    CXLPOOL_AXIS_TOKENIZER = 1,    /* what made token ids of text: a digest, "bpe-32k-v2" */
    CXLPOOL_AXIS_SERIALIZER = 2,   /* how the engine writes KV into the cell, and its version */
    CXLPOOL_AXIS_POSITION = 3,     /* what positions count from: "absolute-from-0" */
    CXLPOOL_AXIS_POLICY = 4,       /* attention and cache policy: "full", "window=4096" */
    CXLPOOL_AXIS_ADMITTER = 5,     /* who admits content, and by which rules: "none" */
    CXLPOOL_AXIS_WEIGHTS = 6,      /* a digest or version, as above */
    CXLPOOL_AXIS_ADAPTER = 7,      /* a digest or version, as above, or "none" */
    CXLPOOL_AXIS_DTYPE = 8,        /* of the KV elements: "bf16" */
    CXLPOOL_AXIS_KV_QUANT = 9,     /* "none", "fp8_e4m3,per-head" */
    CXLPOOL_AXIS_ROPE = 10,        /* "theta=10000,scale=1" */
    CXLPOOL_AXIS_PAGE_TOKENS = 11, /* tokens of a block: a decimal number above 0 */
    CXLPOOL_AXIS_LAYERS = 12,      /* which layers the cell holds: "0-31" */
    CXLPOOL_AXIS_SHARD = 13,       /* which rank's part: "tp=0/2,pp=0/1" */
    CXLPOOL_AXIS_LAYOUT = 14,      /* order of the dimensions: "page,head,token,dim" */
    CXLPOOL_AXIS_COUNT = 15
};

typedef struct cxlpool_axis {
    uint32_t axis;     /* CXLPOOL_AXIS_ */
    uint32_t reserved; /* 0 */
    const char* value; /* 1 to 256 bytes of printable ASCII; borrowed for the call */
} cxlpool_axis;

/* --- values ----------------------------------------------------------------------------------- */

/* 256 bits. The digest of a span names its tokens and all before them. An engine computes it with
 * cxlpool_span_chain(), or passes a 256-bit block hash of its own. All zeros is no digest. */
typedef struct cxlpool_digest {
    uint8_t bytes[32];
} cxlpool_digest;

/* What stands at some tokens of a span and is no text: an image, a sound. */
typedef struct cxlpool_span_item {
    int64_t first_token;   /* counted from the first token of the call; negative when the item
                              began before it */
    uint64_t token_count;  /* of the whole item, also of what lies outside the call; above 0 */
    cxlpool_digest digest; /* of what the encoder was given, as the engine takes it */
} cxlpool_span_item;

/* A right to read or to fill one cell, of the client that got it. Generation 0 is no lease. */
typedef struct cxlpool_lease {
    uint32_t index;
    uint32_t generation;
} cxlpool_lease;

/* The answer about one span. Everything but verdict and status is zero unless it is a hit. */
typedef struct cxlpool_hit {
    uint32_t verdict; /* CXLPOOL_HIT_, CXLPOOL_MISS_, CXLPOOL_REFUSED_ */
    uint32_t status;  /* of this item: CXLPOOL_OK, or CXLPOOL_E_LIMIT_EXCEEDED (no lease left) */
    cxlpool_lease lease;
    uint32_t segment;
    uint32_t reserved0;
    uint64_t offset_bytes; /* in the segment */
    uint64_t length_bytes;
    cxlpool_digest digest; /* of the bytes, taken by the daemon: at the seal, and anew when a share
                              made a copy of them that no engine can write */
    uint64_t reserved1;
} cxlpool_hit;

/* A cell that is being filled. */
typedef struct cxlpool_fill {
    size_t struct_size;
    cxlpool_lease lease;
    uint32_t segment;
    uint32_t reserved;
    uint64_t offset_bytes; /* in the segment */
    uint64_t length_bytes;
    void* data; /* length_bytes writable bytes; belongs to the lease */
} cxlpool_fill;

/* How to connect. Members that are zero have their defaults. */
typedef struct cxlpool_options {
    size_t struct_size;
    const char* socket_path; /* NULL: $CXLPOOL_SOCKET (not in a set-user-id program), and without
                                it /run/cxlpool/engine.sock; borrowed for the call */
    uint64_t tenant;         /* 0: the only tenant that this user may act as */
    const char* engine_name; /* for the operator to read, 0 to 64 bytes of printable ASCII; NULL:
                                none; borrowed for the call */
    uint32_t timeout_ms;     /* of connecting, and of each call; 0: 10,000 */
    uint32_t reserved;
} cxlpool_options;

enum { CXLPOOL_MODE_SINGLE = 0, CXLPOOL_MODE_MULTI = 1 };
enum { /* bits */
       CXLPOOL_ROLE_ENGINE = 1,
       CXLPOOL_ROLE_ADJUDICATOR = 2,
       CXLPOOL_ROLE_INSPECTOR = 4,
       CXLPOOL_ROLE_ADMIN = 8
};

/* What the daemon said when the client connected. */
typedef struct cxlpool_info {
    size_t struct_size;
    uint32_t protocol_version;
    uint32_t mode;             /* CXLPOOL_MODE_ */
    uint32_t roles;            /* CXLPOOL_ROLE_ bits of this user */
    uint32_t max_lookup_spans; /* in one message; cxlpool_lookup() splits what is longer */
    uint64_t tenant;           /* that this client acts as */
    uint32_t max_leases;       /* that this client may hold at a time */
    uint32_t max_contexts;
    uint32_t lease_ttl_ms; /* a lease ends so long after it was granted or renewed */
    uint32_t reserved;
    uint64_t max_cell_bytes;
} cxlpool_info;

/* Who may attend a cell besides the engines of its owner: nobody (AGENT, which an engine says that
 * would keep it to itself, and TENANT), or any tenant that the allow-list, when there is one,
 * names. */
enum { CXLPOOL_SCOPE_AGENT = 0, CXLPOOL_SCOPE_TENANT = 1, CXLPOOL_SCOPE_FLEET = 2 };
enum { CXLPOOL_ACCESS_READ = 0, CXLPOOL_ACCESS_WRITE = 1 };
enum { CXLPOOL_REGIME_PRIVATE = 0, CXLPOOL_REGIME_COPY_ONLY = 1, CXLPOOL_REGIME_COHERENT = 2 };
enum {
    CXLPOOL_ADVICE_REUSE = 0,
    CXLPOOL_ADVICE_BUILD_PRIVATE = 1,
    CXLPOOL_ADVICE_RECOMPUTE_CHEAPER = 2
};
#define CXLPOOL_UNKNOWN UINT64_MAX /* a cost whose latency or bandwidth nobody knows */

/* A prefix that a whole fleet wants. */
typedef struct cxlpool_fleet_question {
    size_t struct_size;
    uint64_t tenants;
    uint64_t hosts; /* 0: as many as tenants */
    uint64_t tokens;
    uint64_t bytes;
    uint64_t recompute_ns_per_token;
    const char* pool; /* whose profile decides; NULL: the first; borrowed for the call */
} cxlpool_fleet_question;

typedef struct cxlpool_regime_plan {
    uint64_t prefill_tokens;
    uint64_t resident_bytes;
    uint64_t prefill_tokens_saved; /* against the private regime */
    uint64_t bytes_saved;
    uint64_t reader_cost_ns; /* of one more reader; or CXLPOOL_UNKNOWN */
} cxlpool_regime_plan;

typedef struct cxlpool_fleet_plan {
    size_t struct_size;
    uint32_t holds;  /* CXLPOOL_REGIME_ that the profile allows */
    uint32_t advice; /* CXLPOOL_ADVICE_ */
    uint64_t hosts;
    uint64_t attending_hosts;
    cxlpool_regime_plan regimes[3]; /* by CXLPOOL_REGIME_ */
    uint64_t full_pass_ns;          /* coherent: one pass over all bytes; or CXLPOOL_UNKNOWN */
    uint64_t full_pass_shared_ns;   /* with the link shared by all hosts; or CXLPOOL_UNKNOWN */
    /* What managed coherence costs besides: once when the prefix is sealed, and for each attending
     * reader before its first read. 0 where none is needed; or CXLPOOL_UNKNOWN. */
    uint64_t seal_writeback_ns;
    uint64_t reader_invalidate_ns;
} cxlpool_fleet_plan;

/* The ladder, warm to cold. 0 is no tier. */
enum {
    CXLPOOL_TIER_HBM = 1,
    CXLPOOL_TIER_DRAM = 2,
    CXLPOOL_TIER_NUMA_FAR = 3,
    CXLPOOL_TIER_CXL = 4,
    CXLPOOL_TIER_REMOTE_DRAM = 5,
    CXLPOOL_TIER_DISK = 6,
    CXLPOOL_TIER_REMOTE = 7
};
/* The states of a cell that can be moved. An expiring one is in the last quarter of its time. */
enum {
    CXLPOOL_STATE_SEALED = 1,
    CXLPOOL_STATE_EXPIRING = 2,
    CXLPOOL_STATE_EXPIRED = 3,
    CXLPOOL_STATE_SPILLED = 4
};
enum {
    CXLPOOL_ACTION_KEEP = 1,
    CXLPOOL_ACTION_PROMOTE = 2, /* to a warmer tier */
    CXLPOOL_ACTION_DEMOTE = 3,  /* to a colder one, attended there in place */
    CXLPOOL_ACTION_SPILL = 4,   /* to a colder one, copied back before use */
    CXLPOOL_ACTION_EVICT = 5
};
enum {
    CXLPOOL_REASON_HOT_PROMOTED = 1,
    CXLPOOL_REASON_FRESH_AND_ROOM = 2,
    CXLPOOL_REASON_EXPIRED_NO_DEMOTE = 3,
    CXLPOOL_REASON_NO_COLDER_TIER_WITH_ROOM = 4,
    CXLPOOL_REASON_DEMOTE_BEATS_RECOMPUTE = 5,
    CXLPOOL_REASON_SPILL_BEATS_RECOMPUTE = 6,
    CXLPOOL_REASON_RECOMPUTE_CHEAPER_THAN_RETAIN = 7 /* or one of the two costs is not known */
};
/* How a figure is known, best first. */
enum {
    CXLPOOL_SOURCE_MEASURED = 1,
    CXLPOOL_SOURCE_OBSERVED = 2,
    CXLPOOL_SOURCE_FIRMWARE = 3,
    CXLPOOL_SOURCE_DECLARED = 4,
    CXLPOOL_SOURCE_REPRESENTATIVE = 5, /* a planning figure; never from a live daemon */
    CXLPOOL_SOURCE_UNKNOWN = 6
};

/* One tier of the engine's ladder. Room and policy are the engine's; speed and sharing are those of
 * the daemon's profile. Zero everything that is not said. */
#define CXLPOOL_TIER_DEMOTE_EXPIRED 1u /* an expired cell may be demoted from here */
#define CXLPOOL_TIER_PROMOTE 2u        /* promote_touches_per_hour is given */
typedef struct cxlpool_placement_tier {
    uint32_t tier;                     /* CXLPOOL_TIER_HBM and the others */
    uint32_t flags;                    /* CXLPOOL_TIER_DEMOTE_EXPIRED, CXLPOOL_TIER_PROMOTE */
    uint64_t used_bytes;               /* that lie there */
    uint64_t capacity_bytes;           /* that the engine may use; 0: the profile's */
    uint64_t ttl_ns;                   /* from the entry into the tier; 0: for ever */
    uint64_t promote_touches_per_hour; /* as often touched is promoted; without the flag 0 */
    const char* pool; /* whose profile; NULL: the first pool of the tier, else the host's memory;
                         borrowed for the call */
} cxlpool_placement_tier;

#define CXLPOOL_CELL_LEASED 1u  /* somebody attends it: it is left alone */
#define CXLPOOL_CELL_REVIVED 2u /* since_revival_ns is given */
typedef struct cxlpool_placement_cell {
    uint32_t state; /* CXLPOOL_STATE_ */
    uint32_t tier;  /* where it lies; one of the tiers of the call */
    uint32_t flags; /* CXLPOOL_CELL_ */
    uint32_t reserved;
    uint64_t bytes;            /* at least 1 */
    uint64_t in_tier_ns;       /* since it entered the tier */
    uint64_t since_touch_ns;   /* since the last touch; 0 without touches */
    uint64_t since_revival_ns; /* since the last touch that found it expiring; without the flag 0 */
    uint64_t touches;          /* since it entered the tier */
    uint64_t recompute_ns;     /* that computing it again takes; 0: unknown */
} cxlpool_placement_cell;

/* Where one cell should lie. All else is 0 when the status is not CXLPOOL_OK. */
typedef struct cxlpool_placement_directive {
    uint32_t status;  /* CXLPOOL_E_WRONG_STATE: leased. CXLPOOL_E_INVALID_ARGUMENT: no bytes, a tier
                         that the call does not have, times that contradict each other.
                         CXLPOOL_E_OVERFLOW: coming back takes longer than 64 bits of ns */
    uint32_t action;  /* CXLPOOL_ACTION_ */
    uint32_t reason;  /* CXLPOOL_REASON_ */
    uint32_t state;   /* CXLPOOL_STATE_ at the time of the plan */
    uint32_t to_tier; /* 0: none, it is to be evicted */
    uint32_t weighed_tier;  /* the colder tier that the return cost is of; 0: none was weighed */
    uint32_t return_source; /* CXLPOOL_SOURCE_ of the return cost; 0: none was weighed */
    uint32_t reserved;
    uint64_t return_cost_ns; /* of coming back; 0 when none was weighed; or CXLPOOL_UNKNOWN */
    uint64_t recompute_ns;   /* as the cell had it; or CXLPOOL_UNKNOWN */
} cxlpool_placement_directive;

/* What the daemon counts of the tenant that a client acts as, over all its connections, and of
 * nobody else: how many cells of other tenants went for its own is not told, nor what a pool has
 * room for. The first six count since the daemon's start, or since the tenant was erased; who wants
 * a window subtracts. */
typedef struct cxlpool_tenant_statistics {
    size_t struct_size;
    uint64_t hits;
    uint64_t misses;
    uint64_t evictions_suffered; /* cells of this tenant that went so that there was room */
    uint64_t evictions_self;     /* of those, for new cells of its own */
    uint64_t cells_materialised; /* sealed */
    uint64_t bytes_materialised;
    uint64_t cells; /* now: filling, sealed and quarantined */
    uint64_t bytes; /* of those cells */
    uint64_t live_leases;
    uint32_t tier_rows;    /* that there are, also when fewer were asked for */
    uint32_t refusal_rows; /* the same */
} cxlpool_tenant_statistics;

/* A tier in which the tenant holds or has reserved something. */
typedef struct cxlpool_tier_statistics {
    size_t struct_size;
    uint32_t tier; /* CXLPOOL_TIER_ */
    uint32_t reserved;
    uint64_t resident_bytes; /* that it is charged: segments of its own count whole */
    uint64_t reserved_bytes; /* that nobody else's demand takes from it */
} cxlpool_tier_statistics;

/* Requests of the tenant that were answered with an error. */
typedef struct cxlpool_refusal_statistics {
    size_t struct_size;
    uint32_t code; /* CXLPOOL_E_, or one that a newer daemon has */
    uint32_t reserved;
    uint64_t count; /* since the daemon's start */
} cxlpool_refusal_statistics;

/* A connection to the daemon as one tenant. */
typedef struct cxlpool_client cxlpool_client;
/* A context that is registered on one client. */
typedef struct cxlpool_context cxlpool_context;

/* --- connection ------------------------------------------------------------------------------- */

/* Connects and agrees on the protocol. `options` may be NULL: all defaults. `*out` is the caller's,
 * to be given back with cxlpool_close(). Blocks.
 * Errors: the common ones; here NOT_PERMITTED means that the socket's mode or the daemon's grants
 * shut this user out, or not from that tenant.
 *   CXLPOOL_E_UNAVAILABLE          Nobody listens there. Is cxlpoold running? Try again later.
 *   CXLPOOL_E_UNSUPPORTED_VERSION  Library and daemon have no protocol version in common. Update
 *                                  the older one.
 *   CXLPOOL_E_TOO_LARGE            The engine name is longer than 64 bytes. */
CXLPOOL_API int cxlpool_connect(const cxlpool_options* options, cxlpool_client** out);

/* Disconnects, unmaps everything, frees the client and its contexts. The daemon ends its leases and
 * rolls unsealed fills back. NULL is allowed. Does not block. */
CXLPOOL_API void cxlpool_close(cxlpool_client* client);

/* What was agreed on. Set info->struct_size before. Does not block, does not ask the daemon, also
 * answers when the connection is gone.
 * Errors: of the common ones only INVALID_ARGUMENT. */
CXLPOOL_API int cxlpool_get_info(const cxlpool_client* client, cxlpool_info* info);

/* --- contexts --------------------------------------------------------------------------------- */

/* Registers a context from `n` axes in any order, each at most once. A context with an axis left
 * out may be looked up with, and never hits. `*out` is the client's: give it back with
 * cxlpool_context_destroy() or with the client. Blocks.
 * Errors: the common ones; here LIMIT_EXCEEDED means info.max_contexts.
 *   CXLPOOL_E_TOO_LARGE  A value is longer than 256 bytes. */
CXLPOOL_API int cxlpool_context_create(cxlpool_client* client, const cxlpool_axis* axes, size_t n,
                                       cxlpool_context** out);

/* Frees the handle, whatever it returns, except for WRONG_STATE. Cells and leases of the context
 * stay. NULL is allowed. Blocks. Errors: the common ones. CXLPOOL_E_NOT_FOUND  The daemon does not
 * know it any more. Nothing is left to do. */
CXLPOOL_API int cxlpool_context_destroy(cxlpool_context* context);

/* The digest of a whole context, for logs and for engines that keep track of theirs; the daemon
 * does not ask for it. The same `n` axes, in any order, have the same digest everywhere; an axis
 * left out is different from any value. The recipe is docs/span-digest.md. Needs no client; does
 * not block.
 * Errors:
 *   CXLPOOL_E_INVALID_ARGUMENT  A pointer is null, or the axes are none that
 *                               cxlpool_context_create() would take.
 *   CXLPOOL_E_TOO_LARGE         A value is longer than 256 bytes.
 *   CXLPOOL_E_OUT_OF_MEMORY     This process has no memory. */
CXLPOOL_API int cxlpool_context_identity(const cxlpool_axis* axes, size_t n, cxlpool_digest* out);

/* --- span digests -------------------------------------------------------------------------------
 * How to name spans so that every engine, in every process and on every machine, finds what another
 * one filled: a digest over the tokens, the media items among them, and the digest of the span
 * before. The recipe, with test vectors, is docs/span-digest.md. The context is no part of it: it
 * is asked for beside the span and compared for itself.
 *
 * Engines that share cells must agree on what they pass: token ids as the tokenizer of the context
 * numbers them, any one fixed id at the tokens of a media item, and for an item a 256-bit digest of
 * what its encoder is given. Items are in the order of their tokens and do not overlap, and each
 * holds a token of the call: an item that ends before or begins after it is not passed. One that
 * reaches across the edge is, with its whole length. An engine whose items interleave passes the
 * pieces, each with a digest of its own.
 *
 * These functions need no client, never block, and may be called by any number of threads. */

/* The digest of one span of `token_count` tokens, at least one. `parent` is the digest of the span
 * before it; NULL: it is the first of its sequence. `items` may be NULL when `item_count` is 0. All
 * arrays are borrowed for the call. Writes one digest.
 * Errors:
 *   CXLPOOL_E_INVALID_ARGUMENT  A pointer is null where something is counted; there is no token;
 *                               `parent` or the digest of an item is all zeros; an item has no
 *                               token, holds none of the call, is out of order or overlaps another.
 *   CXLPOOL_E_OVERFLOW          An item ends beyond 63 bits.
 *   CXLPOOL_E_TOO_LARGE         More tokens or items than an array in memory can have.
 *   CXLPOOL_E_OUT_OF_MEMORY     This process has no memory. */
CXLPOOL_API int cxlpool_span_digest(const cxlpool_digest* parent, const uint32_t* tokens,
                                    size_t token_count, const cxlpool_span_item* items,
                                    size_t item_count, cxlpool_digest* out);

/* Cuts `token_count` tokens into blocks of `page_tokens` (above 0; an axis of the context) and
 * writes the digest of each, the first the child of `parent` (NULL: of none), every other of the
 * one before: the same as a call of cxlpool_span_digest() for each block, with the items that hold
 * a token of it. Tokens after the last whole block are not named until there are enough of them; to
 * go on later, pass the last digest as the parent of what follows. `digest_count`, the room at
 * `out`, must be token_count / page_tokens; `out` may be NULL when that is 0. All arrays are
 * borrowed for the call.
 * Errors: as cxlpool_span_digest(), but no token at all is no error.
 *   CXLPOOL_E_INVALID_ARGUMENT  Also: page_tokens is 0, or digest_count another number.
 *   CXLPOOL_E_OVERFLOW          An item ends beyond 63 bits.
 *   CXLPOOL_E_TOO_LARGE         More tokens or items than an array in memory can have.
 *   CXLPOOL_E_OUT_OF_MEMORY     This process has no memory. */
CXLPOOL_API int cxlpool_span_chain(const cxlpool_digest* parent, const uint32_t* tokens,
                                   size_t token_count, const cxlpool_span_item* items,
                                   size_t item_count, uint32_t page_tokens, cxlpool_digest* out,
                                   size_t digest_count);

/* --- reading ---------------------------------------------------------------------------------- */

/* Asks about `n` spans at once and writes `n` answers in their order. Every hit holds a lease, to
 * be given back with cxlpool_release(). A failure about one span is that item's status; when the
 * call itself fails, no lease is held. `n` may be 0. An own cell is a hit as soon as it is sealed,
 * shared or not; looked up twice, it gives two leases. A lease that was granted before a share goes
 * on, over the bytes where they were. A digest of zeros is a miss like any other. Blocks, once for
 * each info.max_lookup_spans spans.
 * Errors: the common ones; here INVALID_ARGUMENT also means that a span stands in the call twice.
 *   CXLPOOL_E_NOT_FOUND  The daemon does not know the context. Create it again. */
CXLPOOL_API int cxlpool_lookup(cxlpool_context* context, const cxlpool_digest* spans, size_t n,
                               cxlpool_hit* out);

/* Where the bytes of a hit are, in this process: hit->length_bytes bytes, read-only, in a mapping
 * of the whole segment that is made once and shared by all hits in it. `*data` belongs to the
 * lease of the hit. Blocks when the segment is not mapped yet.
 * Errors: the common ones; here WRONG_STATE also means that the verdict is not
 * CXLPOOL_HIT_IN_PLACE.
 *   CXLPOOL_E_STALE_LEASE  The lease has ended. Look the span up again. */
CXLPOOL_API int cxlpool_attend(cxlpool_client* client, const cxlpool_hit* hit, const void** data);

/* 1 while the lease is live, else 0. Reads shared memory and the clock: cheap enough for every
 * layer of a forward pass. Ordered after the reads of the cell before it and before those after it,
 * so that it may be asked before bytes are used and again after. Never blocks, never asks the
 * daemon. */
CXLPOOL_API int cxlpool_lease_live(const cxlpool_client* client, cxlpool_lease lease);

/* Starts the time of the lease again. `ttl_ms`: how long it lasts now; may be NULL. Blocks.
 * Errors: the common ones.
 *   CXLPOOL_E_STALE_LEASE  It had ended: too late, released, or its fill was sealed.
 *   CXLPOOL_E_REVOKED      It was taken away. Stop using the bytes, and release it. */
CXLPOOL_API int cxlpool_renew(cxlpool_client* client, cxlpool_lease lease, uint32_t* ttl_ms);

/* Gives a lease back; a cell that is being filled is rolled back. Pointers that belong to it are
 * unmapped, whatever this returns, except for WRONG_STATE. Blocks.
 * Errors: the common ones; here WRONG_STATE also means that another thread is sealing the fill.
 *   CXLPOOL_E_STALE_LEASE  It had ended already. Nothing is left to do.
 *   CXLPOOL_E_REVOKED      It had been taken away. Nothing is left to do. */
CXLPOOL_API int cxlpool_release(cxlpool_client* client, cxlpool_lease lease);

/* --- writing ---------------------------------------------------------------------------------- */

/* Begins a cell of `length_bytes` bytes (1 to info.max_cell_bytes) for `span`, in `pool` or, when
 * that is NULL, where the daemon chooses. `recompute_ns` is what computing these bytes again would
 * take, 0 where that is unknown: when the pool is full, this tenant's cells that are cheap for
 * their size and have not been asked for go first. Set out->struct_size before. The bytes at
 * out->data, which begin on a boundary of 4096 bytes, are visible to this tenant's engines only and
 * to be written in place before cxlpool_seal(); then or with cxlpool_release() the fill ends.
 * Blocks.
 * Errors: the common ones; here LIMIT_EXCEEDED means leases, bytes being filled, or cells.
 *   CXLPOOL_E_TOO_LARGE       Over info.max_cell_bytes, or a pool name over 64 bytes.
 *   CXLPOOL_E_CAPACITY        No room now, and nothing that may go: what is left is leased, or
 *                             within what others are guaranteed. Release leases; try again later.
 *   CXLPOOL_E_SPAN_EXCEEDS_CAPACITY  Longer than the pool, or than every pool, when empty. Begin
 *                             shorter spans; the same call fails again.
 *   CXLPOOL_E_KEY_INCOMPLETE  The context lacks an axis. Create a complete one.
 *   CXLPOOL_E_ALREADY_EXISTS  This tenant has this cell, filled or being filled. Look it up. (One
 *                             that was poisoned is no obstacle: it makes way, and the new cell is
 *                             judged anew.)
 *   CXLPOOL_E_NOT_FOUND       No such pool, or the daemon does not know the context. */
CXLPOOL_API int cxlpool_begin(cxlpool_context* context, const cxlpool_digest* span,
                              uint64_t length_bytes, uint64_t recompute_ns, const char* pool,
                              cxlpool_fill* out);

/* Ends a fill and makes its cell readable, as far as scope and trust allow. The daemon takes the
 * digest of the bytes and writes it to `digest` (may be NULL): compare it where it matters that
 * nobody else wrote. On success fill->data becomes NULL and the lease is over; on failure the fill
 * is as it was: release it, or try again. Blocks while the daemon reads the bytes.
 * Errors: the common ones; here WRONG_STATE also means that fill->data is NULL, or that another
 * thread is sealing it.
 *   CXLPOOL_E_STALE_LEASE  The lease had ended, and the cell with it. Release it and begin again.
 *   CXLPOOL_E_CANCELLED    The cell was removed while it was being sealed. Release it.
 *   CXLPOOL_E_CAPACITY     No room for the bytes where they would be safe to share. */
CXLPOOL_API int cxlpool_seal(cxlpool_client* client, cxlpool_fill* fill, cxlpool_digest* digest);

/* Says who may attend the cell of `span`: CXLPOOL_SCOPE_AGENT, _TENANT or _FLEET, the last
 * narrowed to the `n` tenants of `allow` when n > 0 (at most 64). Sharing does not make a cell
 * trusted: an adjudicator does. Blocks while the daemon moves the bytes to where no engine can
 * write them.
 * Errors: the common ones; here WRONG_STATE also means that the cell is not sealed, is
 * quarantined, or is being worked on.
 *   CXLPOOL_E_NOT_FOUND  This tenant has no such cell, or the daemon does not know the context.
 *   CXLPOOL_E_TOO_LARGE  More than 64 tenants.
 *   CXLPOOL_E_CAPACITY   No room to move the bytes to. The cell is as it was; try again later.
 *   CXLPOOL_E_CANCELLED  The cell was removed in between. */
CXLPOOL_API int cxlpool_share(cxlpool_context* context, const cxlpool_digest* span, int scope,
                              const uint64_t* allow, size_t n);

/* --- segments --------------------------------------------------------------------------------- */

/* A descriptor of a segment, for an engine that registers memory with a device itself. `access` is
 * CXLPOOL_ACCESS_READ or _WRITE; a descriptor for reading cannot be mapped writable. `*fd` is the
 * caller's to close, and outlives leases and client: stop reading when the lease ends. Blocks.
 * Errors: the common ones; here NOT_PERMITTED means that this client may only read the segment.
 *   CXLPOOL_E_STALE_LEASE  No live lease of this client is in the segment. */
CXLPOOL_API int cxlpool_segment_fd(cxlpool_client* client, uint32_t segment, int access, int* fd);

/* --- planning --------------------------------------------------------------------------------- */

/* What a prefix costs a fleet under the live profile of a pool: private, copied, or attended in
 * place. Set plan->struct_size before. Blocks.
 * Errors: the common ones.
 *   CXLPOOL_E_SPAN_EXCEEDS_CAPACITY  The bytes do not fit the pool.
 *   CXLPOOL_E_OVERFLOW               A result does not fit 64 bits.
 *   CXLPOOL_E_TOO_LARGE              A pool name over 64 bytes.
 *   CXLPOOL_E_NOT_FOUND              No such pool. */
CXLPOOL_API int cxlpool_plan_fleet(cxlpool_client* client, const cxlpool_fleet_question* question,
                                   cxlpool_fleet_plan* plan);

/* Where each of `n` cells (1 to 256) should lie on the ladder of `n_tiers` tiers (1 to 7, each
 * once), and why: `out` has room for `n` directives, written in the order of the cells. Each cell
 * is planned as if the directives before it had been carried out. A plan and no more: the daemon
 * moves nothing, keeps nothing of it, and says nothing of what others store. The rules are
 * docs/placement.md. A failure about one cell is the status of its directive. Blocks.
 * Errors: the common ones; here INVALID_ARGUMENT also means no tier, no cell, or a number that is
 * not one of the enumerations.
 *   CXLPOOL_E_TOO_LARGE       More than 7 tiers or 256 cells, or a pool name over 64 bytes.
 *   CXLPOOL_E_NOT_FOUND       No pool of this name in its tier.
 *   CXLPOOL_E_ALREADY_EXISTS  A tier stands twice. */
CXLPOOL_API int cxlpool_plan_placement(cxlpool_client* client, const cxlpool_placement_tier* tiers,
                                       size_t n_tiers, const cxlpool_placement_cell* cells,
                                       size_t n, cxlpool_placement_directive* out);

/* --- statistics ------------------------------------------------------------------------------- */

/* What the tenant of this client did and holds. Set out->struct_size before, and the struct_size of
 * the first row of each array: that is how far apart the rows are, and all that are written get it.
 * At most `tier_room` and `refusal_room` rows are written, in ascending order of tier and code;
 * out->tier_rows and out->refusal_rows say how many there are. An array may be NULL when its room
 * is 0; 7 tiers are all that there can be. Blocks.
 * Errors: the common ones. CXLPOOL_E_UNKNOWN_WORD  The daemon is older than this call. */
CXLPOOL_API int cxlpool_statistics(cxlpool_client* client, cxlpool_tenant_statistics* out,
                                   cxlpool_tier_statistics* tiers, size_t tier_room,
                                   cxlpool_refusal_statistics* refusals, size_t refusal_room);

/* --- words ------------------------------------------------------------------------------------ */

/* The name of a code as everywhere in cxlpool, "ok" or "not_permitted"; "unknown_error" for one
 * that this library does not know. Static; never blocks. */
CXLPOOL_API const char* cxlpool_strerror(int code);

/* The sentence about the last failure of this thread: the daemon's where it was the daemon that
 * refused; "" before any. Valid until the next failure in this thread. Never blocks. */
CXLPOOL_API const char* cxlpool_last_message(void);

/* "hit/in_place", "miss/absent", "untrusted", "model_mismatch"; "unknown" for a number that this
 * library does not know. Static; never blocks. */
CXLPOOL_API const char* cxlpool_verdict_name(uint32_t verdict);

/* The version of the library, "0.1.0". Static; never blocks. */
CXLPOOL_API const char* cxlpool_version(void);

#ifdef __cplusplus
}
#endif

#endif /* CXLPOOL_CXLPOOL_H */
