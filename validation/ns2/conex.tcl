# The network of Sanhaji et al. 2015 without a policer, on ns-2.35: 450 CUBIC flows of ten heavy and ninety light users through one
# link of 100 Mbit/s. Agent/TCP/Linux with SACK and timestamps, one ACK a packet, windows of 45 packets.
#
#   ns conex.tcl variant=ecn rtt=0.1 limit=833 least=83.3 most=833 probability=1 weight=0.00012 duration=100 seed=1
#
# variant: droptail, red (drops) or ecn (RED that marks, classic feedback). All times in s, lengths in packets. Prints one JSON line with
# what a link and each group counted from zero on.
#
# overhead_ stays 0. With it Agent/TCP/Linux takes back what a reduction has just taken (docs/validation/conex.md).

array set opt {
    groups heavy:10:36,light:90:1
    variant ecn     rtt 0.1     access_delay 0.001   limit 833
    least 83.3      most 833    probability 1        weight 0.00012   wait 1   mark_p 0
    window 45       minrto 0.2  start_max 0.3        overhead 0
    duration 100    seed 1
}
set known {variant {droptail red ecn}}
set back 100Mb

proc prepare {} {}
proc delay_of {} { return $::opt(access_delay) }
proc flow_made {source} {}
proc user_made {number link} {}
proc of_group {name flow} {
    return "\"echoed\": [total $name necnresponses_], \"marked\": [format %.0f [$flow set pmarks_]]"
}
proc of_link {} {
    global all waiting
    return "\"marked\": [format %.0f [$all set pmarks_]],\
        \"queue_delay_s_mean\": [expr {[$waiting set sum_] / [$all set pdepartures_]}],"
}

source [file join [file dirname [info script]] sanhaji.tcl]
