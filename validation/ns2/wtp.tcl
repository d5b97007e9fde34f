# Willingness to pay (Siris et al. 2002, equation 4) on ns-2.35's own TCP, links and queues: one link, two classes.
#
#   ns wtp.tcl groups=light:5:1:1,heavy:5:10:1 marker=arrivals seed=1
#
# Groups are name:connections:increase weight:decrease weight. Agent/TCP keeps its own sequence numbers, ACK clock and
# whole windows; what it would do to the window by itself is switched off, and a callback that sees each ACK just before
# the agent does sets `cwnd_` from the mark of the very packet that is acknowledged. Two things of the agent's remain,
# each for one ACK: its initial window at the first one, and a halving at a connection's first mark. From `warmup` on
# windows that are not ours are counted, and there should be none. Markers:
#   arrivals   the paper's virtual queue (section 4.2), here in Tcl: all that arrive from a virtual loss until it is empty
#   overflow   the same, but only packets that are virtually lost
#   gk         Queue/GK: all that leave from a virtual loss until the virtual queue is empty
#   red        Queue/RED with wait_ as `wait` says
# It prints one JSON line; what it counts, it counts from `warmup` to `duration`.

remove-all-packet-headers
add-packet-header Common Flags IP TCP

array set opt {
    groups light:5:1:1,heavy:5:10:1
    marker arrivals    wait 0
    rate 10e6          delay 0.06          access_rate 100e6   access_delay 0.04
    packet 1000        header 40           start_max 5         gain 0.5
    theta 0.95         buffer 30           least 5             most 15
    probability 0.1    weight 0.002
    duration 180       warmup 60           seed 1
}
foreach argument $argv {
    if {![regexp {^([a-z_]+)=(.+)$} $argument -> key value] || ![info exists opt($key)]} {
        puts stderr "wtp.tcl: $argument is not one of [lsort [array names opt]] with =value"
        exit 2
    }
    set opt($key) $value
}
set in_queue [expr {$opt(marker) in {gk red}}]

set ns [new Simulator]
$ns rtproto Manual
ns-random $opt(seed)
set scheduler [$ns set scheduler_]
set starts [new RNG]
$starts seed $opt(seed)

# The window's own rules: an increase of nothing, a decrease to the whole (not below ssthresh_, which would be slow start
# and halve it: `acked` sets it back), and no timer within any run.
foreach {name value} [list packetSize_ [expr {$opt(packet) - $opt(header)}] tcpip_base_hdr_size_ $opt(header) \
    syn_ false window_ 1000000 windowInit_ 1 windowOption_ 1 increase_num_ 0 decrease_num_ 1.0 precision_reduce_ true \
    minrto_ 1000 maxrto_ 2000 maxburst_ 0 overhead_ 0 ecn_ $in_queue] {
    Agent/TCP set $name $value
}
foreach {name value} [list bytes_ false queue_in_bytes_ false mean_pktsize_ $opt(packet) gentle_ true \
    thresh_ $opt(least) maxthresh_ $opt(most) linterm_ [expr {1.0 / $opt(probability)}] q_weight_ $opt(weight) \
    setbit_ true use_mark_p_ false wait_ $opt(wait)] {
    Queue/RED set $name $value
}

# Nothing is ever dropped. The way back is delay alone: ACKs do not queue.
set UNLIMITED 1000000
proc connect {from to rate delay kind} {
    global ns UNLIMITED
    $ns simplex-link $from $to $rate $delay $kind
    $ns simplex-link $to $from 1e15 $delay DropTail
    $ns queue-limit $from $to $UNLIMITED
    $ns queue-limit $to $from $UNLIMITED
}

proc route {from to args} {
    eval [$from get-module Manual] add-route-to-adj-node $args $to
}

# A trace that hands what it sees to a command and then on, behind `object`.
proc watch {kind object command} {
    set trace [new Trace/$kind]
    $trace set callback_ 1
    $trace proc handle line "$command \$line"
    $trace target [$object target]
    $object target $trace
}

