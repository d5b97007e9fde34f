# Figure 20 of Sanhaji et al. 2015 without a policer, on ns-2.35: flows of ten packets of ten heavy and ninety light users beside datagrams
# that nobody holds back, through one link of 100 Mbit/s. Agent/TCP/Linux with SACK and timestamps, one ACK a packet.
#
#   ns figure20.tcl variant=ecn datagrams=90 rtt=0.1 limit=833 least=83.3 most=833 probability=1 weight=0.00012 duration=70 warmup=10 seed=1
#
# variant: droptail, red (drops) or ecn (RED that marks, classic feedback). A flow begins every `gap` s on average, with gaps of a gamma
# law of this `shape`; with probability `share` it is a heavy user's. Datagrams (Mbit/s) have gaps of their mean and half of it more or
# less. A flow is complete when its sender has the acknowledgement of the last packet. Its agents are used again `again` s later, when
# nothing of it is left, by another flow of the same user; -1: never. Prints one JSON line.

remove-all-packet-headers
add-packet-header Common Flags IP TCP RTP

array set opt {
    variant ecn     rtt 0.1     access_delay 0.001   limit 833   datagrams 90
    least 83.3      most 833    probability 1        weight 0.00012   wait 1
    gap 0.006       shape 1     share 0.8            heavy 10    light 90    packets 10
    window 45       minrto 0.2  duration 70          warmup 10   again 10   seed 1
}
foreach argument $argv {
    if {![regexp {^([a-z_]+)=(.+)$} $argument -> key value] || ![info exists opt($key)]} {
        puts stderr "figure20.tcl: $argument is not one of [lsort [array names opt]] with =value"
        exit 2
    }
    set opt($key) $value
}
set ecn [expr {$opt(variant) eq "ecn"}]

set ns [new Simulator]
$ns rtproto Manual
ns-random $opt(seed)
set draws [new RNG]
$draws seed $opt(seed)
set gaps [new RandomVariable/Gamma]
$gaps set alpha_ $opt(shape)
$gaps set beta_ [expr {double($opt(gap)) / $opt(shape)}]
$gaps use-rng $draws

# 1450 B and 50 of headers with timestamps. No SYN: the first packet is data.
Agent/TCP set packetSize_ 1450
Agent/TCP set window_ $opt(window)
Agent/TCP set windowInit_ 2
Agent/TCP set syn_ false
Agent/TCP set ecn_ $ecn
Agent/TCP set overhead_ 0
Agent/TCP set timestamps_ true
Agent/TCP/Linux set minrto_ $opt(minrto)
Agent/TCPSink set ts_echo_rfc1323_ true
Agent/UDP set packetSize_ 1500
foreach {name value} [list bytes_ false queue_in_bytes_ false mean_pktsize_ 1500 thresh_ $opt(least) maxthresh_ $opt(most) \
    linterm_ [expr {1.0 / $opt(probability)}] q_weight_ $opt(weight) setbit_ $ecn use_mark_p_ false wait_ $opt(wait)] {
    Queue/RED set $name $value
}

# ns-2's drop-tail refuses a packet when length + 1 >= limit; RED keeps the limit as it is.
proc connect {from to rate delay kind limit} {
    global ns
    $ns simplex-link $from $to $rate $delay $kind
    $ns simplex-link $to $from $rate $delay DropTail
    $ns queue-limit $from $to [expr {$kind eq "DropTail" ? $limit + 1 : $limit}]
    $ns queue-limit $to $from 1000000
}

proc route {from to args} {
    eval [$from get-module Manual] add-route-to-adj-node $args $to
}

set edge [$ns node]
set server [$ns node]
connect $edge $server 100Mb [expr {$opt(rtt) / 2 - $opt(access_delay)}] [expr {$opt(variant) eq "droptail" ? "DropTail" : "RED"}] \
    $opt(limit)
