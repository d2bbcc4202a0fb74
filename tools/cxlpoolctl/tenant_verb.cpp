// cxlpoolctl tenant list, show, add, set, salt, weight, reserve, forget, receipts; receipt check
#include <unistd.h>

#include <istream>
#include <ostream>

#include "base/text.hpp"
#include "base/units.hpp"
#include "cxlpoolctl/daemon.hpp"
#include "cxlpoolctl/files.hpp"
#include "cxlpoolctl/json_view.hpp"
#include "cxlpoolctl/options.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/source.hpp"
#include "cxlpoolctl/tenant_lookup.hpp"
#include "cxlpoolctl/verb.hpp"
#include "domain/receipt.hpp"

namespace cxlpool::ctl {
namespace {

OptionSet tenant_options(const std::string& synopsis, const std::string& about) {
    OptionSet set(synopsis, about);
    set.operands();
    return set;
}

Error usage(std::string message) {
    return Error{Errc::invalid_argument, std::move(message)};
}

Result<std::uint64_t> read_value(const std::string& word, std::string_view what) {
    const Result<std::uint64_t> value = parse_u64(word);
    if (!value) {
        return usage("'" + word + "' is no " + std::string(what) + ": " + value.error().message());
    }
    return *value;
}

Result<void> expect_operands(const OptionValues& values, std::size_t count,
                             std::string_view which) {
    if (values.operands().size() != count) {
        return usage(values.operands().size() < count
                         ? "missing: " + std::string(which) + " takes " + std::to_string(count) +
                               " words"
                         : "'" + values.operands()[count] + "' is left over; what is taken is " +
                               std::string(which));
    }
    return {};
}

using Change = Result<wire::TenantChangeRequest>;

// Sends what was understood, and says what has become of it.
int run_change(std::string_view verb, const OptionValues& values, const Change& change,
               Streams& streams) {
    if (!change) {
        return change.error().code() == Errc::invalid_argument
                   ? fail_usage(streams, verb, change.error().message())
                   : daemon_failure(streams, change.error());
    }
    const Result<void> done = change_tenant(values, *change);
    if (!done) {
        return daemon_failure(streams, done.error());
    }
    streams.out << "saved\n";
    return kExitOk;
}

// Of a verb that takes a tenant and one more word.
Change read_setting(const OptionValues& values, wire::TenantOp op, std::string_view takes,
                    std::string_view what) {
    CXLPOOL_TRY(expect_operands(values, 2, takes));
    const Result<std::uint64_t> value = read_value(values.operands()[1], what);
    if (!value) {
        return value.error();
    }
    const Result<std::uint64_t> tenant = resolve_tenant(values, values.operands()[0]);
    if (!tenant) {
        return tenant.error();
    }
    return wire::TenantChangeRequest{op, *tenant, *value, "", ""};
}

Change read_reservation(const OptionValues& values) {
    CXLPOOL_TRY(expect_operands(values, 3, "TENANT POOL SIZE"));
    const std::vector<std::string>& words = values.operands();
    if (!is_name(words[1])) {
        return usage("'" + words[1] + "' is no name of a pool");
    }
    const Result<std::uint64_t> bytes = parse_bytes(words[2]);
    if (!bytes) {
        return usage("'" + words[2] + "' is no size: " + bytes.error().message());
    }
    const Result<std::uint64_t> tenant = resolve_tenant(values, words[0]);
    if (!tenant) {
        return tenant.error();
    }
    return wire::TenantChangeRequest{wire::TenantOp::reserve, *tenant, *bytes, "", words[1]};
}

Result<std::string> read_name(const OptionValues& values) {
    const std::string name = values.value("name").value_or("");
    if (!is_name(name)) {
        return usage("--name: '" + name +
                     "' is no name; use a letter, then letters, digits, '.', '_' or '-', at most "
                     "64");
    }
    return name;
}

Change read_add(const OptionValues& values) {
    CXLPOOL_TRY(expect_operands(values, 1, "ID"));
    const Result<std::uint64_t> id = read_tenant_number(values.operands()[0]);
    if (!id) {
        return id.error();
    }
    wire::TenantChangeRequest request{wire::TenantOp::add, *id, 0, "", ""};
    if (values.has("name")) {
        const Result<std::string> name = read_name(values);
        if (!name) {
            return name.error();
        }
        request.name = *name;
    }
    return request;
}

Change read_set(const OptionValues& values) {
    CXLPOOL_TRY(expect_operands(values, 1, "TENANT"));
    if (!values.has("name")) {
        return usage("missing: --name");
    }
    const Result<std::string> name = read_name(values);
    if (!name) {
        return name.error();
    }
    const Result<std::uint64_t> tenant = resolve_tenant(values, values.operands()[0]);
    if (!tenant) {
        return tenant.error();
    }
    return wire::TenantChangeRequest{wire::TenantOp::set_name, *tenant, 0, *name, ""};
}

}  // namespace

OptionSet tenant_list_options() {
    OptionSet set("tenant list [OPTION...]",
                  "The tenants, with what operators gave them. Salts are among it.");
    set.flag("json", "JSON instead of tables");
    add_socket_option(set);
    return set;
}

int run_tenant_list(const OptionValues& values, Streams& streams) {
    return show_document(values, wire::Document::tenants, print_tenant_list, streams);
}

OptionSet tenant_show_options() {
    OptionSet set =
        tenant_options("tenant show TENANT [OPTION...]", "One tenant, by its number or its name.");
    set.flag("json", "JSON instead of a table");
    add_socket_option(set);
    return set;
}

int run_tenant_show(const OptionValues& values, Streams& streams) {
    if (const Result<void> good = expect_operands(values, 1, "TENANT"); !good) {
        return fail_usage(streams, "tenant show", good.error().message());
    }
    const Result<FoundTenant> found = find_tenant(values, values.operands()[0]);
    if (!found) {
        return daemon_failure(streams, found.error());
    }
    if (values.has("json")) {
        print_json(streams.out, tenant_json(found->document, found->id));
    } else {
        print_tenant(streams.out, found->row);
    }
    return kExitOk;
}

OptionSet tenant_add_options() {
    OptionSet set = tenant_options(
        "tenant add ID [OPTION...]",
        "Makes a tenant, which outlives the daemon. Its engines get in when the configuration\n"
        "declares it, too, and grants it to somebody. It takes the role admin.");
    set.value("name", "NAME", "what it is called");
    add_socket_option(set);
    return set;
}

int run_tenant_add(const OptionValues& values, Streams& streams) {
    return run_change("tenant add", values, read_add(values), streams);
}

OptionSet tenant_set_options() {
    OptionSet set =
        tenant_options("tenant set TENANT --name NAME [OPTION...]",
                       "Renames a tenant that the configuration does not name. It takes the role "
                       "admin.");
    set.value("name", "NAME", "what it is called from now on");
    add_socket_option(set);
    return set;
}

int run_tenant_set(const OptionValues& values, Streams& streams) {
    return run_change("tenant set", values, read_set(values), streams);
}

OptionSet tenant_salt_options() {
    OptionSet set = tenant_options(
        "tenant salt TENANT SALT [OPTION...]",
        "Gives a tenant a keyspace of its own: nothing is shared with tenants of another salt,\n"
        "in either direction. SALT is a number of 64 bits, as 0x and hexadecimal digits or\n"
        "decimal; 0 is none. Refused once the tenant has had cells. It takes the role admin.");
    add_socket_option(set);
    return set;
}

int run_tenant_salt(const OptionValues& values, Streams& streams) {
    return run_change("tenant salt", values,
                      read_setting(values, wire::TenantOp::set_salt, "TENANT SALT", "salt"),
                      streams);
}

OptionSet tenant_weight_options() {
    OptionSet set = tenant_options(
        "tenant weight TENANT N [OPTION...]",
        "Sets how large a tenant's share of a full pool is beside the others'; 1 to 1000000,\n"
        "and 100 for who was given none. It takes the role admin.");
    add_socket_option(set);
    return set;
}

int run_tenant_weight(const OptionValues& values, Streams& streams) {
    return run_change("tenant weight", values,
                      read_setting(values, wire::TenantOp::set_weight, "TENANT N", "weight"),
                      streams);
}

OptionSet tenant_reserve_options() {
    OptionSet set = tenant_options(
        "tenant reserve TENANT POOL SIZE [OPTION...]",
        "Guarantees a tenant bytes of a pool, in the place of what it had reserved there; 0 is\n"
        "none. SIZE is a number of bytes, or as 64MiB. It takes the role admin.");
    add_socket_option(set);
    return set;
}

int run_tenant_reserve(const OptionValues& values, Streams& streams) {
    return run_change("tenant reserve", values, read_reservation(values), streams);
}

OptionSet tenant_forget_options() {
    OptionSet set = tenant_options(
        "tenant forget TENANT [OPTION...]",
        "Erases everything that a tenant has stored: its cells go, shared ones too, their bytes\n"
        "are overwritten and read back, and a receipt is printed. The tenant stays, as one that\n"
        "has never had cells. Once begun it ends, whatever becomes of this command or the\n"
        "daemon. Until then its engines find and store nothing. It takes the role admin.");
    set.value("wait", "SECONDS",
              "how long leases on its cells may live on before they are revoked\n"
              "(default: 30)");
    set.flag("now", "revoke them at once: --wait 0");
    set.flag("yes", "do not ask");
    set.flag("json", "the receipt as JSON, to be kept");
    add_socket_option(set);
    return set;
}

int run_tenant_forget(const OptionValues& values, Streams& streams) {
    constexpr std::string_view kVerb = "tenant forget";
    constexpr std::uint64_t kDefaultSeconds = 30;
    constexpr std::uint64_t kMostSeconds = 86'400;
    if (const Result<void> good = expect_operands(values, 1, "TENANT"); !good) {
        return fail_usage(streams, kVerb, good.error().message());
    }
    const Result<std::optional<std::uint64_t>> wait = values.number("wait");
    if (!wait || wait->value_or(0) > kMostSeconds || (values.has("wait") && values.has("now"))) {
        return fail_usage(streams, kVerb,
                          values.has("now") ? "--wait and --now exclude each other"
                                            : "--wait takes whole seconds, at most 86400");
    }
    const Result<FoundTenant> found = find_tenant(values, values.operands()[0]);
    if (!found) {
        return daemon_failure(streams, found.error());
    }
    const std::string name = text_of(found->row, "name");
    if (!values.has("yes")) {
        if (::isatty(STDIN_FILENO) == 0) {
            return fail_usage(streams, kVerb, "nobody can be asked here; --yes goes on without");
        }
        streams.err << "This erases everything that tenant " << found->id << " (" << name
                    << ") has stored. Type its number to go on: " << std::flush;
        std::string answer;
        if (!std::getline(streams.in, answer) || answer != std::to_string(found->id)) {
            streams.err << "nothing was erased\n";
            return kExitNo;
        }
    }
    const std::uint64_t seconds = values.has("now") ? 0 : wait->value_or(kDefaultSeconds);
    if (seconds != 0 && !values.has("json")) {
        streams.err << "erasing; readers have " << seconds << " s to end\n";
    }
    const Result<std::string> receipt = forget_tenant(
        values, wire::ForgetRequest{found->id, static_cast<std::uint32_t>(seconds * 1000)});
    if (!receipt) {
        return daemon_failure(streams, receipt.error());
    }
    const Result<json::Value> read = parse_document("the receipt", *receipt);
    if (!read) {
        return daemon_failure(streams, read.error());
    }
    if (values.has("json")) {
        print_json(streams.out, *receipt);
    } else {
        print_receipt(streams.out, *read);
    }
    // Bytes that could not be overwritten are an answer that nobody must overlook.
    return number_of(*read, "bytes_withdrawn").value_or(1) == 0 ? kExitOk : kExitNo;
}

OptionSet tenant_receipts_options() {
    OptionSet set(
        "tenant receipts [OPTION...]",
        "The receipts of the last erasures that have finished, as the daemon keeps them.");
    set.flag("json", "JSON instead of a table");
    add_socket_option(set);
    return set;
}

int run_tenant_receipts(const OptionValues& values, Streams& streams) {
    return show_document(values, wire::Document::receipts, print_receipts, streams);
}

OptionSet receipt_check_options() {
    OptionSet set("receipt check FILE",
                  "Whether a receipt is, byte for byte, what the daemon has written. FILE as\n"
                  "cxlpoolctl tenant forget --json printed it; - is standard input.");
    set.operands();
    return set;
}

int run_receipt_check(const OptionValues& values, Streams& streams) {
    if (const Result<void> good = expect_operands(values, 1, "FILE"); !good) {
        return fail_usage(streams, "receipt check", good.error().message());
    }
    constexpr std::size_t kMaxBytes = 65536;
    const std::string& path = values.operands()[0];
    const Result<std::string> text = read_file(path, streams.in, kMaxBytes);
    if (!text) {
        return fail(streams, text.error(), kExitNo);
    }
    if (const Result<void> good = check_receipt(path, *text); !good) {
        return fail(streams, good.error(), kExitNo);
    }
    streams.out << path << ": ok\n";
    return kExitOk;
}

}  // namespace cxlpool::ctl
