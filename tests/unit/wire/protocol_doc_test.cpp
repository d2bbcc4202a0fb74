// docs/protocol.md and cxlpool-protocol(7) have the layouts that the codec walks: every field, at
// its offset, in its type.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "wire/layouts.hpp"

namespace cxlpool::wire {
namespace {

using Rows = std::vector<std::string>;

// A third direction of the codec: writes the fields down instead of moving them.
class Describer : public CodecBase {
  public:
    template <typename T>
    using Ref = const T&;

    template <typename T>
    void number(std::string_view field, const T& /*value*/) {
        row("u" + std::to_string(8 * sizeof(T)), field, sizeof(T));
    }
    template <typename T>
    void word(std::string_view field, const T& value, T /*first*/, T /*last*/) {
        number(field, value);
    }
    void digest(std::string_view field, const Digest256& /*value*/) { row("32 bytes", field, 32); }
    void reserved(std::size_t size) {
        row(std::to_string(size) + (size == 1 ? " byte" : " bytes"), "zero", size);
    }
    void text(std::string_view field, const std::string& /*value*/, std::size_t /*max*/) {
        row("text", field, 2);
        fixed_ = false;
    }
    void name(std::string_view field, const std::string& value, std::size_t max) {
        text(field, value, max);
    }
    template <typename T, typename Item>
    void list(std::string_view field, const std::vector<T>& /*items*/, std::size_t /*min*/,
              std::size_t /*max*/, std::size_t item_bytes, Item item) {
        row("list", field, 4);
        Describer one;
        one.prefix_ = "+";
        item(one, T{});
        EXPECT_EQ(one.at_, item_bytes) << field << ": the least that an item takes";
        rows.insert(rows.end(), one.rows.begin(), one.rows.end());
        fixed_ = false;
    }
    void start_at(std::size_t offset) { at_ = offset; }

    Rows rows;

  private:
    void row(const std::string& type, std::string_view field, std::size_t size) {
        const std::string offset = fixed_ ? prefix_ + std::to_string(at_) : "after it";
        rows.push_back("| " + offset + " | " + type + " | " + std::string(field) + " |");
        at_ += size;
    }
    std::string prefix_;
    std::size_t at_ = 0;
    bool fixed_ = true;
};

template <typename Body>
Rows rows_of() {
    Describer describer;
    describer.start_at(kHeaderBytes);
    layout<Describer>(describer, Body{});
    return describer.rows;
}

// The tables of the page by their heading, without the last column, which says what it means.
std::map<std::string, Rows> documented() {
    std::ifstream file(CXLPOOL_PROTOCOL_DOC);
    std::map<std::string, Rows> sections;
    std::string heading;
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("### ", 0) == 0) {
            heading = line.substr(4);
            sections[heading];
        } else if (line.rfind("## ", 0) == 0) {
            heading.clear();
        } else if (!heading.empty() && line.rfind("| ", 0) == 0) {
            std::size_t end = 0;
            for (int column = 0; column < 3; ++column) {
                end = line.find('|', end + 1);
            }
            const std::string row = line.substr(0, end + 1);
            if (row != "| offset | type | field |") {
                sections[heading].push_back(row);
            }
        }
    }
    return sections;
}

// The same of the manual page: ".Ss hello request", ".It 16 Ta u32 Ta magic Ta ...".
std::map<std::string, Rows> documented_in_manual() {
    std::ifstream file(CXLPOOL_PROTOCOL_MAN);
    std::map<std::string, Rows> sections;
    std::string heading;
    for (std::string line; std::getline(file, line);) {
        if (line.rfind(".Ss ", 0) == 0) {
            heading = line.substr(4);
        } else if (line.rfind(".It ", 0) == 0 && line.find(" Ta ") != std::string::npos) {
            std::string row = "|";
            std::size_t from = 3;
            for (int column = 0; column < 3; ++column) {
                const std::size_t to = line.find(" Ta", from);
                row += line.substr(from, to - from) + " |";
                from = to == std::string::npos ? to : to + 3;
            }
            sections[heading].push_back(row);
        }
    }
    sections.erase("Header");
    return sections;
}

