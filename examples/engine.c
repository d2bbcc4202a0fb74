/* cxlpool-example-engine: what an inference engine does with libcxlpool, in plain C.
 *
 * It uses the public header only. The "KV bytes" are a pattern that follows from the span, so that
 * a second process can check every byte that it attends.
 *
 * Exit status: 0 it worked, 1 the answer was no or something failed, 2 bad usage. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cxlpool/cxlpool.h>

#define PROGRAM "cxlpool-example-engine"
#define DEFAULT_BYTES (UINT64_C(8) << 20)

enum { EXIT_YES = 0, EXIT_NO = 1, EXIT_USAGE = 2 };

struct arguments {
    const char* socket_path;
    uint64_t tenant;
    const char* model;
    cxlpool_digest span;
    uint64_t bytes; /* 0: not said */
    uint32_t timeout_ms;
    int scope;
    bool verify;
    bool prove_read_only;
    bool hold_until_revoked;
    uint32_t hold_ms;
};

static const char usage_text[] =
    "usage: " PROGRAM
    " COMMAND [OPTION...]\n"
    "\n"
    "commands:\n"
    "  produce   fill a cell in place and seal it: \"sealed bytes=N digest=HEX\"\n"
    "  share     say who may attend it: \"shared scope=fleet\"\n"
    "  lookup    ask for it: \"verdict=miss/absent\", \"verdict=hit/in_place bytes=N\"\n"
    "  attend    look it up, which must hit, and read it where it lies\n"
    "  context   print the context as JSON, for cxlpoolctl verdict --context; asks nobody\n"
    "\n"
    "options of all commands:\n"
    "  --socket PATH       the daemon's engine socket (default: $CXLPOOL_SOCKET, then the\n"
    "                      built-in path)\n"
    "  --tenant N          the tenant to act as (default: the only one that is possible)\n"
    "  --model NAME        the model axis of the context (default: demo-model)\n"
    "  --span HEX64        the digest of the span, 64 hexadecimal digits\n"
    "  --span-seed TEXT    or a text, each byte a token, to make one from (default: demo)\n"
    "  --timeout-ms N      how long to wait for each answer (default: the library's)\n"
    "  --help              this text\n"
    "\n"
    "produce:\n"
    "  --bytes N           the length of the cell; KiB, MiB and GiB may follow (default: 8MiB)\n"
    "share:\n"
    "  --scope WORD        agent, tenant or fleet (required)\n"
    "attend:\n"
    "  --bytes N           fail unless the cell has this length\n"
    "  --verify            check every byte: \"verified bytes=N\"\n"
    "  --prove-read-only   try to write all the same, and fail: \"writable mapping refused: "
    "...\",\n"
    "                      \"re-open writable refused: ...\"\n"
    "  --hold-until-revoked  keep the lease until the daemon takes it away: \"holding\", then\n"
    "                      \"lease revoked\"\n"
    "  --hold-ms N         how long to wait for that (default: 60000)\n";

/* --- small helpers ---------------------------------------------------------------------------- */

static int fail(const char* doing, int code) {
    fprintf(stderr, PROGRAM ": %s: %s: %s\n", doing, cxlpool_strerror(code),
            cxlpool_last_message());
    return EXIT_NO;
}

static int bad_usage(const char* what, const char* value) {
    fprintf(stderr, PROGRAM ": %s '%s'; try --help\n", what, value);
    return EXIT_USAGE;
}

/* A bijection that leaves no visible structure (the finalizer of splitmix64). */
static uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* The name of the span whose tokens are the bytes of `text`; false when there are none. A real
 * engine passes what its tokenizer gives, and cuts it with cxlpool_span_chain(). */
static bool name_text(const char* text, cxlpool_digest* digest) {
    const size_t length = strlen(text);
    uint32_t* tokens = calloc(length + 1, sizeof *tokens);
    if (tokens == NULL)
        return false;
    for (size_t i = 0; i < length; ++i)
        tokens[i] = (unsigned char)text[i];
    const int code = cxlpool_span_digest(NULL, tokens, length, NULL, 0, digest);
    free(tokens);
    return code == CXLPOOL_OK;
}

