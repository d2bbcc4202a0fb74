// What engines and operators get for what they ask, from a real daemon.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "base/json_reader.hpp"
#include "daemon_process.hpp"
#include "domain/context.hpp"
#include "domain/gate.hpp"
#include "domain/placement.hpp"
#include "memory/digest.hpp"
#include "support/wire_axes.hpp"

namespace cxlpool {
namespace {

using testing::basic_config;
using testing::DaemonProcess;
using ::testing::HasSubstr;
using namespace wire;  // NOLINT: every second word here is a message

constexpr std::uint64_t kBytes = 256 * 1024;

SpanDigest span_of(std::uint8_t n) {
    SpanDigest out;
    out.bytes.fill(n);
    return out;
}

class Mapping {
  public:
    Mapping(int fd, std::size_t size, int protection) : size_(size) {
        at_ = ::mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
    }
    ~Mapping() {
        if (ok()) {
            ::munmap(at_, size_);
        }
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    bool ok() const { return at_ != MAP_FAILED; }
    std::byte* at(std::uint64_t offset) const { return static_cast<std::byte*>(at_) + offset; }

  private:
    void* at_;
    std::size_t size_;
};

// An engine of one tenant with one context.
struct Engine {
    client::Connection connection;
    std::uint32_t context = 0;

    static Engine of(DaemonProcess& daemon, std::uint64_t tenant, const std::string& model = "m") {
        Result<client::Connection> made = daemon.engine(tenant);
        EXPECT_TRUE(made) << made.error().message();
        Engine out{std::move(*made), 0};
        const auto context = out.connection.ask<ContextRegisterReply>(
            ContextRegisterRequest{testing::complete_axes(model)});
        EXPECT_TRUE(context) << context.error().message();
        out.context = context->context;
        return out;
    }
    Result<BeginReply> begin(std::uint8_t span, std::uint64_t bytes = kBytes,
                             const std::string& pool = "") {
        return connection.ask<BeginReply>(BeginRequest{context, span_of(span), bytes, 0, pool});
    }
    Result<MapReply> map(std::uint32_t segment, MapAccess access, UniqueFd& fd) {
        return connection.ask<MapReply>(MapRequest{segment, access}, &fd);
    }
    LookupItem look(std::uint8_t span) {
        const auto reply = connection.ask<LookupReply>(LookupRequest{context, {span_of(span)}});
        EXPECT_TRUE(reply) << reply.error().message();
        return reply ? reply->items[0] : LookupItem{};
    }
    Verdict verdict(std::uint8_t span) { return static_cast<Verdict>(look(span).verdict); }
    Result<EmptyReply> share(std::uint8_t span, Scope scope = Scope::fleet,
                             std::vector<std::uint64_t> allow = {}) {
        return connection.ask<EmptyReply>(ShareRequest{
            context, span_of(span), static_cast<std::uint8_t>(scope), std::move(allow)});
    }
    // A sealed cell whose bytes are all `fill`.
    LeaseRef sealed(std::uint8_t span, std::uint8_t fill = 0x5a) {
        const auto begun = begin(span);
        EXPECT_TRUE(begun) << begun.error().message();
        UniqueFd fd;
        const auto mapped = map(begun->segment, MapAccess::write, fd);
        EXPECT_TRUE(mapped) << mapped.error().message();
        const Mapping memory(fd.get(), mapped->size_bytes, PROT_READ | PROT_WRITE);
        EXPECT_TRUE(memory.ok());
        std::memset(memory.at(begun->offset_bytes), fill, begun->length_bytes);
        // Taken before sealing: from then on the place may be given back.
        const ContentDigest expected =
            digest_bytes(std::span(memory.at(begun->offset_bytes), begun->length_bytes));
        const auto seal = connection.ask<SealReply>(SealRequest{begun->lease});
        EXPECT_TRUE(seal) << seal.error().message();
        EXPECT_EQ(seal->digest, expected);
        return begun->lease;
    }
};

class Requests : public ::testing::Test {
  protected:
    void start(const std::string& mode = "multi", const std::string& extra = "") {
        ASSERT_TRUE(daemon_.start(basic_config(daemon_.directory(), mode, extra)))
            << daemon_.ended().err;
        Result<client::Connection> admin = daemon_.admin();
        ASSERT_TRUE(admin) << admin.error().message();
        admin_ = std::make_unique<client::Connection>(std::move(*admin));
    }
    Errc adjudicate(std::uint8_t span, Decision decision, std::uint64_t owner = 1) {
        const auto reply =
            admin_->ask<EmptyReply>(AdjudicateRequest{owner, span_of(span), 0, {}, decision});
        return reply ? Errc::ok : reply.error().code();
    }
    void offer(Engine& owner, std::uint8_t span) {
        owner.sealed(span);
        ASSERT_TRUE(owner.share(span));
        ASSERT_EQ(adjudicate(span, Decision::trust), Errc::ok);
    }
    json::Value document(const DocumentRequest& request) {
        const Result<std::string> text = admin_->fetch_document(request);
        EXPECT_TRUE(text) << text.error().message();
        Result<json::Value> value = json::parse("document", *text);
        EXPECT_TRUE(value) << value.error().message();
        return std::move(*value);
    }
    std::string explained(std::uint64_t requester, std::uint8_t span, const std::string& model) {
        DocumentRequest request;
        request.kind = Document::explain;
        request.requester = requester;
        request.span = span_of(span);
        request.axes = testing::complete_axes(model);
        return document(request).find("verdict")->string;
    }

