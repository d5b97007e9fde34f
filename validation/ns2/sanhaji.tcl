# The network of Sanhaji et al. 2015 on ns-2.35: users with CUBIC flows through one link of 100 Mbit/s. conex.tcl and policed.tcl
# source this file. Before, they set `opt` (all options with their defaults), `known` (options with few values) and `back` (rate of the
# reverse direction of the link). They define these procedures:
#
#   prepare           options and random streams are there
#   delay_of          propagation of a user's access link
#   flow_made source  a flow was made
#   user_made number link
#                     a user was made; `link` is its access link
#   of_group name flow, of_link
#                     further fields of the JSON line

remove-all-packet-headers
add-packet-header Common Flags IP TCP

set script [file tail $argv0]
foreach argument $argv {
    if {![regexp {^([a-z_]+)=(.+)$} $argument -> key value] || ![info exists opt($key)]} {
        puts stderr "$script: $argument is not one of [lsort [array names opt]] with =value"
        exit 2
    }
    set opt($key) $value
}
foreach {key values} $known {
    if {[lsearch $values $opt($key)] < 0} {
        puts stderr "$script: $key is one of $values"
        exit 2
    }
}
set ecn [expr {$opt(variant) eq "ecn"}]

set ns [new Simulator]
set scheduler [$ns set scheduler_]
$ns rtproto Manual
ns-random $opt(seed)
set starts [new RNG]
$starts seed $opt(seed)
prepare

# 1450 B and 50 of headers with timestamps. No SYN: the first packet is data, and of the same size as the others.
Agent/TCP set packetSize_ 1450
Agent/TCP set window_ $opt(window)
Agent/TCP set windowInit_ 2
Agent/TCP set syn_ false
Agent/TCP set ecn_ $ecn
Agent/TCP set overhead_ $opt(overhead)
Agent/TCP set timestamps_ true
Agent/TCP/Linux set minrto_ $opt(minrto)
Agent/TCPSink set ts_echo_rfc1323_ true

# In packets, gentle. Unless `mark_p` is 0 RED drops what it could mark as soon as the probability passes it, as ns-2 does by
# default beyond 0.1.
foreach {name value} [list bytes_ false queue_in_bytes_ false mean_pktsize_ 1500 thresh_ $opt(least) maxthresh_ $opt(most) \
    linterm_ [expr {1.0 / $opt(probability)}] q_weight_ $opt(weight) setbit_ $ecn use_mark_p_ [expr {$opt(mark_p) > 0}] \
    mark_p_ $opt(mark_p) wait_ $opt(wait)] {
    Queue/RED set $name $value
}

# ns-2's drop-tail refuses a packet when length + 1 >= limit; RED keeps the limit as it is.
proc connect {from to rate back delay kind limit} {
    global ns
    $ns simplex-link $from $to $rate $delay $kind
    $ns simplex-link $to $from $back $delay DropTail
    $ns queue-limit $from $to [expr {$kind eq "DropTail" ? $limit + 1 : $limit}]
    $ns queue-limit $to $from 1000000
}

proc route {from to args} {
    eval [$from get-module Manual] add-route-to-adj-node $args $to
}

set edge [$ns node]
set server [$ns node]
connect $edge $server 100Mb $back [expr {$opt(rtt) / 2 - $opt(access_delay)}] [expr {$opt(variant) eq "droptail" ? "DropTail" : "RED"}] \
    $opt(limit)
route $edge $server -default
route $server $edge -default
# One counter for all, and one for each group, which is its packets' flow id.
set all [$ns monitor-queue $edge $server ""]
set waiting [$all get-pkts-integrator]
set marker [$ns makeflowmon Fid]
$ns attach-fmon [$ns link $edge $server] $marker

set names {}
set number 0
foreach group [split $opt(groups) ,] {
    foreach {name users flows} [split $group :] break
    set fid [llength $names]
    lappend names $name
    set size($name) $users
    set sources($name) {}
    for {set user 0} {$user < $users} {incr user} {
        set host [$ns node]
        connect $host $edge 1Gb 1Gb [delay_of] DropTail 1000000
        route $host $edge -default
        route $edge $host
        incr number
        lappend members($name) $number
        for {set flow 0} {$flow < $flows} {incr flow} {
            set source [new Agent/TCP/Linux]
            set sink [new Agent/TCPSink/Sack1]
            $source set fid_ $fid
            $ns attach-agent $host $source
            $ns attach-agent $server $sink
            $ns connect $source $sink
            set application [new Application/FTP]
            $application attach-agent $source
            $ns at 0 "$source select_ca cubic"
            $ns at [$starts uniform 0 $opt(start_max)] "$application start"
            lappend sources($name) $source
            flow_made $source
        }
        user_made $number [$ns link $host $edge]
    }
}

proc total {name counter} {
    global sources
    set sum 0
    foreach source $sources($name) { set sum [expr {$sum + [$source set $counter]}] }
    return $sum
}

proc finish {} {
    global ns opt all waiting marker names size
    $waiting newpoint [$ns now] [$waiting set lasty_]
    foreach flow [$marker flows] { set of([$flow set flowid_]) $flow }
    set groups {}
    set fid 0
    foreach name $names {
        # ack_ is the last packet acknowledged, of which the first is 0.
        set acked [expr {[total $name ack_] + [llength $::sources($name)]}]
        set flow $of($fid)
        lappend groups "\"$name\": {\"users\": $size($name), \"goodput_bps\": [expr {8.0 * 1450 * $acked / $size($name) / $opt(duration)}],\
            \"sent\": [total $name ndatapack_], \"again\": [total $name nrexmitpack_], \"timeouts\": [total $name nrexmit_],\
            \"reductions\": [total $name ncwndcuts_],\
            \"arrived\": [format %.0f [$flow set parrivals_]], \"dropped\": [format %.0f [$flow set pdrops_]],\
            [of_group $name $flow]}"
        incr fid
    }
    puts "{\"simulator\": \"ns-2.35\", \"duration_s\": $opt(duration), \"arrived\": [format %.0f [$all set parrivals_]], \"dropped\": [format %.0f [$all set pdrops_]],\
        \"queue_packets_mean\": [expr {[$waiting set sum_] / $opt(duration)}], [of_link]\
        \"utilisation\": [expr {8.0 * [$all set bdepartures_] / $opt(duration) / 1e8}], \"groups\": {[join $groups {, }]}}"
    exit 0
}

$ns at $opt(duration) finish
$ns run
