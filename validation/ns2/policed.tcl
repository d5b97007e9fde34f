# The network of Sanhaji et al. 2015 with congestion policers, on ns-2.35: DTConEx and REDConEx, where senders report losses alone.
#
#   ns policed.tcl harshness=mild charge=arrival r=15 depth=45 variant=droptail duration=100 seed=1
#
# harshness: none (no policer), soft, mild or strict (figure 6). charge: arrival (a report costs a token before the decision to drop it)
# or pass (only a report that passes costs one). Prints one JSON line with what a link, each group and its policers counted from zero on.
#
# A retransmission is a report (section III-B: Re-Echo-Loss, one packet for a loss). At the policer it is a packet whose number the flow
# has sent before: nothing is lost or reordered ahead of it. The policer (section III-F) is a trace that calls Tcl for each packet of a
# user, and an ErrorModel behind it that drops the packet or not, as Tcl has decided.

remove-all-packet-headers
add-packet-header Common Flags IP TCP

array set opt {
    groups heavy:10:36,light:90:1
    variant droptail  rtt 0.1     access_delay 0.001   limit 833
    least 83.3        most 833    probability 1        weight 0.00012   wait 1
    window 45         minrto 0.2  start_max 0.3        access_jitter 0
    harshness mild    charge arrival   r 15            depth 45
    duration 100      seed 1
}
foreach argument $argv {
    if {![regexp {^([a-z_]+)=(.+)$} $argument -> key value] || ![info exists opt($key)]} {
        puts stderr "policed.tcl: $argument is not one of [lsort [array names opt]] with =value"
        exit 2
    }
    set opt($key) $value
}
foreach {key known} {variant {droptail red} harshness {none soft mild strict} charge {arrival pass}} {
    if {[lsearch $known $opt($key)] < 0} {
        puts stderr "policed.tcl: $key is one of $known"
        exit 2
    }
}

set ns [new Simulator]
set scheduler [$ns set scheduler_]
$ns rtproto Manual
ns-random $opt(seed)
set starts [new RNG]
$starts seed $opt(seed)
set dice [new RNG]
$dice seed [expr {1000 + $opt(seed)}]

# 1450 B and 50 of headers with timestamps. No SYN: the first packet is data, and of the same size as the others.
Agent/TCP set packetSize_ 1450
Agent/TCP set window_ $opt(window)
Agent/TCP set windowInit_ 2
Agent/TCP set syn_ false
Agent/TCP set ecn_ 0
Agent/TCP set overhead_ 0
Agent/TCP set timestamps_ true
Agent/TCP/Linux set minrto_ $opt(minrto)
Agent/TCPSink set ts_echo_rfc1323_ true
foreach {name value} [list bytes_ false queue_in_bytes_ false mean_pktsize_ 1500 thresh_ $opt(least) maxthresh_ $opt(most) \
    linterm_ [expr {1.0 / $opt(probability)}] q_weight_ $opt(weight) setbit_ false wait_ $opt(wait)] {
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

# --- The policer: one bucket of `depth` tokens, at first full, for each user -------------------------------------------------------

set debt [dict get {none 1 soft 1.0 mild 0.1 strict 0} $opt(harshness)]
set debt [expr {$debt * $opt(depth)}]
set strict [expr {$opt(harshness) eq "strict"}]
set arrival [expr {$opt(charge) eq "arrival"}]

# Tokens only grow between reports, so a bucket that has some needs no look at other packets.
proc police {user line} {
    global level highest
    set flow [lindex $line 8]
    set number [lindex $line 10]
    set report [expr {$number <= $highest($flow)}]
    if {!$report} {
        set highest($flow) $number
        if {$level($user) > 0} { return }
    }
    decide $user $report
}

proc decide {user report} {
    global scheduler level last dice opt debt strict arrival gate open reports charged policed lowest
    set now [$scheduler now]
    set tokens [expr {$level($user) + $opt(r) * ($now - $last($user))}]
    if {$tokens > $opt(depth)} { set tokens [expr {double($opt(depth))}] }
    set last($user) $now
    if {$report} {
        incr reports($user)
        if {$arrival} {
            set tokens [expr {$tokens - 1}]
            incr charged($user)
        }
    }
    if {$tokens > 0} {
        set drop 0
    } elseif {$strict || -$tokens >= $debt} {
        set drop 1
    } else {
        set drop [expr {[$dice uniform 0 1] < -$tokens / $debt}]
    }
    incr policed($user) $drop
    if {$report && !$arrival && !$drop} {
        set tokens [expr {$tokens - 1}]
        incr charged($user)
    }
    set level($user) $tokens
    if {$tokens < $lowest($user)} { set lowest($user) $tokens }
    if {$drop == $open($user)} {
        set open($user) [expr {!$drop}]
        $gate($user) set rate_ $drop
    }
}

# Between a user's access link and the router.
proc put_policer {user link} {
    global gate open level last opt reports charged policed lowest
    set gate($user) [new ErrorModel]
    $gate($user) unit pkt
    $gate($user) set rate_ 0
    $gate($user) drop-target [new Agent/Null]
    set open($user) 1
    set level($user) [expr {double($opt(depth))}]
    set lowest($user) $level($user)
    set last($user) 0.0
    array set reports [list $user 0]
    array set charged [list $user 0]
    array set policed [list $user 0]
    set trace [new Trace/Recv]
    $trace set callback_ 1
    $trace proc handle line "police $user \$line"
    set last_of_link [$link set ttl_]
    $gate($user) target [$last_of_link target]
    $trace target $gate($user)
    $last_of_link target $trace
}

# --- The network -------------------------------------------------------------------------------------------------------------------

set edge [$ns node]
set server [$ns node]
connect $edge $server 100Mb 1Gb [expr {$opt(rtt) / 2 - $opt(access_delay)}] \
    [expr {$opt(variant) eq "droptail" ? "DropTail" : "RED"}] $opt(limit)
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
    set members($name) {}
    for {set user 0} {$user < $users} {incr user} {
        set host [$ns node]
        # With `access_jitter` round trips of users differ: then nothing is in lockstep.
        set delay [expr {$opt(access_delay) + $opt(access_jitter) * ([$starts uniform 0 1] - 0.5)}]
        connect $host $edge 1Gb 1Gb $delay DropTail 1000000
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
            set highest([$source set agent_addr_].[$source set agent_port_]) -1
        }
        if {$opt(harshness) ne "none"} { put_policer $number [$ns link $host $edge] }
    }
}

proc total {name counter} {
    global sources
    set sum 0
    foreach source $sources($name) { set sum [expr {$sum + [$source set $counter]}] }
    return $sum
}

proc of_users {name counter} {
    global members
    upvar #0 $counter counted
    set found {}
    foreach user $members($name) { lappend found [expr {[info exists counted($user)] ? $counted($user) : 0}] }
    return "\[[join $found {, }]\]"
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
            \"users_reports\": [of_users $name reports],\
            \"users_charged\": [of_users $name charged], \"users_policed\": [of_users $name policed],\
            \"users_least_tokens\": [of_users $name lowest]}"
        incr fid
    }
    puts "{\"simulator\": \"ns-2.35\", \"duration_s\": $opt(duration), \"arrived\": [format %.0f [$all set parrivals_]], \"dropped\": [format %.0f [$all set pdrops_]],\
        \"queue_packets_mean\": [expr {[$waiting set sum_] / $opt(duration)}],\
        \"utilisation\": [expr {8.0 * [$all set bdepartures_] / $opt(duration) / 1e8}], \"groups\": {[join $groups {, }]}}"
    exit 0
}

$ns at $opt(duration) finish
$ns run