static bool parse_digest(const char* hex, cxlpool_digest* digest) {
    if (strlen(hex) != 2 * sizeof digest->bytes)
        return false;
    for (size_t i = 0; i < sizeof digest->bytes; ++i) {
        const char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        if (!isxdigit((unsigned char)pair[0]) || !isxdigit((unsigned char)pair[1]))
            return false;
        digest->bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return true;
}

static bool parse_number(const char* text, uint64_t max, const char** end, uint64_t* value) {
    char* rest = NULL;
    errno = 0;
    if (!isdigit((unsigned char)text[0]))
        return false;
    const unsigned long long parsed = strtoull(text, &rest, 10);
    if (errno != 0 || parsed > max || (end == NULL && *rest != '\0'))
        return false;
    if (end != NULL)
        *end = rest;
    *value = parsed;
    return true;
}

static bool parse_bytes(const char* text, uint64_t* value) {
    static const struct {
        const char* unit;
        unsigned shift;
    } units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
    const char* unit = NULL;
    uint64_t number = 0;
    if (!parse_number(text, UINT64_MAX, &unit, &number))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; ++i) {
        if (strcmp(unit, units[i].unit) == 0 && number <= UINT64_MAX >> units[i].shift) {
            *value = number << units[i].shift;
            return *value > 0;
        }
    }
    return false;
}

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* --- the pattern ------------------------------------------------------------------------------ */

static uint64_t pattern_seed(const cxlpool_digest* span) {
    uint64_t seed = 0;
    for (unsigned i = 0; i < 8; ++i)
        seed |= (uint64_t)span->bytes[i] << (8 * i);
    return seed;
}

static uint8_t pattern_byte(uint64_t word, uint64_t at) {
    return (uint8_t)(word >> (8 * (at % 8)));
}

static void write_pattern(void* data, uint64_t length, const cxlpool_digest* span) {
    uint8_t* bytes = data;
    const uint64_t seed = pattern_seed(span);
    uint64_t word = 0;
    for (uint64_t at = 0; at < length; ++at) {
        if (at % 8 == 0)
            word = mix(seed + at / 8);
        bytes[at] = pattern_byte(word, at);
    }
}

/* The first byte that differs, or `length`. */
static uint64_t compare_pattern(const void* data, uint64_t length, const cxlpool_digest* span) {
    const uint8_t* bytes = data;
    const uint64_t seed = pattern_seed(span);
    uint64_t word = 0;
    for (uint64_t at = 0; at < length; ++at) {
        if (at % 8 == 0)
            word = mix(seed + at / 8);
        if (bytes[at] != pattern_byte(word, at))
            return at;
    }
    return length;
}

/* --- the commands ----------------------------------------------------------------------------- */

/* The identity of what this engine computes. In the order of the axes. */
static void fill_axes(const char* model, cxlpool_axis axes[CXLPOOL_AXIS_COUNT]) {
    static const char* const values[CXLPOOL_AXIS_COUNT] = {
        [CXLPOOL_AXIS_TOKENIZER] = "demo-bpe-32k",
        [CXLPOOL_AXIS_SERIALIZER] = "raw-1",
        [CXLPOOL_AXIS_POSITION] = "absolute-from-0",
        [CXLPOOL_AXIS_POLICY] = "default",
        [CXLPOOL_AXIS_ADMITTER] = "none",
        [CXLPOOL_AXIS_WEIGHTS] =
            "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
        [CXLPOOL_AXIS_ADAPTER] = "none",
        [CXLPOOL_AXIS_DTYPE] = "bf16",
        [CXLPOOL_AXIS_KV_QUANT] = "none",
        [CXLPOOL_AXIS_ROPE] = "theta=10000",
        [CXLPOOL_AXIS_PAGE_TOKENS] = "16",
        [CXLPOOL_AXIS_LAYERS] = "0-31",
        [CXLPOOL_AXIS_SHARD] = "tp=0/1",
        [CXLPOOL_AXIS_LAYOUT] = "page,head,token,dim",
    };
    for (uint32_t axis = 0; axis < CXLPOOL_AXIS_COUNT; ++axis) {
        axes[axis].axis = axis;
        axes[axis].reserved = 0;
        axes[axis].value = axis == CXLPOOL_AXIS_MODEL ? model : values[axis];
    }
}