const std::map<std::string, Rows>& layouts() {
    static const std::map<std::string, Rows> all{
        {"hello request", rows_of<HelloRequest>()},
        {"hello reply", rows_of<HelloReply>()},
        {"context_register request", rows_of<ContextRegisterRequest>()},
        {"context_register reply", rows_of<ContextRegisterReply>()},
        {"context_release request", rows_of<ContextReleaseRequest>()},
        {"lookup request", rows_of<LookupRequest>()},
        {"lookup reply", rows_of<LookupReply>()},
        {"begin request", rows_of<BeginRequest>()},
        {"begin reply", rows_of<BeginReply>()},
        {"map request", rows_of<MapRequest>()},
        {"map reply", rows_of<MapReply>()},
        {"seal request", rows_of<SealRequest>()},
        {"seal reply", rows_of<SealReply>()},
        {"share request", rows_of<ShareRequest>()},
        {"release request", rows_of<ReleaseRequest>()},
        {"renew request", rows_of<RenewRequest>()},
        {"renew reply", rows_of<RenewReply>()},
        {"plan_fleet request", rows_of<PlanFleetRequest>()},
        {"plan_fleet reply", rows_of<PlanFleetReply>()},
        {"plan_placement request", rows_of<PlanPlacementRequest>()},
        {"plan_placement reply", rows_of<PlanPlacementReply>()},
        {"adjudicate request", rows_of<AdjudicateRequest>()},
        {"tenant_change request", rows_of<TenantChangeRequest>()},
        {"document request", rows_of<DocumentRequest>()},
        {"document_more request", rows_of<DocumentMoreRequest>()},
        {"document reply", rows_of<DocumentReply>()},
        {"reload reply", rows_of<ReloadReply>()},
        {"forget request", rows_of<ForgetRequest>()},
        {"forget reply", rows_of<ForgetReply>()},
        {"own_statistics reply", rows_of<OwnStatisticsReply>()},
        {"error reply", rows_of<ErrorText>()},
    };
    return all;
}

void expect_all(const std::map<std::string, Rows>& found) {
    for (const auto& [heading, rows] : layouts()) {
        const auto at = found.find(heading);
        if (at == found.end()) {
            ADD_FAILURE() << "no section '" << heading << "'";
            continue;
        }
        EXPECT_EQ(at->second, rows) << heading;
    }
    for (const auto& [heading, rows] : found) {
        EXPECT_EQ(layouts().count(heading), 1U) << "a section of no message: " << heading;
    }
}

TEST(ProtocolPage, HasEveryLayout) {
    expect_all(documented());
}

TEST(ProtocolManual, HasEveryLayout) {
    expect_all(documented_in_manual());
}

TEST(ProtocolPage, HasEveryTypeAndErrorCode) {
    std::ifstream file(CXLPOOL_PROTOCOL_DOC);
    std::set<std::string> lines;
    for (std::string line; std::getline(file, line);) {
        lines.insert(line.substr(0, line.find('|', line.find('|', 2) + 1) + 1));
    }
    for (std::uint32_t number = 1; number < 65'536; ++number) {
        const std::string start = "| " + std::to_string(number) + " | ";
        if (errc_known(static_cast<std::uint16_t>(number))) {
            const auto name = std::string(errc_name(static_cast<Errc>(number)));
            EXPECT_EQ(lines.count(start + name + " |"), 1U) << name;
        }
        const std::string_view word = to_word(static_cast<Type>(number));
        if (word != "unknown") {
            EXPECT_EQ(lines.count(start + std::string(word) + " |"), 1U) << word;
        }
    }
}

}  // namespace
}  // namespace cxlpool::wire
