// cxlpoolctl status
#include "cxlpoolctl/daemon.hpp"
#include "cxlpoolctl/options.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/verb.hpp"

namespace cxlpool::ctl {

int run_status(std::span<const std::string> arguments, Streams& streams) {
    OptionSet set("status [OPTION...]", "The running daemon: its pools, tenants and connections.");
    set.flag("json", "JSON instead of tables");
    add_socket_option(set);
    return run_document_verb("status", set, wire::Document::status, print_status, arguments,
                             streams);
}

}  // namespace cxlpool::ctl