static void print_json_text(const char* text) {
    putchar('"');
    for (; *text != '\0'; ++text) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

static int print_context(const struct arguments* args) {
    static const char* const words[CXLPOOL_AXIS_COUNT] = {
        "model",    "tokenizer",   "serializer", "position", "policy",
        "admitter", "weights",     "adapter",    "dtype",    "kv_quant",
        "rope",     "page_tokens", "layers",     "shard",    "layout"};
    cxlpool_axis axes[CXLPOOL_AXIS_COUNT];
    fill_axes(args->model, axes);
    for (size_t i = 0; i < CXLPOOL_AXIS_COUNT; ++i) {
        printf(i == 0 ? "{" : ",\n ");
        print_json_text(words[i]);
        printf(": ");
        print_json_text(axes[i].value);
    }
    printf("}\n");
    return EXIT_YES;
}

static int produce(cxlpool_client* client, cxlpool_context* context, const struct arguments* args) {
    cxlpool_fill fill = {.struct_size = sizeof fill};
    cxlpool_digest digest;
    const uint64_t length = args->bytes != 0 ? args->bytes : DEFAULT_BYTES;
    int code = cxlpool_begin(context, &args->span, length, 0, NULL, &fill);
    if (code != CXLPOOL_OK)
        return fail("begin", code);
    write_pattern(fill.data, fill.length_bytes, &args->span);
    code = cxlpool_seal(client, &fill, &digest);
    if (code != CXLPOOL_OK) {
        const int status = fail("seal", code);
        cxlpool_release(client, fill.lease);
        return status;
    }
    printf("sealed bytes=%" PRIu64 " digest=", fill.length_bytes);
    for (size_t i = 0; i < sizeof digest.bytes; ++i)
        printf("%02x", digest.bytes[i]);
    printf("\n");
    return EXIT_YES;
}

static int share(cxlpool_client* client, cxlpool_context* context, const struct arguments* args) {
    static const char* const words[] = {"agent", "tenant", "fleet"};
    (void)client;
    const int code = cxlpool_share(context, &args->span, args->scope, NULL, 0);
    if (code != CXLPOOL_OK)
        return fail("share", code);
    printf("shared scope=%s\n", words[args->scope]);
    return EXIT_YES;
}

/* Asks, and says the verdict when it is no hit or when it was all that was wanted. */
static int ask(cxlpool_context* context, const struct arguments* args, bool always_say,
               cxlpool_hit* hit) {
    const int code = cxlpool_lookup(context, &args->span, 1, hit);
    if (code != CXLPOOL_OK)
        return fail("lookup", code);
    if (hit->status != CXLPOOL_OK) {
        fprintf(stderr, PROGRAM ": lookup: %s\n", cxlpool_strerror((int)hit->status));
        return EXIT_NO;
    }
    if (hit->lease.generation == 0)
        printf("verdict=%s\n", cxlpool_verdict_name(hit->verdict));
    else if (always_say)
        printf("verdict=%s bytes=%" PRIu64 "\n", cxlpool_verdict_name(hit->verdict),
               hit->length_bytes);
    return EXIT_YES;
}

static int lookup(cxlpool_client* client, cxlpool_context* context, const struct arguments* args) {
    cxlpool_hit hit;
    const int status = ask(context, args, true, &hit);
    if (status == EXIT_YES && hit.lease.generation != 0)
        cxlpool_release(client, hit.lease);
    return status;
}

static const char* errno_name(int number) {
    switch (number) {
        case EACCES:
            return "EACCES";
        case EPERM:
            return "EPERM";
        case ENXIO:
            return "ENXIO";
        case ETXTBSY:
            return "ETXTBSY";
        default:
            return strerror(number);
    }
}

/* True when the descriptor cannot be mapped for writing; errno then says why not. */
static bool mapping_is_refused(int fd, uint64_t offset, uint64_t length) {
    /* A whole page around the cell, from the start of the segment, which is aligned for every kind
     * of segment. */
    void* at = mmap(NULL, (size_t)(offset + length), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return true;
    munmap(at, (size_t)(offset + length));
    return false;
}

static bool is_a_refusal(int number) {
    return number == EACCES || number == EPERM;
}

static int prove_read_only(cxlpool_client* client, const cxlpool_hit* hit) {
    int fd = -1;
    const int code = cxlpool_segment_fd(client, hit->segment, CXLPOOL_ACCESS_READ, &fd);
    if (code != CXLPOOL_OK)
        return fail("segment descriptor", code);
    int status = EXIT_NO;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);

    if (!mapping_is_refused(fd, hit->offset_bytes, hit->length_bytes)) {
        fprintf(stderr, PROGRAM ": a writable mapping was possible\n");
    } else if (!is_a_refusal(errno)) {
        fprintf(stderr, PROGRAM ": a writable mapping failed for another reason: %s\n",
                strerror(errno));
    } else {
        printf("writable mapping refused: %s\n", errno_name(errno));
        const int writable = open(path, O_RDWR | O_CLOEXEC);
        if (writable < 0 && is_a_refusal(errno)) {
            printf("re-open writable refused: %s\n", errno_name(errno));
            status = EXIT_YES;
        } else if (writable < 0) {
            fprintf(stderr, PROGRAM ": re-opening %s failed for another reason: %s\n", path,
                    strerror(errno));
        } else if (mapping_is_refused(writable, hit->offset_bytes, hit->length_bytes) &&
                   is_a_refusal(errno)) {
            printf("re-open writable refused: %s when mapped\n", errno_name(errno));
            status = EXIT_YES;
        } else {
            fprintf(stderr, PROGRAM ": %s could be opened and mapped for writing\n", path);
        }
        if (writable >= 0)
            close(writable);
    }
    close(fd);
    return status;
}

/* Renews in time, so that the lease ends only when it is taken away. */
static int hold_until_revoked(cxlpool_client* client, const cxlpool_hit* hit, uint32_t hold_ms) {
    const struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};
    cxlpool_info info = {.struct_size = sizeof info};
    int code = cxlpool_get_info(client, &info);
    if (code != CXLPOOL_OK)
        return fail("info", code);
    printf("holding\n");
    fflush(stdout);
    const uint64_t start = now_ms();
    uint64_t renewed = start;
    while (now_ms() - start < hold_ms) {
        const bool live = cxlpool_lease_live(client, hit->lease) == 1;
        if (!live || now_ms() - renewed >= info.lease_ttl_ms / 3) {
            code = cxlpool_renew(client, hit->lease, NULL);
            if (code == CXLPOOL_E_REVOKED) {
                printf("lease revoked\n");
                return EXIT_YES;
            }
            if (code != CXLPOOL_OK)
                return fail("the lease ended, but was not revoked", code);
            renewed = now_ms();
        }
        nanosleep(&pause, NULL);
    }
    fprintf(stderr, PROGRAM ": the lease was still live after %" PRIu32 " ms\n", hold_ms);
    return EXIT_NO;
}