set edge [$ns node]
set server [$ns node]
connect $edge $server $opt(rate) $opt(delay) [dict get {arrivals DropTail overflow DropTail gk GK red RED} $opt(marker)]
route $edge $server -default
route $server $edge -default
set bottleneck [$ns link $edge $server]
set queue [$bottleneck queue]
if {$opt(marker) eq "gk"} {
    # Its limit is that of the real queue as well. Both are made large together, the shares of them that are the virtual
    # queue's rate and limit small, and it is told of a link faster by as much.
    set times [expr {$UNLIMITED / $opt(buffer)}]
    $queue set mean_pktsize_ $opt(packet)
    $queue set limit_ [expr {$times * $opt(buffer)}]
    $queue set ecnlim_ [expr {double($opt(theta)) / $times}]
    set told [new DelayLink]
    $told set bandwidth_ [expr {$times * $opt(rate)}]
    $queue link $told
}
set monitor [$ns monitor-queue $edge $server ""]
set occupancy [$monitor get-pkts-integrator]

set capacity [expr {$opt(theta) * $opt(rate) / (8.0 * $opt(packet))}]
set room [expr {$opt(theta) * $opt(buffer)}]
array set virtual {backlog 0.0 last 0.0 busy 0}
array set count {seen 0 marked 0}
set measuring 0

# A packet on the link, with the fields of ns-2's trace: 6 flags, 7 connection, 10 sequence number.
proc seen {line marked} {
    global mark count measuring
    set mark([lindex $line 7],[lindex $line 10]) $marked
    if {$measuring} {
        incr count(seen)
        incr count(marked) $marked
    }
}

# Arrival at the virtual queue (section 4.2).
proc arrive {line} {
    global scheduler opt virtual capacity room
    set now [$scheduler now]
    set backlog [expr {$virtual(backlog) - $capacity * ($now - $virtual(last))}]
    set virtual(last) $now
    if {$backlog <= 0} {
        set backlog 0.0
        set virtual(busy) 0
    }
    set lost [expr {$backlog + 1 > $room}]
    if {$lost} { set virtual(busy) 1 } else { set backlog [expr {$backlog + 1}] }
    set virtual(backlog) $backlog
    seen $line [expr {$opt(marker) eq "overflow" ? $lost : $virtual(busy)}]
}

# Departure from a queue that marks by itself: E is the congestion mark.
proc depart {line} {
    global forced
    set packet [lindex $line 7],[lindex $line 10]
    set marked [string match *E* [lindex $line 6]]
    if {[info exists forced($packet)]} {
        set marked 1
        unset forced($packet)
    }
    seen $line $marked
}

# RED drops, ECN or not, once its average reaches twice the upper threshold; the paper's marks. So while the average
# would be there it is kept here, by RED's own equation; RED is told of a lower one, and the packet counts as marked.
proc hold {line} {
    global opt queue monitor average forced measuring held
    set waiting [$monitor set pkts_]
    if {$average eq ""} {
        set next [expr {(1 - $opt(weight)) * [$queue set ave_] + $opt(weight) * $waiting}]
    } else {
        set next [expr {(1 - $opt(weight)) * $average + $opt(weight) * $waiting}]
    }
    # RED lets packets pass where not more than one waits; the margin is for ave_ as text, six digits.
    if {$waiting > 1 && $next >= 2 * $opt(most) - 1e-3} {
        set average $next
        $queue set ave_ [expr {2 * $opt(most) - 1}]
        set forced([lindex $line 7],[lindex $line 10]) 1
        incr held $measuring
    } elseif {$average ne ""} {
        $queue set ave_ $average
        set average ""
    }
}