    DaemonProcess daemon_;
    std::unique_ptr<client::Connection> admin_;
};

TEST_F(Requests, OneCellAttendedInPlaceByTwoTenants) {
    start();
    Engine a = Engine::of(daemon_, 1);
    Engine b = Engine::of(daemon_, 2);
    EXPECT_EQ(b.verdict(1), Verdict::miss_absent);
    a.sealed(1);
    EXPECT_EQ(b.verdict(1), Verdict::miss_absent);
    ASSERT_TRUE(a.share(1));
    EXPECT_EQ(b.verdict(1), Verdict::miss_absent);
    EXPECT_EQ(explained(2, 1, "m"), "untrusted");
    ASSERT_EQ(adjudicate(1, Decision::trust), Errc::ok);

    const UniqueFd board = b.connection.take_lease_board();
    ASSERT_TRUE(board);
    const Mapping words(board.get(), 4096, PROT_READ);
    ASSERT_TRUE(words.ok());
    const LookupItem item = b.look(1);
    ASSERT_EQ(static_cast<Verdict>(item.verdict), Verdict::hit_in_place);
    EXPECT_EQ(item.length_bytes, kBytes);
    const auto* word = reinterpret_cast<const std::uint32_t*>(words.at(item.lease.index * 4ULL));
    EXPECT_EQ(__atomic_load_n(word, __ATOMIC_ACQUIRE), item.lease.generation);

    UniqueFd fd;
    const auto mapped = b.map(item.segment, MapAccess::read, fd);
    ASSERT_TRUE(mapped) << mapped.error().message();
    const Mapping memory(fd.get(), mapped->size_bytes, PROT_READ);
    ASSERT_TRUE(memory.ok());
    for (std::uint64_t i = 0; i < kBytes; ++i) {
        ASSERT_EQ(*memory.at(item.offset_bytes + i), std::byte{0x5a}) << i;
    }
    EXPECT_EQ(item.digest, digest_bytes(std::span(memory.at(item.offset_bytes), kBytes)));
    EXPECT_FALSE(Mapping(fd.get(), mapped->size_bytes, PROT_READ | PROT_WRITE).ok());
    EXPECT_EQ(b.map(item.segment, MapAccess::write, fd).error().code(), Errc::not_permitted);

    Engine other = Engine::of(daemon_, 2, "other");
    EXPECT_EQ(other.verdict(1), Verdict::miss_absent);
    EXPECT_EQ(explained(2, 1, "other"), "model_mismatch");

    ASSERT_EQ(adjudicate(1, Decision::poison), Errc::ok);
    EXPECT_NE(__atomic_load_n(word, __ATOMIC_ACQUIRE), item.lease.generation)
        << "the board says it before the operator has the answer";
    EXPECT_EQ(b.verdict(1), Verdict::miss_absent);
    EXPECT_EQ(explained(2, 1, "m"), "quarantined");
    EXPECT_EQ(b.connection.ask<RenewReply>(RenewRequest{item.lease}).error().code(), Errc::revoked);
    EXPECT_EQ(a.verdict(1), Verdict::quarantined);
}

TEST_F(Requests, ARefusedCellAndAnAbsentOneAreTheSameBytes) {
    start();
    Engine a = Engine::of(daemon_, 1);
    Engine b = Engine::of(daemon_, 2);
    a.sealed(1);  // scope_denied
    a.sealed(2);
    ASSERT_TRUE(a.share(2));  // untrusted
    offer(a, 3);
    ASSERT_EQ(adjudicate(3, Decision::poison), Errc::ok);  // quarantined
    ASSERT_TRUE(a.begin(4));                               // not_sealed
    const LookupItem absent = b.look(200);
    for (const int number : {1, 2, 3, 4}) {
        const auto span = static_cast<std::uint8_t>(number);
        EXPECT_EQ(b.look(span), absent) << number;
        const auto share = b.share(span);
        const auto nothing = b.share(200);
        ASSERT_FALSE(share);
        EXPECT_EQ(share.error().code(), nothing.error().code());
        EXPECT_EQ(share.error().message(), nothing.error().message());
        EXPECT_TRUE(b.begin(span)) << "whether another tenant has it is nobody's business";
    }
}

// Case C10: a salt that a caller names would aim at another tenant's cells. There is no place for
// one in a request (that a longer request is malformed, wire/messages_test.cpp says of each), and
// no value of an axis is one.
TEST_F(Requests, NoRequestNamesTheSaltOfAnother) {
    std::ifstream file(CXLPOOL_GOLDEN_DIR "/identity/c10-salt-oracle.json");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const Result<json::Value> value = json::parse("c10-salt-oracle.json", text);
    ASSERT_TRUE(value) << value.error().message();
    start();
    Engine a = Engine::of(daemon_, 1);
    Engine b = Engine::of(daemon_, 2);
    std::vector<std::string> done;
    for (const json::Value& step : value->find("steps")->items) {
        Engine& engine = step.find("tenant")->string == "a" ? a : b;
        const std::string& op = step.find("op")->string;
        done.push_back(step.find("tenant")->string + ": " + op);
        if (op == "store") {
            engine.sealed(1);
        } else if (op == "lookup same tokens" && &engine == &a) {
            EXPECT_EQ(engine.verdict(1), Verdict::hit_in_place);
        } else if (op == "lookup same tokens") {
            EXPECT_EQ(engine.look(1), engine.look(200)) << "as tokens never seen";
        } else if (op == "lookup with request field salt=a") {
            std::vector<AxisField> axes = testing::complete_axes("m");
            axes.push_back({static_cast<std::uint8_t>(kAxisCount), "a"});
            EXPECT_FALSE(engine.connection.call(ContextRegisterRequest{axes}));
            // In a place that is meant for something else it is part of the identity.
            for (const Axis axis : {Axis::model, Axis::policy, Axis::admitter}) {
                axes = testing::complete_axes("m");
                axes[static_cast<std::size_t>(axis)].value = "salt=a";
                const auto salted =
                    engine.connection.ask<ContextRegisterReply>(ContextRegisterRequest{axes});
                ASSERT_TRUE(salted) << salted.error().message();
                const auto reply = engine.connection.ask<LookupReply>(
                    LookupRequest{salted->context, {span_of(1)}});
                ASSERT_TRUE(reply) << reply.error().message();
                EXPECT_EQ(reply->items[0], engine.look(200));
            }
        } else {
            ADD_FAILURE() << "a step that this test does not know: " << op;
        }
    }
    EXPECT_EQ(done.size(), 4U) << "every step of the case";
}

// Shared, trusted, the same context, the same span, the same bytes: the salts alone decide.
TEST_F(Requests, TenantsFindEachOthersCellsUnderTheSameSaltOnly) {
    const auto seen_by_two = [](std::uint64_t salt_of_one, std::uint64_t salt_of_two) {
        DaemonProcess daemon;
        EXPECT_TRUE(daemon.start(basic_config(daemon.directory()))) << daemon.ended().err;
        Result<client::Connection> admin = daemon.admin();
        EXPECT_TRUE(admin);
        const auto set_salt = [&](std::uint64_t tenant, std::uint64_t salt) {
            return admin->ask<EmptyReply>(
                TenantChangeRequest{TenantOp::set_salt, tenant, salt, "", ""});
        };
        EXPECT_TRUE(set_salt(1, salt_of_one));
        EXPECT_TRUE(set_salt(2, salt_of_two));
        {
            // Salts outlive the daemon.
            admin = Error{Errc::disconnected, "the daemon is killed"};
            daemon.stop(SIGKILL);
            EXPECT_TRUE(daemon.start(basic_config(daemon.directory()))) << daemon.ended().err;
            admin = daemon.admin();
        }
        Engine one = Engine::of(daemon, 1);
        Engine two = Engine::of(daemon, 2);
        one.sealed(1);
        EXPECT_TRUE(one.share(1));
        EXPECT_TRUE(
            admin->ask<EmptyReply>(AdjudicateRequest{1, span_of(1), 0, {}, Decision::trust}));
        EXPECT_EQ(one.verdict(1), Verdict::hit_in_place) << "its own, under its own salt";
        const Verdict seen = two.verdict(1);
        two.sealed(2);
        EXPECT_EQ(two.verdict(2), Verdict::hit_in_place) << "its own, under its own salt";
        // Too late to look for others' cells under another one.
        const auto changed = set_salt(2, 77);
        EXPECT_FALSE(changed);
        EXPECT_EQ(changed ? Errc::ok : changed.error().code(), Errc::wrong_state);
        return seen;
    };
    EXPECT_EQ(seen_by_two(5, 5), Verdict::hit_in_place);
    EXPECT_EQ(seen_by_two(0, 0), Verdict::hit_in_place);
    EXPECT_EQ(seen_by_two(5, 6), Verdict::miss_absent);
    EXPECT_EQ(seen_by_two(0, 6), Verdict::miss_absent);
    EXPECT_EQ(seen_by_two(5, 0), Verdict::miss_absent);
}

TEST_F(Requests, TheOwnerCannotChangeWhatOthersAttend) {
    start();
    Engine a = Engine::of(daemon_, 1);
    Engine b = Engine::of(daemon_, 2);
    const auto begun = a.begin(1);
    ASSERT_TRUE(begun);
    UniqueFd fd;
    const auto mapped = a.map(begun->segment, MapAccess::write, fd);
    ASSERT_TRUE(mapped);
    const Mapping writable(fd.get(), mapped->size_bytes, PROT_READ | PROT_WRITE);
    std::memset(writable.at(begun->offset_bytes), 1, kBytes);
    ASSERT_TRUE(a.connection.ask<SealReply>(SealRequest{begun->lease}));
    EXPECT_EQ(adjudicate(1, Decision::trust), Errc::wrong_state)
        << "its owner can still write these bytes";
    ASSERT_TRUE(a.share(1));
    ASSERT_EQ(adjudicate(1, Decision::trust), Errc::ok);
    std::memset(writable.at(begun->offset_bytes), 2, kBytes);
    const LookupItem item = b.look(1);
    UniqueFd readable;
    const auto seen = b.map(item.segment, MapAccess::read, readable);
    ASSERT_TRUE(seen);
    const Mapping memory(readable.get(), seen->size_bytes, PROT_READ);
    for (std::uint64_t i = 0; i < kBytes; ++i) {
        ASSERT_EQ(*memory.at(item.offset_bytes + i), std::byte{1}) << i;
    }
}

TEST_F(Requests, AReadersDescriptorExposesOneCellAndNothingElse) {
    start();
    Engine a = Engine::of(daemon_, 1);
    Engine b = Engine::of(daemon_, 2);
    offer(a, 1);
    offer(a, 2);
    const LookupItem one = b.look(1);
    const LookupItem two = b.look(2);
    EXPECT_NE(one.segment, two.segment);
    UniqueFd fd;
    const auto mapped = b.map(one.segment, MapAccess::read, fd);
    ASSERT_TRUE(mapped);
    EXPECT_EQ(mapped->size_bytes, kBytes);
    EXPECT_EQ(::ftruncate(fd.get(), 0), -1);
    std::byte byte{1};
    EXPECT_EQ(::pwrite(fd.get(), &byte, 1, 0), -1);
    EXPECT_EQ(::fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
}

TEST_F(Requests, ASegmentIsMappedOnlyUnderALiveLease) {
    start();
    Engine a = Engine::of(daemon_, 1);
    Engine b = Engine::of(daemon_, 2);
    offer(a, 1);
    const LookupItem item = b.look(1);
    UniqueFd fd;
    EXPECT_EQ(a.map(77, MapAccess::read, fd).error().code(), Errc::stale_lease);
    ASSERT_TRUE(b.map(item.segment, MapAccess::read, fd));
    ASSERT_TRUE(b.connection.ask<EmptyReply>(ReleaseRequest{item.lease}));
    EXPECT_EQ(b.map(item.segment, MapAccess::read, fd).error().code(), Errc::stale_lease);
    EXPECT_EQ(b.connection.ask<EmptyReply>(ReleaseRequest{item.lease}).error().code(),
              Errc::stale_lease);
}

TEST_F(Requests, AFillingCellGoesWithItsConnection) {
    start();
    Engine again = Engine::of(daemon_, 1);
    {
        Engine a = Engine::of(daemon_, 1);
        ASSERT_TRUE(a.begin(1));
        EXPECT_EQ(again.verdict(1), Verdict::not_sealed);
    }
    for (int tries = 0; tries < 200 && again.verdict(1) != Verdict::miss_absent; ++tries) {
        ::usleep(10'000);
    }
    EXPECT_EQ(again.verdict(1), Verdict::miss_absent);
    EXPECT_TRUE(again.begin(1));
}

TEST_F(Requests, BytesNeverPassOn) {
    start();
    Engine a = Engine::of(daemon_, 1);
    Engine b = Engine::of(daemon_, 2);
    // Fill the pool again and again with tenants taking turns; whatever is handed out is zero.
    for (std::uint8_t round = 0; round < 40; ++round) {
        Engine& engine = round % 2 == 0 ? a : b;
        const auto begun = engine.begin(100, 8 << 20);
        ASSERT_TRUE(begun) << begun.error().message();
        UniqueFd fd;
        const auto mapped = engine.map(begun->segment, MapAccess::write, fd);
        ASSERT_TRUE(mapped);
        const Mapping memory(fd.get(), mapped->size_bytes, PROT_READ | PROT_WRITE);
        ASSERT_TRUE(memory.ok());
        for (std::uint64_t i = 0; i < mapped->size_bytes; i += 512) {
            ASSERT_EQ(*memory.at(i), std::byte{0}) << "round " << int(round) << " at " << i;
        }
        std::memset(memory.at(0), 0xee, mapped->size_bytes);
        ASSERT_TRUE(engine.connection.ask<EmptyReply>(ReleaseRequest{begun->lease}));
    }
}

TEST_F(Requests, AFullPoolIsATypedAnswerThatSaysNothingOfOthers) {
    start();
    Engine a = Engine::of(daemon_, 1);
    Engine b = Engine::of(daemon_, 2);
    std::uint8_t cells = 0;
    // Cells that are being filled: none of them may go.
    Result<BeginReply> last = a.begin(++cells, 8 << 20);
    while (last && cells < 100) {
        last = a.begin(++cells, 8 << 20);
    }
    ASSERT_FALSE(last);
    EXPECT_EQ(last.error().code(), Errc::capacity);
    const auto refused = b.begin(1, 8 << 20);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::capacity);
    EXPECT_THAT(refused.error().message(), ::testing::Not(::testing::ContainsRegex("[0-9]")));
}

TEST_F(Requests, ContextValuesAreChargedToTheTenantThatUsesThem) {
    start("multi", "[limits]\naxis_values_per_tenant = 16\n");
    Engine a = Engine::of(daemon_, 1, "m");
    Engine b = Engine::of(daemon_, 2, "secret");
    const auto ask = [](Engine& engine, const std::string& model) {
        return engine.connection.ask<ContextRegisterReply>(
            ContextRegisterRequest{testing::complete_axes(model)});
    };
    // A cell keeps what its context had, so the first tenant is full with one more value.
    a.sealed(1);
    ASSERT_TRUE(a.connection.ask<EmptyReply>(ContextReleaseRequest{a.context}));
    const auto more = ask(a, "m2");
    ASSERT_TRUE(more) << more.error().message();
    const auto guess = ask(a, "secret");
    const auto nobody = ask(a, "nobody has this");
    ASSERT_FALSE(guess);
    ASSERT_FALSE(nobody);
    EXPECT_EQ(guess.error().code(), Errc::limit_exceeded);
    EXPECT_EQ(nobody.error().code(), Errc::limit_exceeded);
    EXPECT_EQ(guess.error().message(), nobody.error().message());
    // The other is not, and a value that the first has costs it as much as any.
    EXPECT_TRUE(ask(b, "m2"));
    EXPECT_FALSE(ask(b, "m"));
    ASSERT_TRUE(a.connection.ask<EmptyReply>(ContextReleaseRequest{more->context}));
    EXPECT_TRUE(ask(a, "secret"));
}

TEST_F(Requests, BeginAndContextRefusals) {
    start("multi", "[limits]\ncontexts_per_connection = 2\ncell_bytes = \"1MiB\"\n");
    Engine a = Engine::of(daemon_, 1);
    EXPECT_EQ(a.begin(1, 0).error().code(), Errc::invalid_argument);
    EXPECT_EQ(a.begin(0, 1).error().code(), Errc::invalid_argument) << "no span";
    EXPECT_EQ(a.begin(1, (1 << 20) + 1).error().code(), Errc::too_large);
    EXPECT_EQ(a.begin(1, UINT64_MAX).error().code(), Errc::too_large);
    EXPECT_EQ(a.begin(1, 1, "nowhere").error().code(), Errc::not_found);
    ASSERT_TRUE(a.begin(1));
    EXPECT_EQ(a.begin(1).error().code(), Errc::already_exists);
    client::Connection& c = a.connection;
    EXPECT_EQ(c.call(BeginRequest{999, span_of(1), 1, 0, ""}).error().code(), Errc::not_found);
    EXPECT_EQ(c.call(LookupRequest{999, {span_of(1)}}).error().code(), Errc::not_found);
    EXPECT_EQ(c.call(ShareRequest{999, span_of(1), 2, {}}).error().code(), Errc::not_found);
    const auto incomplete = c.ask<ContextRegisterReply>(ContextRegisterRequest{{{0, "m"}}});
    ASSERT_TRUE(incomplete) << "it may look, and is refused by the gate";
    EXPECT_EQ(c.call(BeginRequest{incomplete->context, span_of(9), 1, 0, ""}).error().code(),
              Errc::key_incomplete);
    EXPECT_EQ(c.call(ContextRegisterRequest{testing::complete_axes("x")}).error().code(),
              Errc::limit_exceeded);
    ASSERT_TRUE(c.call(ContextReleaseRequest{incomplete->context}));
    EXPECT_EQ(c.call(ContextReleaseRequest{incomplete->context}).error().code(), Errc::not_found);
    std::vector<AxisField> named = testing::complete_axes("x");
    named[static_cast<std::size_t>(Axis::weights)].value = "llama-70b";
    EXPECT_EQ(c.call(ContextRegisterRequest{named}).error().code(), Errc::invalid_argument)
        << "a name is no identity";
    EXPECT_EQ(c.call(HelloRequest{}).error().code(), Errc::wrong_state);
}

TEST_F(Requests, LookupsAreBatchedAndEachItemHasItsOwnAnswer) {
    start("multi", "[limits]\nleases_per_connection = 3\n");
    Engine a = Engine::of(daemon_, 1);
    for (std::uint8_t n = 1; n <= 5; ++n) {
        a.sealed(n);
    }
    LookupRequest request;
    request.context = a.context;
    for (std::size_t i = 0; i < kMaxLookupSpans; ++i) {
        SpanDigest span = span_of(static_cast<std::uint8_t>(i + 1));
        if (i >= 5) {
            span.bytes[0] = static_cast<std::uint8_t>(i);
            span.bytes[1] = static_cast<std::uint8_t>(i >> 8);
            span.bytes[2] = 0xff;
        }
        request.spans.push_back(span);
    }
    const auto reply = a.connection.ask<LookupReply>(request);
    ASSERT_TRUE(reply) << reply.error().message();
    ASSERT_EQ(reply->items.size(), kMaxLookupSpans);
    for (std::size_t i = 0; i < kMaxLookupSpans; ++i) {
        const bool hit = i < 3;
        EXPECT_EQ(is_hit(static_cast<Verdict>(reply->items[i].verdict)), hit) << i;
        EXPECT_EQ(reply->items[i].status,
                  static_cast<std::uint16_t>(i == 3 || i == 4 ? Errc::limit_exceeded : Errc::ok))
            << i;
    }
}

TEST_F(Requests, ASpanStandsInALookupOnce) {
    start();
    Engine a = Engine::of(daemon_, 1);
    const auto reply = a.connection.call(
        LookupRequest{a.context, {span_of(1), span_of(2), span_of(3), span_of(2)}});
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code(), Errc::invalid_argument);
    EXPECT_THAT(reply.error().message(), ::testing::HasSubstr("span"));
}

TEST_F(Requests, VeryManyLeasesOnOneCellEndInAMoment) {
    start();
    Engine a = Engine::of(daemon_, 1);
    Engine other = Engine::of(daemon_, 1);
    a.sealed(1);
    {
        std::vector<Engine> many;
        for (int i = 0; i < 12; ++i) {
            many.push_back(Engine::of(daemon_, 1));
            for (int n = 0; n < 4096; ++n) {
                ASSERT_NE(many.back().look(1).lease.generation, 0U) << n;
            }
        }
    }
    // 49,152 leases end here; with work that grows with their square this takes minutes.
    Result<client::Connection> patient = daemon_.engine(2, 5000);
    ASSERT_TRUE(patient) << patient.error().message();
    EXPECT_EQ(other.verdict(1), Verdict::hit_in_place);
}

TEST_F(Requests, TheAllowListAndANarrowerScopeBind) {
    start();
    Engine a = Engine::of(daemon_, 1);
    Engine b = Engine::of(daemon_, 2);
    offer(a, 1);
    ASSERT_EQ(b.verdict(1), Verdict::hit_in_place);
    ASSERT_TRUE(a.share(1, Scope::fleet, {99}));
    EXPECT_EQ(b.verdict(1), Verdict::miss_absent);
    ASSERT_TRUE(a.share(1, Scope::fleet, {2}));
    EXPECT_EQ(b.verdict(1), Verdict::hit_in_place);
    ASSERT_TRUE(a.share(1, Scope::agent));
    EXPECT_EQ(b.verdict(1), Verdict::miss_absent);
    EXPECT_EQ(a.share(1, Scope::tenant, {2}).error().code(), Errc::invalid_argument);
}

TEST_F(Requests, InSingleASealedCellIsForAllAndReasonsAreTold) {
    start("single");
    Engine a = Engine::of(daemon_, 1);
    Engine b = Engine::of(daemon_, 2);
    Engine other = Engine::of(daemon_, 2, "other");
    a.sealed(1);
    EXPECT_EQ(b.verdict(1), Verdict::hit_in_place);
    EXPECT_EQ(other.verdict(1), Verdict::model_mismatch);
    ASSERT_EQ(adjudicate(1, Decision::taint), Errc::ok);
    EXPECT_EQ(b.verdict(1), Verdict::untrusted);
}

TEST_F(Requests, DocumentsArePagedAndWhole) {
    start("multi", "[limits]\nfilling_bytes_per_uid = \"60MiB\"\n");
    Engine a = Engine::of(daemon_, 1);
    for (std::uint8_t n = 1; n <= 200; ++n) {
        ASSERT_TRUE(a.begin(n, 4096)) << int(n);
    }
    DocumentRequest request;
    request.kind = Document::cells;
    const json::Value cells = document(request);
    EXPECT_EQ(cells.find("total")->unsigned_number, 200U);
    EXPECT_EQ(cells.find("cells")->items.size(), 200U);
    request.kind = Document::status;
    const json::Value status = document(request);
    EXPECT_EQ(status.find("mode")->string, "multi");
    EXPECT_EQ(status.find("tenants")->items[0].find("cells")->unsigned_number, 200U);
    request.kind = Document::profiles;
    EXPECT_EQ(document(request).find("profiles")->items.size(), 1U);
    request.kind = Document::topology;
    EXPECT_EQ(document(request).find("source")->string, "live");
    EXPECT_EQ(admin_->call(DocumentMoreRequest{UINT64_MAX}).error().code(), Errc::invalid_argument);
}

TEST_F(Requests, PlanFleetUsesTheProfileOfThePool) {
    start();
    Engine a = Engine::of(daemon_, 1);
    PlanFleetRequest request;
    request.tenants = 8;
    request.tokens = 4000;
    request.bytes = 1 << 20;
    request.recompute_ns_per_token = 2'000'000;
    const auto plan = a.connection.ask<PlanFleetReply>(request);
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->holds, 0) << "anonymous memory reaches one host";
    EXPECT_EQ(plan->private_copies.prefill_tokens, 32000U);
    EXPECT_EQ(plan->private_copies.reader_cost_ns, 8'000'000'000U);
    EXPECT_EQ(plan->coherent.reader_cost_ns, UINT64_MAX) << "its latency was never measured";
    request.bytes = 1ULL << 40;
    EXPECT_EQ(a.connection.call(request).error().code(), Errc::span_exceeds_capacity);
    request.pool = "nowhere";
    EXPECT_EQ(a.connection.call(request).error().code(), Errc::not_found);
}

// As the domain plans it: a cell that is hot is promoted from the pool, a cold one of a full pool
// has no way down whose cost anybody knows.
TEST_F(Requests, PlanPlacementUsesTheProfileOfThePool) {
    start();
    Engine a = Engine::of(daemon_, 1);
    constexpr std::uint64_t kHour = 3'600'000'000'000;
    PlanPlacementRequest request;
    request.tiers = {{1, 0, 0, kBytes, 0, 0, ""},
                     {2, kTierPromote, UINT64_MAX, 0, 0, 60, ""},
                     {6, 0, 0, UINT64_MAX, 0, 0, ""}};
    PlacementCellField hot{1, 2, 0, kBytes, kHour, 1, 0, 60, kHour};
    PlacementCellField cold{1, 2, 0, kBytes, kHour, 0, 0, 0, kHour};
    request.cells = {hot, cold};
    const auto plan = a.connection.ask<PlanPlacementReply>(request);
    ASSERT_TRUE(plan) << plan.error().message();

    PlacementLadder ladder;
    const auto add = [&](Tier tier, std::uint64_t capacity_bytes, std::uint64_t used_bytes) {
        PlacementTier out;
        out.profile.tier = tier;
        out.profile.capacity_bytes =
            Known<std::uint64_t>::of(capacity_bytes, Source::declared, "test");
        out.used_bytes = used_bytes;
        out.policy.promote_touches_per_hour = 60;
        ASSERT_TRUE(ladder.add(out));
    };
    add(Tier::hbm, kBytes, 0);
    add(Tier::dram, kBytes, UINT64_MAX);
    add(Tier::disk, UINT64_MAX, 0);
    PlacementCell cell;
    cell.life.state = Lifecycle::sealed;
    cell.life.last_touch = Timestamp{kHour - 1};
    cell.life.touches = 60;
    cell.tier = Tier::dram;
    cell.bytes = kBytes;
    cell.recompute = {kHour, Source::declared};
    std::vector<PlacementDirective> expected;
    for (const std::uint64_t touches : {60U, 0U}) {
        cell.life.touches = touches;
        if (touches == 0) {
            cell.life.last_touch.reset();
        }
        const auto directive = plan_placement(cell, ladder, Timestamp{kHour});
        ASSERT_TRUE(directive) << directive.error().message();
        ladder.carry_out(*directive);
        expected.push_back(*directive);
    }
    EXPECT_EQ(expected[0].action, PlacementAction::promote);
    EXPECT_EQ(expected[1].action, PlacementAction::evict);
    ASSERT_EQ(plan->items.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const PlacementItem& item = plan->items[i];
        EXPECT_EQ(item.action, static_cast<int>(expected[i].action) + 1);
        EXPECT_EQ(item.reason, static_cast<int>(expected[i].reason) + 1);
        EXPECT_EQ(item.to, expected[i].to ? static_cast<int>(*expected[i].to) + 1 : 0);
        EXPECT_EQ(item.weighed,
                  expected[i].weighed ? static_cast<int>(*expected[i].weighed) + 1 : 0);
    }
    EXPECT_EQ(plan->items[1].return_cost_ns, UINT64_MAX) << "nobody knows a disk here";

    request.tiers[1].used_bytes = 0;
    EXPECT_EQ(a.connection.ask<PlanPlacementReply>(request)->items[1].reason, 2)
        << "an empty DRAM has room by the capacity of the pool";
    request.tiers[1].pool = "nowhere";
    EXPECT_EQ(a.connection.call(request).error().code(), Errc::not_found);
}

TEST_F(Requests, LeasesEndWithTheirTime) {
    start("multi", "[limits]\nlease_ttl_ms = 300\n");
    Engine a = Engine::of(daemon_, 1);
    a.sealed(1);
    const LookupItem item = a.look(1);
    ASSERT_TRUE(a.connection.ask<RenewReply>(RenewRequest{item.lease}));
    Errc code = Errc::ok;
    for (int tries = 0; tries < 100 && code == Errc::ok; ++tries) {
        ::usleep(500'000);
        const auto renewed = a.connection.ask<RenewReply>(RenewRequest{item.lease});
        code = renewed ? Errc::ok : renewed.error().code();
    }
    EXPECT_EQ(code, Errc::stale_lease);
}

TEST_F(Requests, AdjudicateRefusals) {
    start();
    Engine a = Engine::of(daemon_, 1);
    EXPECT_EQ(adjudicate(1, Decision::trust), Errc::not_found);
    ASSERT_TRUE(a.begin(1));
    EXPECT_EQ(adjudicate(1, Decision::poison), Errc::wrong_state);
    EXPECT_EQ(adjudicate(1, Decision::poison, 999), Errc::not_found);
}

TEST_F(Requests, PoisonIsFinalAndItsOwnerFillsTheSpanAnew) {
    start();
    Engine a = Engine::of(daemon_, 1);
    Engine b = Engine::of(daemon_, 2);
    offer(a, 1);
    ASSERT_EQ(adjudicate(1, Decision::poison), Errc::ok);
    for (const Decision lifting : {Decision::trust, Decision::taint}) {
        const auto reply =
            admin_->ask<EmptyReply>(AdjudicateRequest{1, span_of(1), 0, {}, lifting});
        ASSERT_FALSE(reply);
        EXPECT_EQ(reply.error().code(), Errc::wrong_state);
        EXPECT_THAT(reply.error().message(), HasSubstr("the cell is quarantined"));
    }
    EXPECT_EQ(a.verdict(1), Verdict::quarantined);
    offer(a, 1);
    EXPECT_EQ(a.verdict(1), Verdict::hit_in_place);
    EXPECT_EQ(b.verdict(1), Verdict::hit_in_place);
    EXPECT_EQ(a.begin(1).error().code(), Errc::already_exists);
    EXPECT_THAT(daemon_.log(), HasSubstr("audit event=replaced uid=" + std::to_string(::getuid()) +
                                         " owner=1 cell=1 span=0101"));
}

TEST_F(Requests, ALookupOfManySpansOfAnotherTenantIsOneLineOfTheAuditLog) {
    start();
    Engine a = Engine::of(daemon_, 1);
    Engine b = Engine::of(daemon_, 2);
    LookupRequest wanted{b.context, {}};
    for (std::uint8_t span = 1; span <= 100; ++span) {
        const auto begun = a.begin(span, 4096);
        ASSERT_TRUE(begun) << begun.error().message();
        wanted.spans.push_back(span_of(span));
    }
    ASSERT_TRUE(b.connection.ask<LookupReply>(wanted));
    EXPECT_EQ(daemon_.stop(SIGTERM).status, 0);
    const std::string log = daemon_.log();
    EXPECT_THAT(log, HasSubstr("owner=1 verdict=not_sealed told=miss/absent spans=100 lookups=1 "
                               "first=0101"));
    EXPECT_EQ(log.find("event=cross_tenant"), log.rfind("event=cross_tenant"));
    EXPECT_EQ(log.find("event=left_out"), std::string::npos);
}

TEST_F(Requests, ACellThatFitsNoPoolIsNotToldToTryAgain) {
    start("multi", "[[pool]]\nname = \"small\"\nprovider = \"memfd\"\ncapacity = \"4MiB\"\n");
    Engine a = Engine::of(daemon_, 1);
    constexpr std::uint64_t kMiB = 1024 * 1024;
    const auto code = [&](std::uint64_t bytes, const std::string& pool) {
        const auto begun = a.begin(1, bytes, pool);
        return begun ? Errc::ok : begun.error().code();
    };
    EXPECT_EQ(code(64 * kMiB + 1, ""), Errc::span_exceeds_capacity);
    EXPECT_EQ(code(4 * kMiB + 1, "small"), Errc::span_exceeds_capacity);
    EXPECT_EQ(code(64 * kMiB + 1, "none"), Errc::not_found);
    EXPECT_EQ(code(4 * kMiB, "small"), Errc::ok);
    const auto full = a.begin(2, 4 * kMiB, "small");
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code(), Errc::capacity);
}

TEST_F(Requests, APoisonedCellOfAFullPoolMakesWay) {
    start();
    Engine a = Engine::of(daemon_, 1);
    const auto begun = a.begin(1, 40ULL * 1024 * 1024);
    ASSERT_TRUE(begun) << begun.error().message();
    ASSERT_TRUE(a.connection.ask<SealReply>(SealRequest{begun->lease}));
    ASSERT_EQ(a.verdict(1), Verdict::hit_in_place) << "and leased, so that it stays";
    EXPECT_EQ(a.begin(2, 40ULL * 1024 * 1024).error().code(), Errc::capacity);
    ASSERT_EQ(adjudicate(1, Decision::poison), Errc::ok);
    // Poisoned and not leased any more: it stays out of circulation all the same, save for the
    // same span of its owner.
    EXPECT_EQ(a.begin(2, 40ULL * 1024 * 1024).error().code(), Errc::capacity);
    const auto anew = a.begin(1, 40ULL * 1024 * 1024);
    EXPECT_TRUE(anew) << anew.error().message();
}

// What a tenant stores and gives back at once; `mib` MiB.
void store(Engine& engine, std::uint64_t span, std::uint64_t mib = 1) {
    SpanDigest digest;
    std::memcpy(digest.bytes.data(), &span, sizeof span);
    const auto begun =
        engine.connection.ask<BeginReply>(BeginRequest{engine.context, digest, mib << 20U, 0, ""});
    ASSERT_TRUE(begun) << begun.error().message();
    ASSERT_TRUE(engine.connection.ask<SealReply>(SealRequest{begun->lease}));
}

// Whether the tenant finds it; the lease is given back at once.
bool finds(Engine& engine, std::uint64_t span) {
    SpanDigest digest;
    std::memcpy(digest.bytes.data(), &span, sizeof span);
    const auto reply = engine.connection.ask<LookupReply>(LookupRequest{engine.context, {digest}});
    EXPECT_TRUE(reply) << reply.error().message();
    const LookupItem item = reply ? reply->items[0] : LookupItem{};
    if (!is_hit(static_cast<Verdict>(item.verdict))) {
        return false;
    }
    EXPECT_TRUE(engine.connection.ask<EmptyReply>(ReleaseRequest{item.lease}));
    return true;
}

TEST_F(Requests, AFullPoolMakesRoomForTheNextCell) {
    start();  // 64 MiB
    Engine a = Engine::of(daemon_, 1);
    for (std::uint64_t span = 1; span <= 100; ++span) {
        ASSERT_NO_FATAL_FAILURE(store(a, span)) << span;
    }
    EXPECT_FALSE(finds(a, 1));
    EXPECT_FALSE(finds(a, 36));
    for (std::uint64_t span = 37; span <= 100; ++span) {
        EXPECT_TRUE(finds(a, span)) << span;
    }
    EXPECT_EQ(a.begin(7, 65ULL << 20U).error().code(), Errc::span_exceeds_capacity);
}

TEST_F(Requests, NewBytesOfAFullPoolAreZero) {
    start();
    Engine a = Engine::of(daemon_, 1);
    Engine b = Engine::of(daemon_, 2);
    for (std::uint8_t n = 1; n <= 250; ++n) {
        a.sealed(n, 0xA5);  // 256 KiB each, of 64 MiB
    }
    for (std::uint8_t n = 1; n <= 40; ++n) {
        const auto begun = b.begin(n);
        ASSERT_TRUE(begun) << begun.error().message();
        UniqueFd fd;
        const auto mapped = b.map(begun->segment, MapAccess::write, fd);
        ASSERT_TRUE(mapped);
        const Mapping memory(fd.get(), mapped->size_bytes, PROT_READ | PROT_WRITE);
        ASSERT_TRUE(memory.ok());
        for (std::uint64_t at = 0; at < mapped->size_bytes; ++at) {
            ASSERT_EQ(*memory.at(at), std::byte{0}) << "a byte of the other tenant, at " << at;
        }
    }
}

TEST_F(Requests, AFloodDoesNotPushOutTheWorkingSetOfAnotherTenant) {
    const auto found_beside_a_flood = [&](const std::string& policy, int cells_a_lookup,
                                          std::uint64_t reserved = 0) {
        DaemonProcess daemon;
        const std::string config = basic_config(daemon.directory(), "multi", "");
        EXPECT_TRUE(daemon.start("eviction = \"" + policy + "\"\n" + config));
        if (reserved != 0) {
            Result<client::Connection> admin = daemon.admin();
            EXPECT_TRUE(admin);
            EXPECT_TRUE(admin->ask<EmptyReply>(
                TenantChangeRequest{TenantOp::reserve, 2, reserved, "", "embedded"}));
        }
        Engine noisy = Engine::of(daemon, 1);
        Engine quiet = Engine::of(daemon, 2);
        constexpr std::uint64_t kSet = 20;  // MiB, of 64
        for (std::uint64_t span = 1; span <= kSet; ++span) {
            store(quiet, span);
        }
        std::uint64_t found = 0;
        std::uint64_t single_use = 1000;
        for (std::uint64_t i = 0; i < 3 * kSet; ++i) {
            for (int n = 0; n < cells_a_lookup; ++n) {
                store(noisy, ++single_use);  // with 11, ten times the pool in all
            }
            const std::uint64_t span = 1 + i % kSet;
            if (finds(quiet, span)) {
                ++found;
            } else {
                store(quiet, span);
            }
        }
        return static_cast<double>(found) / (3.0 * kSet);
    };
    const double alone = found_beside_a_flood("fair", 0);
    const double fair = found_beside_a_flood("fair", 11);
    const double lru = found_beside_a_flood("lru", 11);
    const double reserved = found_beside_a_flood("lru", 11, 20ULL << 20U);
    std::printf(
        "hit share of the quiet tenant: alone %.3f; beside a flood: fair %.3f, lru %.3f, lru with "
        "a "
        "reservation %.3f\n",
        alone, fair, lru, reserved);
    EXPECT_EQ(alone, 1.0);
    EXPECT_GE(fair, 0.95 * alone);
    EXPECT_LT(lru, 0.5);
    EXPECT_EQ(reserved, 1.0) << "what it holds is what it has reserved";
}

TEST_F(Requests, WhatEvictsAcrossTenantsIsInTheCountersAndInTheAuditLog) {
    start();
    Engine a = Engine::of(daemon_, 1);
    Engine b = Engine::of(daemon_, 2);
    for (std::uint64_t span = 1; span <= 65; ++span) {
        store(a, span);
    }
    store(b, 1);
    EXPECT_TRUE(finds(b, 1));
    EXPECT_FALSE(finds(b, 2));
    SpanDigest stored;
    stored.bytes[0] = 1;
    EXPECT_EQ(b.connection.call(BeginRequest{b.context, stored, 1 << 20, 0, ""}).error().code(),
              Errc::already_exists);
    DocumentRequest request;
    request.kind = Document::stats;
    const json::Value stats = document(request);
    const auto number = [](const json::Value& row, const char* key) {
        return row.find(key)->unsigned_number;
    };
    const json::Value& first = stats.find("tenants")->items[0];
    EXPECT_EQ(number(first, "evictions_caused"), 1U) << "its own";
    EXPECT_EQ(number(first, "evictions_suffered"), 2U);
    EXPECT_EQ(number(first, "cells_materialised"), 65U);
    EXPECT_EQ(number(first, "cells"), 63U);
    EXPECT_EQ(number(*first.find("bytes_resident"), "dram"), 63ULL << 20U);
    const json::Value& second = stats.find("tenants")->items[1];
    EXPECT_EQ(number(second, "hits"), 1U);
    EXPECT_EQ(number(second, "misses"), 1U);
    EXPECT_EQ(number(second, "evictions_caused"), 1U);
    EXPECT_EQ(number(*second.find("refused"), "already_exists"), 1U);
    const std::vector<json::Value>& flows = stats.find("evictions")->items;
    ASSERT_EQ(flows.size(), 2U);
    EXPECT_EQ(number(flows[1], "causer"), 2U);
    EXPECT_EQ(number(flows[1], "victim"), 1U);
    EXPECT_EQ(number(flows[1], "cells"), 1U);
    EXPECT_EQ(number(flows[1], "bytes"), 1ULL << 20U);
    EXPECT_EQ(number(stats.find("pools")->items[0], "used_bytes"), 64ULL << 20U);
    // Each engine hears of its own tenant: not that its cells pushed out others, nor what is free.
    const auto own = [](Engine& engine) {
        return engine.connection.ask<OwnStatisticsReply>(OwnStatisticsRequest{});
    };
    const auto of_a = own(a);
    ASSERT_TRUE(of_a) << of_a.error().message();
    EXPECT_EQ(*of_a,
              (OwnStatisticsReply{
                  0, 0, 2, 1, 65, 65ULL << 20U, 63, 63ULL << 20U, 0, {{2, 63ULL << 20U, 0}}, {}}));
    const auto of_b = own(b);
    ASSERT_TRUE(of_b) << of_b.error().message();
    EXPECT_EQ(*of_b, (OwnStatisticsReply{1,
                                         1,
                                         0,
                                         0,
                                         1,
                                         1ULL << 20U,
                                         1,
                                         1ULL << 20U,
                                         0,
                                         {{2, 1ULL << 20U, 0}},
                                         {{static_cast<std::uint16_t>(Errc::already_exists), 1}}}));
    // A window of the operator's begins without a gap, and changes nothing that anybody else
    // counts.
    request.kind = Document::stats_ended;
    EXPECT_TRUE(document(request).find("window")->is(json::Value::Kind::null));
    EXPECT_TRUE(finds(b, 1));
    request.kind = Document::stats;
    const json::Value later = document(request);
    EXPECT_EQ(number(later.find("tenants")->items[1], "hits"), 2U);
    const json::Value& window = *later.find("window");
    EXPECT_EQ(number(window.find("tenants")->items[1], "hits"), 1U);
    EXPECT_EQ(number(window.find("tenants")->items[1], "misses"), 0U);
    EXPECT_TRUE(window.find("evictions")->items.empty());
    EXPECT_EQ(own(b)->hits, 2U);
    daemon_.stop(SIGTERM);
    EXPECT_THAT(daemon_.log(),
                HasSubstr("audit event=evicted causer=2 victim=1 cells=1 bytes=1048576"));
}

TEST_F(Requests, AJudgementOfOtherBytesIsRefused) {
    start();
    Engine a = Engine::of(daemon_, 1);
    Engine b = Engine::of(daemon_, 2);
    a.sealed(1);
    ASSERT_TRUE(a.share(1));
    const auto judge = [&](std::uint8_t fill) {
        const std::vector<std::byte> judged(kBytes, std::byte{fill});
        const auto reply = admin_->ask<EmptyReply>(
            AdjudicateRequest{1, span_of(1), 0, digest_bytes(judged), Decision::trust});
        return reply ? std::string() : reply.error().message();
    };
    EXPECT_THAT(judge(0x11),
                ::testing::HasSubstr("the cell's bytes are not those that were judged"));
    EXPECT_EQ(b.verdict(1), Verdict::miss_absent);
    EXPECT_EQ(judge(0x5a), "");
    EXPECT_EQ(b.verdict(1), Verdict::hit_in_place);
}

}  // namespace
}  // namespace cxlpool