static int attend_hit(cxlpool_client* client, const cxlpool_hit* hit,
                      const struct arguments* args) {
    const void* data = NULL;
    const int code = cxlpool_attend(client, hit, &data);
    if (code != CXLPOOL_OK)
        return fail("attend", code);
    if (args->bytes != 0 && args->bytes != hit->length_bytes) {
        fprintf(stderr, PROGRAM ": the cell has %" PRIu64 " bytes, not %" PRIu64 "\n",
                hit->length_bytes, args->bytes);
        return EXIT_NO;
    }
    if (args->verify) {
        const uint64_t same = compare_pattern(data, hit->length_bytes, &args->span);
        if (same != hit->length_bytes) {
            fprintf(stderr, PROGRAM ": byte %" PRIu64 " is not what was written\n", same);
            return EXIT_NO;
        }
        /* What was read counts only if the lease was live to the end. */
        if (!cxlpool_lease_live(client, hit->lease)) {
            fprintf(stderr, PROGRAM ": the lease ended while the bytes were read\n");
            return EXIT_NO;
        }
        printf("verified bytes=%" PRIu64 "\n", hit->length_bytes);
    } else {
        printf("attended bytes=%" PRIu64 "\n", hit->length_bytes);
    }
    if (args->prove_read_only && prove_read_only(client, hit) != EXIT_YES)
        return EXIT_NO;
    if (args->hold_until_revoked)
        return hold_until_revoked(client, hit, args->hold_ms);
    return EXIT_YES;
}