route $edge $server -default
route $server $edge -default
set all [$ns monitor-queue $edge $server ""]
set waiting [$all get-pkts-integrator]
for {set user 0} {$user < $opt(heavy) + $opt(light)} {incr user} {
    set free($user) {}
    set host($user) [$ns node]
    connect $host($user) $edge 1Gb $opt(access_delay) DropTail 1000000
    route $host($user) $edge -default
    route $edge $host($user)
}

set udp [new Agent/UDP]
set null [new Agent/Null]
$ns attach-agent $edge $udp
$ns attach-agent $server $null
$ns connect $udp $null
set cbr [new Application/Traffic/CBR]
$cbr set packetSize_ 1500
$cbr set rate_ [expr {$opt(datagrams) * 1e6}]
$cbr set random_ 1
$cbr attach-agent $udp
$ns at 0 "$cbr start"

foreach name {heavy light} {
    set started($name) 0
    set times($name) {}
}

Agent/TCP/Linux instproc done {} {
    global ns times opt
    $self instvar since name
    if {[$ns now] > $opt(warmup)} { lappend times($name) [expr {[$ns now] - $since}] }
    if {$opt(again) >= 0} { $ns at [expr {[$ns now] + $opt(again)}] "again $self" }
}

proc again {source} {
    global free
    $source instvar sink user
    $source reset
    $sink reset
    lappend free($user) $source
}

proc arrive {} {
    global ns host server gaps draws started opt free
    set name [expr {[$draws uniform 0 1] < $opt(share) ? "heavy" : "light"}]
    set user [expr {int([$draws uniform 0 1] * $opt($name)) + ($name eq "light" ? $opt(heavy) : 0)}]
    if {[llength $free($user)]} {
        set source [lindex $free($user) 0]
        set free($user) [lrange $free($user) 1 end]
    } else {
        set source [new Agent/TCP/Linux]
        set sink [new Agent/TCPSink/Sack1]
        $ns attach-agent $host($user) $source
        $ns attach-agent $server $sink
        $ns connect $source $sink
        $source set sink $sink
        $source set user $user
    }
    $source select_ca cubic
    $source set since [$ns now]
    $source set name $name
    if {[$ns now] > $opt(warmup)} { incr started($name) }
    $source send [expr {$opt(packets) * 1450}]
    $ns at [expr {[$ns now] + [$gaps value]}] arrive
}

# What the queue has counted until the warm-up is over.
proc begin {} {
    global ns all waiting before
    $waiting newpoint [$ns now] [$waiting set lasty_]
    set before [list [$all set parrivals_] [$all set pdrops_] [$all set pmarks_] [$waiting set sum_]]
}

proc finish {} {
    global ns opt all waiting before started times
    $waiting newpoint [$ns now] [$waiting set lasty_]
    foreach {arrived dropped marked sum} $before {}
    set seconds [expr {$opt(duration) - $opt(warmup)}]
    set groups {}
    foreach name {heavy light} {
        set sorted [lsort -real $times($name)]
        set n [llength $sorted]
        set total 0.0
        foreach t $sorted { set total [expr {$total + $t}] }
        lappend groups "\"$name\": {\"started\": $started($name), \"completed\": $n, \"completion_s_mean\": [expr {$total / $n}],\
            \"completion_s_p50\": [lindex $sorted [expr {int(0.5 * $n)}]], \"completion_s_p95\": [lindex $sorted [expr {int(0.95 * $n)}]]}"
    }
    set arrived [expr {1.0 * ([$all set parrivals_] - $arrived)}]
    puts "{\"simulator\": \"ns-2.35\", \"drops\": [expr {([$all set pdrops_] - $dropped) / $arrived}],\
        \"marks\": [expr {([$all set pmarks_] - $marked) / $arrived}],\
        \"queue_packets_mean\": [expr {([$waiting set sum_] - $sum) / $seconds}], \"groups\": {[join $groups {, }]}}"
    exit 0
}

$ns at [$gaps value] arrive
$ns at $opt(warmup) begin
$ns at $opt(duration) finish
$ns run
