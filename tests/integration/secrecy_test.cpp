// Noninterference: what one tenant is answered does not depend on what another one stores, asks for
// or is judged to have, as long as nothing of that is offered to it.
//
// Two daemons get the same requests of tenant 1, byte for byte. In one of them tenant 2, another
// user, works on the same spans and under the same contexts; in the other it does not exist. Every
// answer must be the same bytes: verdicts, lease numbers, segment numbers, offsets, error texts,
// limits. Where the tenant gives bytes back, its next cell's place in its own segments depends on
// whether they have been overwritten yet, which is a matter of time; there all but the places must
// be the same. (How long answers take is what the benchmark secrecy_bench compares.)
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <random>

#include "daemon_process.hpp"
#include "domain/gate.hpp"
#include "support/wire_axes.hpp"
#include "wire/messages.hpp"

namespace cxlpool {
namespace {

using testing::DaemonProcess;
using namespace wire;  // NOLINT: every second word here is a message

constexpr uid_t kFirst = 61'001;
constexpr uid_t kSecond = 61'002;

std::string config_of(const std::string& directory, unsigned leases = 8) {
    return "tenancy = \"multi\"\nstate_directory = \"" + directory +
           "/state\"\n[listen]\nengine = \"" + directory + "/run/engine.sock\"\nadmin = \"" +
           directory +
           "/run/admin.sock\"\n[limits]\ncontexts_per_connection = 3\nleases_per_connection = " +
           std::to_string(leases) +
           "\n"
           "axis_values_per_tenant = 20\ncells_per_tenant = 30\ncell_bytes = \"256KiB\"\n"
           "filling_bytes_per_uid = \"1MiB\"\nlease_ttl_ms = 600000\n"
           "[[pool]]\nname = \"p\"\nprovider = \"memfd\"\ncapacity = \"64MiB\"\n"
           "private_segment = \"1MiB\"\n"
           "[[tenant]]\nid = 1\nname = \"first\"\n[[tenant]]\nid = 2\nname = \"second\"\n"
           "[[grant]]\nuid = 61001\ntenants = [1]\nroles = [\"engine\"]\n"
           "[[grant]]\nuid = 61002\ntenants = [2]\nroles = [\"engine\"]\n"
           "[[grant]]\nuid = 0\ntenants = []\nroles = [\"adjudicator\", \"inspector\", "
           "\"admin\"]\n";
}

SpanDigest span_of(unsigned n) {
    SpanDigest span;
    span.bytes[0] = 1;
    span.bytes[1] = static_cast<std::uint8_t>(n);
    return span;
}

// What a tenant may ask for, whether or not it makes sense.
class Chooser {
  public:
    Chooser(std::uint64_t seed, bool gives_back) : random_(seed), gives_back_(gives_back) {}
    unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
    template <typename T>
    T one_of(const std::vector<T>& known, T otherwise) {
        return known.empty() || pick(8) == 0 ? otherwise
                                             : known[pick(static_cast<unsigned>(known.size()))];
    }

    RequestBody next() {
        const std::uint32_t context = one_of(contexts, 1 + pick(9));
        const LeaseRef lease = one_of(leases, LeaseRef{pick(10), 1 + pick(3)});
        if (pick(20) == 0) {
            return OwnStatisticsRequest{};
        }
        switch (pick(gives_back_ ? 18 : 12)) {
            case 0:
            case 1:
            case 2: {
                std::vector<SpanDigest> spans;
                for (unsigned at = pick(4), n = 0; n < 4; ++n) {
                    spans.push_back(span_of((at + n) % 12));
                }
                return LookupRequest{context, spans};
            }
            case 3:
            case 4: {
                constexpr std::array<std::uint64_t, 6> kLengths{1,       4096,    100'000,
                                                                200'000, 262'145, 0};
                return BeginRequest{context, span_of(pick(12)), kLengths[pick(6)], pick(1000),
                                    pick(10) == 0 ? "nowhere" : ""};
            }
            case 5:
                return SealRequest{lease};
            case 6: {
                std::vector<std::uint64_t> allow;
                if (pick(2) == 0) {
                    allow.push_back(pick(4));
                }
                return ShareRequest{context, span_of(pick(12)), static_cast<std::uint8_t>(pick(3)),
                                    allow};
            }
            case 7:
            case 8:
                return RenewRequest{lease};
            case 9: {
                std::vector<AxisField> axes =
                    testing::complete_axes("model-" + std::to_string(pick(4)));
                if (pick(12) == 0) {
                    axes.pop_back();
                }
                return ContextRegisterRequest{axes};
            }
            case 10:
                return ContextReleaseRequest{context};
            case 11:
                return MapRequest{1 + pick(20), pick(2) == 0 ? MapAccess::read : MapAccess::write};
            case 12:
                return PlanFleetRequest{2, 0, 100, 4096, 1000, ""};
            default:  // as often as lookups take them
                return ReleaseRequest{lease};
        }
    }
    // Keeps what an answer lets the tenant ask for next.
    void hear(const RequestBody& request, const Reply& reply) {
        if (const auto* made = std::get_if<ContextRegisterReply>(&reply.body)) {
            contexts.push_back(made->context);
        } else if (const auto* gone = std::get_if<ContextReleaseRequest>(&request)) {
            std::erase(contexts, gone->context);
        } else if (const auto* begun = std::get_if<BeginReply>(&reply.body)) {
            leases.push_back(begun->lease);
        } else if (const auto* sealed = std::get_if<SealRequest>(&request)) {
            std::erase(leases, sealed->lease);
        } else if (const auto* released = std::get_if<ReleaseRequest>(&request)) {
            std::erase(leases, released->lease);
        } else if (const auto* found = std::get_if<LookupReply>(&reply.body)) {
            for (const LookupItem& item : found->items) {
                if (item.lease.generation != 0) {
                    leases.push_back(item.lease);
                }
            }
        }
    }