static int attend(cxlpool_client* client, cxlpool_context* context, const struct arguments* args) {
    cxlpool_hit hit;
    int status = ask(context, args, false, &hit);
    if (status != EXIT_YES)
        return status;
    if (hit.lease.generation == 0)
        return EXIT_NO;
    status = attend_hit(client, &hit, args);
    /* Also when it was revoked: the mapping goes with it. */
    cxlpool_release(client, hit.lease);
    return status;
}

/* --- the command line ------------------------------------------------------------------------- */

static bool parse_scope(const char* word, int* scope) {
    if (strcmp(word, "agent") == 0)
        *scope = CXLPOOL_SCOPE_AGENT;
    else if (strcmp(word, "tenant") == 0)
        *scope = CXLPOOL_SCOPE_TENANT;
    else if (strcmp(word, "fleet") == 0)
        *scope = CXLPOOL_SCOPE_FLEET;
    else
        return false;
    return true;
}

enum option_code {
    OPTION_HELP = 256,
    OPTION_SOCKET,
    OPTION_TENANT,
    OPTION_MODEL,
    OPTION_SPAN,
    OPTION_SPAN_SEED,
    OPTION_BYTES,
    OPTION_TIMEOUT_MS,
    OPTION_SCOPE,
    OPTION_VERIFY,
    OPTION_PROVE_READ_ONLY,
    OPTION_HOLD_UNTIL_REVOKED,
    OPTION_HOLD_MS,
};

static const struct option long_options[] = {
    {"help", no_argument, NULL, OPTION_HELP},
    {"socket", required_argument, NULL, OPTION_SOCKET},
    {"tenant", required_argument, NULL, OPTION_TENANT},
    {"model", required_argument, NULL, OPTION_MODEL},
    {"span", required_argument, NULL, OPTION_SPAN},
    {"span-seed", required_argument, NULL, OPTION_SPAN_SEED},
    {"bytes", required_argument, NULL, OPTION_BYTES},
    {"timeout-ms", required_argument, NULL, OPTION_TIMEOUT_MS},
    {"scope", required_argument, NULL, OPTION_SCOPE},
    {"verify", no_argument, NULL, OPTION_VERIFY},
    {"prove-read-only", no_argument, NULL, OPTION_PROVE_READ_ONLY},
    {"hold-until-revoked", no_argument, NULL, OPTION_HOLD_UNTIL_REVOKED},
    {"hold-ms", required_argument, NULL, OPTION_HOLD_MS},
    {NULL, 0, NULL, 0},
};

