// cxlpoolctl status
#include "cxlpoolctl/daemon.hpp"
#include "cxlpoolctl/options.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/verb.hpp"

namespace cxlpool::ctl {

OptionSet status_options() {
    OptionSet set("status [OPTION...]", "The running daemon: its pools, tenants and connections.");
    set.flag("json", "JSON instead of tables");
    add_socket_option(set);
    return set;
}

int run_status(const OptionValues& values, Streams& streams) {
    return show_document(values, wire::Document::status, print_status, streams);
}

}  // namespace cxlpool::ctl