# An ACK about to reach its sender: equation 4 with the mark of its packet, at least one packet.
proc acked {flow line} {
    global opt in_queue mark window flows measuring acked marked area last odd
    set number [lindex $line 10]
    set now [lindex $line 1]
    foreach {source increase decrease} $flows($flow) {}
    if {$number != $acked($flow)} {
        puts stderr "wtp.tcl: connection $flow has ACK $number where $acked($flow) was next"
        exit 3
    }
    incr acked($flow)
    set f $mark($flow,$number)
    unset mark($flow,$number)
    set old $window($flow)
    if {$measuring} {
        if {abs([$source set cwnd_] - $old) > 1e-5 * $old} { incr odd }
        incr marked($flow) $f
        set area($flow) [expr {$area($flow) + $old * ($now - max($last($flow), $opt(warmup)))}]
    }
    set last($flow) $now
    set window($flow) [expr {max(1.0, $old + $opt(gain) * ($increase / $old - double($f) / $decrease))}]
    $source set cwnd_ $window($flow)
    if {$in_queue} { $source set ssthresh_ 1 }
}

if {$in_queue} { watch Deque $queue depart } else { watch Enque [$bottleneck head] arrive }
if {$opt(marker) eq "red"} { watch Enque [$bottleneck head] hold }

set flow 0
set names {}
set odd 0
set held 0
set average ""
foreach group [split $opt(groups) ,] {
    foreach {name connections increase decrease} [split $group :] {}
    lappend names $name
    for {set i 0} {$i < $connections} {incr i} {
        set host [$ns node]
        connect $host $edge $opt(access_rate) $opt(access_delay) DropTail
        route $host $edge -default
        route $edge $host
        set source [new Agent/TCP]
        set sink [new Agent/TCPSink]
        $source set fid_ $flow
        $ns attach-agent $host $source
        $ns attach-agent $server $sink
        $ns connect $source $sink
        set application [new Application/FTP]
        $application attach-agent $source
        watch Recv [[$ns link $edge $host] set ttl_] "acked $flow"
        set flows($flow) [list $source $increase $decrease]
        array set window [list $flow 1.0]
        array set acked [list $flow 0]
        array set marked [list $flow 0]
        array set area [list $flow 0.0]
        array set last [list $flow 0.0]
        lappend members($name) $flow
        set at [$starts uniform 0 $opt(start_max)]
        $ns at $at "$application start; $source set ssthresh_ 1"
        incr flow
    }
}

proc begin {} {
    global ns measuring monitor occupancy acked at_begin
    set measuring 1
    $occupancy newpoint [$ns now] [$occupancy set lasty_]
    set at_begin(area) [$occupancy set sum_]
    set at_begin(bytes) [$monitor set bdepartures_]
    array set at_begin [array get acked]
}

proc finish {} {
    global ns opt monitor occupancy acked marked area last window count at_begin names members odd held
    $occupancy newpoint [$ns now] [$occupancy set lasty_]
    set length [expr {$opt(duration) - $opt(warmup)}]
    set groups {}
    foreach name $names {
        set each(delivered) {}
        set each(marks) {}
        set each(window) {}
        foreach flow $members($name) {
            lappend each(delivered) [expr {$acked($flow) - $at_begin($flow)}]
            lappend each(marks) $marked($flow)
            lappend each(window) [expr {($area($flow) + $window($flow) * ([$ns now] - $last($flow))) / $length}]
        }
        lappend groups "\"$name\": {\"flows_delivered_packets\": \[[join $each(delivered) {, }]\],\
            \"flows_marks\": \[[join $each(marks) {, }]\], \"flows_window_packets\": \[[join $each(window) {, }]\]}"
    }
    set utilisation [expr {8.0 * ([$monitor set bdepartures_] - $at_begin(bytes)) / ($opt(rate) * $length)}]
    set waiting [expr {([$occupancy set sum_] - $at_begin(area)) / double($length)}]
    puts "{\"window_s\": \[$opt(warmup), $opt(duration)\], \"windows_not_ours\": $odd, \"held_packets\": $held,\
        \"links\": {\"bottleneck\": {\"seen_packets\": $count(seen), \"marked_packets\": $count(marked),\
        \"dropped_packets\": [$monitor set pdrops_], \"utilisation\": $utilisation, \"queue_packets_mean\": $waiting}},\
        \"groups\": {[join $groups {, }]}}"
    exit 0
}

$ns at $opt(warmup) begin
$ns at $opt(duration) finish
$ns run