static bool parse_u32(const char* text, uint32_t* value) {
    uint64_t number = 0;
    if (!parse_number(text, UINT32_MAX, NULL, &number))
        return false;
    *value = (uint32_t)number;
    return true;
}

/* One option; false when its value is no good. */
static bool take_option(struct arguments* args, int option, const char* value) {
    switch (option) {
        case OPTION_SOCKET:
            args->socket_path = value;
            return true;
        case OPTION_TENANT:
            return parse_number(value, UINT64_MAX, NULL, &args->tenant);
        case OPTION_MODEL:
            args->model = value;
            return true;
        case OPTION_SPAN:
            return parse_digest(value, &args->span);
        case OPTION_SPAN_SEED:
            return name_text(value, &args->span);
        case OPTION_BYTES:
            return parse_bytes(value, &args->bytes);
        case OPTION_TIMEOUT_MS:
            return parse_u32(value, &args->timeout_ms);
        case OPTION_SCOPE:
            return parse_scope(value, &args->scope);
        case OPTION_VERIFY:
            args->verify = true;
            return true;
        case OPTION_PROVE_READ_ONLY:
            args->prove_read_only = true;
            return true;
        case OPTION_HOLD_UNTIL_REVOKED:
            args->hold_until_revoked = true;
            return true;
        case OPTION_HOLD_MS:
            return parse_u32(value, &args->hold_ms);
        default:
            return false;
    }
}

typedef int command_function(cxlpool_client*, cxlpool_context*, const struct arguments*);

struct command {
    const char* word;
    command_function* function; /* NULL: asks nobody */
};

static const struct command* find_command(const char* word) {
    static const struct command commands[] = {{"produce", produce},
                                              {"share", share},
                                              {"lookup", lookup},
                                              {"attend", attend},
                                              {"context", NULL}};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i)
        if (strcmp(word, commands[i].word) == 0)
            return &commands[i];
    return NULL;
}

static int run_connected(command_function* command, const struct arguments* args) {
    const cxlpool_options options = {
        .struct_size = sizeof options,
        .socket_path = args->socket_path,
        .tenant = args->tenant,
        .engine_name = PROGRAM,
        .timeout_ms = args->timeout_ms,
    };
    cxlpool_axis axes[CXLPOOL_AXIS_COUNT];
    cxlpool_client* client = NULL;
    cxlpool_context* context = NULL;
    int code = cxlpool_connect(&options, &client);
    if (code != CXLPOOL_OK)
        return fail("connect", code);
    fill_axes(args->model, axes);
    code = cxlpool_context_create(client, axes, CXLPOOL_AXIS_COUNT, &context);
    const int status = code == CXLPOOL_OK ? command(client, context, args) : fail("context", code);
    cxlpool_close(client);
    return status;
}

int main(int argc, char** argv) {
    struct arguments args = {.model = "demo-model", .scope = -1, .hold_ms = 60000};
    if (!name_text("demo", &args.span))
        return fail("the span", CXLPOOL_E_OUT_OF_MEMORY);
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (option == OPTION_HELP) {
            fputs(usage_text, stdout);
            return EXIT_YES;
        }
        if (option == '?')
            return bad_usage("unknown option, or one without its value:", argv[optind - 1]);
        if (!take_option(&args, option, optarg))
            return bad_usage("not a value for this option:", optarg);
    }
    if (optind != argc - 1)
        return bad_usage("exactly one command is needed, not",
                         optind < argc ? argv[optind + 1] : "");
    const struct command* command = find_command(argv[optind]);
    if (command == NULL)
        return bad_usage("unknown command", argv[optind]);
    if (command->function == share && args.scope < 0)
        return bad_usage("share needs --scope agent, tenant or fleet, not", "");
    const int status =
        command->function == NULL ? print_context(&args) : run_connected(command->function, &args);
    if (fflush(stdout) != 0) {
        fprintf(stderr, PROGRAM ": writing the result: %s\n", strerror(errno));
        return EXIT_NO;
    }
    return status;
}
