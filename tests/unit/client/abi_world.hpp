// A fake daemon, a client of the public ABI, and one of everything that its functions take.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "cxlpool/cxlpool.h"
#include "support/fake_daemon.hpp"

namespace cxlpool::test {

inline cxlpool_digest digest_of(const std::string& text) {
    cxlpool_digest digest{};
    std::memcpy(digest.bytes, text.data(), std::min(text.size(), sizeof digest.bytes));
    return digest;
}

struct World {
    explicit World(std::uint32_t timeout_ms = 0) {
        cxlpool_options options{};
        options.struct_size = sizeof options;
        options.socket_path = daemon.path().c_str();
        options.tenant = 1;
        options.engine_name = "world";
        options.timeout_ms = timeout_ms;
        EXPECT_EQ(cxlpool_connect(&options, &client), CXLPOOL_OK) << cxlpool_last_message();
        const cxlpool_axis axis{CXLPOOL_AXIS_MODEL, 0, "m"};
        EXPECT_EQ(cxlpool_context_create(client, &axis, 1, &context), CXLPOOL_OK);

        cxlpool_fill first{};
        first.struct_size = sizeof first;
        EXPECT_EQ(cxlpool_begin(context, &sealed, 100, 0, nullptr, &first), CXLPOOL_OK);
        std::memset(first.data, 0x5A, 100);
        EXPECT_EQ(cxlpool_seal(client, &first, nullptr), CXLPOOL_OK);
        EXPECT_EQ(cxlpool_lookup(context, &sealed, 1, &hit), CXLPOOL_OK);
        EXPECT_EQ(hit.verdict, static_cast<std::uint32_t>(CXLPOOL_HIT_IN_PLACE));

        fill.struct_size = sizeof fill;
        EXPECT_EQ(cxlpool_begin(context, &open, 5000, 0, nullptr, &fill), CXLPOOL_OK);
        static_cast<void>(daemon.take_requests());
    }
    ~World() { cxlpool_close(client); }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    FakeDaemon daemon;
    cxlpool_client* client = nullptr;
    cxlpool_context* context = nullptr;
    const cxlpool_digest sealed = digest_of("sealed");
    const cxlpool_digest open = digest_of("open");
    const cxlpool_digest fresh = digest_of("fresh");
    cxlpool_hit hit{};    // of `sealed`, not attended yet
    cxlpool_fill fill{};  // of `open`
};

}  // namespace cxlpool::test
