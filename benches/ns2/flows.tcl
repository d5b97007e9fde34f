# Flows that begin and end, opened by many users, beside datagrams through one bottleneck, on ns-2.35: the work W5.
#
#   ns flows.tcl groups=heavy:10:0.8,light:90:0.2 gap=0.006 shape=2 packets=10 cross=90e6 rate=100e6 limit=833 duration=100
#
# Groups are name:users:share of the arrivals. Gaps between arrivals are sums of `shape` exponential times, which is a gamma law;
# gaps of datagrams vary by half to either side. A flow begins with a SYN, ends with its last acknowledgement, and sends no FIN:
# ns-2's one-way agents have none. An agent is used again 2 s later, when nothing of its flow is left. ns-2's drop-tail holds one
# packet fewer than its limit. Prints one JSON line with the field names of an Evenflow record.

remove-all-packet-headers
add-packet-header Common Flags IP TCP RTP

array set opt {
    groups heavy:10:0.8,light:90:0.2  gap 0.006  shape 2  packets 10  payload 1460  initial_window 2  min_rto 1
    access_rate 1e9  access_delay 0.001  rate 100e6  delay 0.049  limit 833  cross 90e6  duration 100  seed 1
}
foreach argument $argv {
    if {![regexp {^([a-z_]+)=(.+)$} $argument -> key value] || ![info exists opt($key)]} {
        puts stderr "flows.tcl: $argument is not one of [lsort [array names opt]] with =value"
        exit 2
    }
    set opt($key) $value
}

set ns [new Simulator]
$ns rtproto Manual
ns-random $opt(seed)
Agent/TCP set packetSize_ $opt(payload)
Agent/TCP set window_ 1000
Agent/TCP set windowInit_ $opt(initial_window)
Agent/TCP set minrto_ $opt(min_rto)
Agent/TCP set singledup_ 1
Agent/TCP set syn_ true
Agent/UDP set packetSize_ 1500

proc connect {from to rate delay limit} {
    global ns
    $ns simplex-link $from $to $rate $delay DropTail
    $ns simplex-link $to $from $rate $delay DropTail
    $ns queue-limit $from $to [expr {$limit + 1}]
    $ns queue-limit $to $from 1000000
}

proc route {from to args} {
    eval [$from get-module Manual] add-route-to-adj-node $args $to
}

set edge [$ns node]
set server [$ns node]
connect $edge $server $opt(rate) $opt(delay) $opt(limit)
route $edge $server -default
route $server $edge -default
set monitor [$ns monitor-queue $edge $server ""]

# hosts, delivered: by user. first, many: the users of a group, in the order of shares.
set hosts {}
set delivered {}
set shares {}
foreach group [split $opt(groups) ,] {
    foreach {name users share} [split $group :] {}
    lappend shares [list [llength $hosts] $users $share]
    for {set user 0} {$user < $users} {incr user} {
        set host [$ns node]
        connect $host $edge $opt(access_rate) $opt(access_delay) 1000000
        route $host $edge -default
        route $edge $host
        lappend hosts $host
        lappend delivered 0
        lappend free {}
    }
}

# The datagrams, whose source stands at the bottleneck.
set datagrams [new Agent/UDP]
set heard [new Agent/LossMonitor]
$ns attach-agent $edge $datagrams
$ns attach-agent $server $heard
$ns connect $datagrams $heard
set source [new Application/Traffic/CBR]
$source set packetSize_ 1500
$source set rate_ $opt(cross)
$source set random_ 1
$source attach-agent $datagrams
$ns at 0 "$source start"

set draws [new RNG]
$draws seed $opt(seed)

proc gap {} {
    global draws opt
    set sum 0.0
    for {set i 0} {$i < $opt(shape)} {incr i} { set sum [expr {$sum + [$draws exponential]}] }
    return [expr {$sum * $opt(gap) / $opt(shape)}]
}

# Whom an arrival meets: a group by its share, any of its users.
proc whom {} {
    global draws shares
    set x [$draws uniform 0 1]
    foreach group $shares {
        foreach {first users share} $group {}
        if {$x < $share} { break }
        set x [expr {$x - $share}]
    }
    return [expr {$first + int([$draws uniform 0 $users])}]
}

Agent/TCP instproc done {} {
    global ns opt delivered
    $self instvar user sink
    lset delivered $user [expr {[lindex $delivered $user] + $opt(packets) * $opt(payload)}]
    $ns at [expr {[$ns now] + 20}] "again $self $sink $user"
}

proc again {source sink user} {
    global free
    $source reset
    $sink reset
    lset free $user [concat [lindex $free $user] [list [list $source $sink]]]
}

proc arrive {} {
    global ns opt hosts server free
    set which [whom]
    set idle [lindex $free $which]
    if {[llength $idle]} {
        foreach {source sink} [lindex $idle 0] {}
        lset free $which [lrange $idle 1 end]
    } else {
        set source [new Agent/TCP/Sack1]
        set sink [new Agent/TCPSink/Sack1]
        $ns attach-agent [lindex $hosts $which] $source
        $ns attach-agent $server $sink
        $ns connect $source $sink
        $source set user $which
        $source set sink $sink
    }
    $source send [expr {$opt(packets) * $opt(payload)}]
    $ns at [expr {[$ns now] + [gap]}] arrive
}

# The peak resident memory of this process, or "null" where the system does not tell.
proc peak_bytes {} {
    if {[catch {open /proc/self/status} status]} { return null }
    set found [regexp {VmHWM:\s+(\d+) kB} [read $status] -> kib]
    close $status
    return [expr {$found ? 1024 * $kib : "null"}]
}

# CPU seconds of this process so far, so that Tcl's set-up can be told from the run.
proc cpu_seconds {} {
    if {[catch {open /proc/self/schedstat} status]} { return 0.0 }
    set nanoseconds [lindex [read $status] 0]
    close $status
    return [expr {$nanoseconds / 1e9}]
}

proc finish {} {
    global opt monitor setup_cpu delivered heard
    set run_cpu [expr {[cpu_seconds] - $setup_cpu}]
    foreach counter {pdepartures_ pdrops_ parrivals_} { set $counter [format %.0f [$monitor set $counter]] }
    set rates {}
    foreach bytes [concat $delivered [expr {[$heard set bytes_] * 1472 / 1500}]] {
        lappend rates [format %.1f [expr {8.0 * $bytes / $opt(duration)}]]
    }
    puts "{\"simulator\": \"ns-2.35\", \"seed\": $opt(seed), \"setup_cpu_s\": $setup_cpu, \"run_cpu_s\": $run_cpu,\
        \"peak_bytes\": [peak_bytes], \"links\": {\"bottleneck\": {\"arrived_packets\": $parrivals_,\
        \"delivered_packets\": $pdepartures_, \"dropped_packets\": $pdrops_}},\
        \"flows_goodput_bps\": \[[join $rates {, }]\]}"
    exit 0
}

$ns at 0 {set setup_cpu [cpu_seconds]}
$ns at [gap] arrive
$ns at $opt(duration) finish
$ns run
