#include "topology/rules.hpp"

#include <algorithm>

#include "base/units.hpp"
#include "topology/assess.hpp"

namespace cxlpool {
namespace {

bool is_seen(const Evidence& evidence) {
    return evidence.source == Source::measured || evidence.source == Source::observed;
}

Error refused(const PoolDeclaration& declaration, const std::string& what) {
    return Error{Errc::invalid_argument,
                 declaration.where.empty() ? what : declaration.where + ": " + what};
}

bool nothing_of_cxl(const Topology& topology) {
    return topology.memdevs.empty() && topology.regions.empty() && topology.dax_devices.empty();
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
    return format_bytes(bytes) + " (" + std::to_string(bytes) + " bytes)";
}

std::string join(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "" : ", ") + name;
    }
    return text;
}

Assessment assess(const Topology& topology) {
    const Lookup lookup(topology);
    Findings findings;
    Assessment out;
    if (nothing_of_cxl(topology)) {
        findings.info("no_cxl", "host",
                      topology.decoders.empty()
                          ? "no CXL memory device, region or dax device"
                          : "CXL decoders, but no memory device, region or dax device",
                      "the embedded memfd pool works on any machine");
    }
    assess_memdevs(topology, lookup, findings);
    out.pools = assess_pools(topology, lookup, findings);
    out.tiers = assess_tiers(topology, findings);
    out.findings = topology.source_findings;
    for (Finding& finding : findings.take()) {
        out.findings.push_back(std::move(finding));
    }
    return out;
}

Result<Profile> apply_declaration(Profile profile, const PoolDeclaration& declaration) {
    if (declaration.hosts) {
        const std::uint32_t hosts = *declaration.hosts;
        const std::uint32_t seen = is_seen(profile.hosts.evidence) ? hosts_or_assumed(profile) : 0;
        if (hosts == 0) {
            return refused(declaration, "hosts = 0: a pool is reached by 1 host at least");
        }
        if (hosts < seen) {
            return refused(declaration, "hosts = " + std::to_string(hosts) + " is less than the " +
                                            std::to_string(seen) + " hosts that were observed (" +
                                            profile.hosts.evidence.detail + ")");
        }
        if (hosts > 1 && profile.may_shrink) {
            return refused(declaration,
                           "hosts = " + std::to_string(hosts) +
                               ": dynamic capacity may be shared only with a tag and in a "
                               "partition that is marked shareable, and neither is shown");
        }
        if (hosts != seen) {
            profile.hosts = Known<std::uint32_t>::of(hosts, Source::declared, declaration.where);
        }
    }
    if (declaration.coherence) {
        const CrossHostCoherence coherence = *declaration.coherence;
        const bool proven = is_seen(profile.cross_host_coherence.evidence) &&
                            coherence_or_none(profile) == CrossHostCoherence::hardware;
        if (coherence == CrossHostCoherence::hardware && !proven) {
            return refused(declaration,
                           "coherence = \"hardware\" needs a passed proof run between the hosts; "
                           "\"managed\" declares that whoever seals writes the lines back and "
                           "whoever attends invalidates them, which the engines have to do: "
                           "cxlpoold does not");
        }
        if (coherence != CrossHostCoherence::hardware) {
            profile.cross_host_coherence =
                Known<CrossHostCoherence>::of(coherence, Source::declared, declaration.where);
        }
    }
    return profile;
}

}  // namespace cxlpool