    std::vector<std::uint32_t> contexts;
    std::vector<LeaseRef> leases;

  private:
    std::mt19937_64 random_;
    bool gives_back_;
};

// Without where the bytes are.
ReplyBody without_places(ReplyBody body) {
    if (auto* begun = std::get_if<BeginReply>(&body)) {
        begun->segment = 0;
        begun->offset_bytes = 0;
    } else if (auto* found = std::get_if<LookupReply>(&body)) {
        for (LookupItem& item : found->items) {
            item.segment = 0;
            item.offset_bytes = 0;
        }
    } else if (auto* counted = std::get_if<OwnStatisticsReply>(&body)) {
        // How many segments of its own its cells lie in is a matter of their places, too.
        for (TierStatistics& tier : counted->tiers) {
            tier.resident_bytes = 0;
        }
    }
    return body;
}

// Whether a descriptor shows anything but zeros, and how long its file is.
std::string seen_through(const UniqueFd& fd) {
    struct stat file {};
    if (!fd || ::fstat(fd.get(), &file) != 0) {
        return "none";
    }
    const auto size = static_cast<std::size_t>(file.st_size);
    void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (at == MAP_FAILED) {
        return "unmappable";
    }
    std::size_t other = 0;
    for (std::size_t i = 0; i < size; ++i) {
        other += static_cast<const std::uint8_t*>(at)[i] != 0 ? 1U : 0U;
    }
    ::munmap(at, size);
    return std::to_string(size) + " bytes, " + std::to_string(other) + " not zero";
}

class Secrecy : public ::testing::Test {
  protected:
    void SetUp() override {
        if (::getuid() != 0) {
            GTEST_SKIP() << "needs root: the two tenants are different users";
        }
    }
    client::Connection engine(DaemonProcess& daemon, uid_t uid, std::uint64_t tenant) {
        Result<client::Connection> made = testing::connect_as(uid, daemon.engine_socket(), tenant);
        EXPECT_TRUE(made) << made.error().message();
        return std::move(*made);
    }
    // The other tenant fills what it writes, so that a byte of it would show.
    void fill(client::Connection& connection, const BeginReply& begun) {
        UniqueFd fd;
        const auto mapped =
            connection.ask<MapReply>(MapRequest{begun.segment, MapAccess::write}, &fd);
        if (mapped) {
            void* const at = ::mmap(nullptr, mapped->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                                    fd.get(), 0);
            ASSERT_NE(at, MAP_FAILED);
            std::memset(static_cast<char*>(at) + begun.offset_bytes, 0xEE, begun.length_bytes);
            ::munmap(at, mapped->size_bytes);
        }
    }
};

class SecrecyOfAnswers : public Secrecy, public ::testing::WithParamInterface<bool> {};

TEST_P(SecrecyOfAnswers, WhatOneTenantIsAnsweredDoesNotDependOnAnother) {
    const bool gives_back = GetParam();
    const unsigned leases = gives_back ? 8 : 4096;
    const std::uint64_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    DaemonProcess alone;
    DaemonProcess shared;
    ASSERT_TRUE(alone.start(config_of(alone.directory(), leases))) << alone.ended().err;
    ASSERT_TRUE(shared.start(config_of(shared.directory(), leases))) << shared.ended().err;
    client::Connection first_alone = engine(alone, kFirst, 1);
    client::Connection first_shared = engine(shared, kFirst, 1);
    client::Connection second = engine(shared, kSecond, 2);
    Result<client::Connection> operators = shared.admin();
    ASSERT_TRUE(operators);

    Chooser first_chooser(seed, gives_back);
    Chooser second_chooser(seed + 1, true);
    unsigned hits = 0;
    unsigned refused = 0;
    unsigned counted = 0;
    unsigned second_cells = 0;
    for (int step = 0; step < 4'000; ++step) {
        for (int n = 0; n < 6; ++n) {
            const RequestBody request = second_chooser.next();
            UniqueFd segment;
            const Result<Reply> reply = second.call(request, &segment);
            ASSERT_TRUE(second.is_open()) << "step " << step;
            if (!reply) {
                continue;
            }
            second_chooser.hear(request, *reply);
            if (const auto* begun = std::get_if<BeginReply>(&reply->body)) {
                fill(second, *begun);
                ++second_cells;
            }
        }
        if (step % 40 == 0) {
            // Taken away from tenant 2, never trusted: what is trusted it offers to tenant 1.
            static_cast<void>(operators->call(AdjudicateRequest{
                2, span_of(static_cast<unsigned>(step / 40) % 12), 0, {}, Decision::poison}));
        }
        const RequestBody request = first_chooser.next();
        UniqueFd fd_alone;
        UniqueFd fd_shared;
        const Result<Reply> one = first_alone.call(request, &fd_alone);
        const Result<Reply> other = first_shared.call(request, &fd_shared);
        ASSERT_TRUE(first_alone.is_open() && first_shared.is_open()) << "step " << step;
        ASSERT_EQ(one.has_value(), other.has_value()) << "step " << step;
        if (!one) {
            ASSERT_EQ(one.error().code(), other.error().code()) << "step " << step;
            ASSERT_EQ(one.error().message(), other.error().message()) << "step " << step;
            ++refused;
            continue;
        }
        ASSERT_EQ(one->type, other->type);
        const bool same = gives_back ? without_places(one->body) == without_places(other->body)
                                     : one->body == other->body;
        ASSERT_TRUE(same) << "step " << step << ": an answer of type "
                          << static_cast<int>(one->type);
        // Segment numbers are places, too: without them the two may have mapped different ones.
        if (!gives_back) {
            ASSERT_EQ(seen_through(fd_alone), seen_through(fd_shared)) << "step " << step;
        }
        counted += std::holds_alternative<OwnStatisticsReply>(one->body) ? 1U : 0U;
        if (const auto* found = std::get_if<LookupReply>(&one->body)) {
            for (const LookupItem& item : found->items) {
                hits += is_hit(static_cast<Verdict>(item.verdict)) ? 1U : 0U;
            }
        }
        first_chooser.hear(request, *one);
    }
    // It would be no test if nobody had found, been refused or stored anything.
    EXPECT_GT(hits, 50U);
    EXPECT_GT(refused, 100U);
    EXPECT_GT(second_cells, 50U);
    EXPECT_GT(counted, 50U);
}
INSTANTIATE_TEST_SUITE_P(Tenants, SecrecyOfAnswers, ::testing::Bool(), [](const auto& test) {
    return std::string(test.param ? "that_give_bytes_back" : "to_the_last_byte");
});

TEST_F(Secrecy, NobodyBecomesATenantThatItIsNotGranted) {
    DaemonProcess daemon;
    ASSERT_TRUE(daemon.start(config_of(daemon.directory()))) << daemon.ended().err;
    std::vector<std::string> answers;
    // Another's, one that does not exist, and the largest number.
    for (const std::uint64_t tenant : {std::uint64_t{2}, std::uint64_t{77}, UINT64_MAX}) {
        const Result<client::Connection> made =
            testing::connect_as(kFirst, daemon.engine_socket(), tenant);
        ASSERT_FALSE(made) << tenant;
        EXPECT_EQ(made.error().code(), Errc::not_permitted);
        std::string text = made.error().message();
        const std::string number = std::to_string(tenant);
        if (const std::size_t at = text.find(number); at != std::string::npos) {
            text.replace(at, number.size(), "N");
        }
        answers.push_back(text);
    }
    EXPECT_EQ(answers[0], answers[1]) << "one that is, and one that is not";
    EXPECT_EQ(answers[0], answers[2]);
    // 0 is the only one that the user has, not a tenant of its own.
    EXPECT_TRUE(testing::connect_as(kFirst, daemon.engine_socket(), 0));
    Result<client::Connection> operators = daemon.admin();
    ASSERT_TRUE(operators);
    DocumentRequest request;
    request.kind = Document::status;
    const Result<std::string> status = operators->fetch_document(request);
    ASSERT_TRUE(status);
    EXPECT_EQ(status->find("\"tenant\":77"), std::string::npos) << "nothing was created";
}

}  // namespace
}  // namespace cxlpool
