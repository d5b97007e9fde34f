# Flows of ten packets that arrive as a Poisson process at one link of 10 Mbit/s and 50 ms, on ns-2.35: completion times.
#
#   ns flows.tcl load=0.8 queue=droptail limit=50 duration=300 warmup=20 overhead=0 seed=1
#
# A flow is complete when its sender has the acknowledgement of the last packet. There is no handshake, the window begins with
# two packets, every packet of 1500 bytes is acknowledged with 40. An agent is used again 20 s after its flow, when nothing of
# that flow is left. With `overhead` each packet leaves its sender after a random time of up to so many s. ns-2's drop-tail
# holds one packet fewer than its limit. Prints one JSON line.

remove-all-packet-headers
add-packet-header Common Flags IP TCP

array set opt { load 0.8 queue droptail limit 50 duration 300 warmup 20 overhead 0 seed 1 }
foreach argument $argv {
    if {![regexp {^([a-z_]+)=(.+)$} $argument -> key value] || ![info exists opt($key)]} {
        puts stderr "flows.tcl: $argument is not one of [lsort [array names opt]] with =value"
        exit 2
    }
    set opt($key) $value
}

set ns [new Simulator]
ns-random $opt(seed)
Agent/TCP set packetSize_ 1460
Agent/TCP set window_ 1000
Agent/TCP set windowInit_ 2
Agent/TCP set minrto_ 1
Agent/TCP set singledup_ 1
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set overhead_ $opt(overhead)
foreach {name value} {bytes_ false queue_in_bytes_ false mean_pktsize_ 1500 thresh_ 5 maxthresh_ 15 linterm_ 10 q_weight_ 0.002} {
    Queue/RED set $name $value
}
set from [$ns node]
set to [$ns node]
set red [expr {$opt(queue) eq "red"}]
$ns simplex-link $from $to 10Mb 50ms [expr {$red ? "RED" : "DropTail"}]
$ns simplex-link $to $from 10Mb 50ms DropTail
$ns queue-limit $from $to [expr {$red ? $opt(limit) : $opt(limit) + 1}]
$ns queue-limit $to $from 1000000

set gaps [new RandomVariable/Exponential]
$gaps set avg_ [expr {10 * 1500 * 8 / ($opt(load) * 10e6)}]
set draws [new RNG]
$draws seed $opt(seed)
$gaps use-rng $draws

set free {}
set started 0
set times {}

Agent/TCP instproc done {} {
    global ns times opt free
    set now [$ns now]
    $self instvar since sink
    if {$now > $opt(warmup)} { lappend times [expr {$now - $since}] }
    $ns at [expr {$now + 20}] "again $self $sink"
}

proc again {source sink} {
    global free
    $source reset
    $sink reset
    lappend free [list $source $sink]
}

proc arrive {} {
    global ns from to free gaps started opt
    if {[llength $free]} {
        foreach {source sink} [lindex $free 0] {}
        set free [lrange $free 1 end]
    } else {
        set source [new Agent/TCP/Newreno]
        set sink [new Agent/TCPSink]
        $ns attach-agent $from $source
        $ns attach-agent $to $sink
        $ns connect $source $sink
        $source set sink $sink
    }
    $source set since [$ns now]
    if {[$ns now] > $opt(warmup)} { incr started }
    $source send 14600
    $ns at [expr {[$ns now] + [$gaps value]}] arrive
}

proc finish {} {
    global times started
    set sorted [lsort -real $times]
    set n [llength $sorted]
    set sum 0.0
    foreach t $sorted { set sum [expr {$sum + $t}] }
    set at {}
    foreach q {0.5 0.95 0.99} { lappend at [lindex $sorted [expr {int($q * $n)}]] }
    foreach {p50 p95 p99} $at {}
    puts "{\"started\": $started, \"completed\": $n, \"completion_s_mean\": [expr {$sum / $n}], \"completion_s_p50\": $p50, \"completion_s_p95\": $p95, \"completion_s_p99\": $p99}"
    exit 0
}

$ns at [$gaps value] arrive
$ns at $opt(duration) finish
$ns run
