# The comparison scenario on ns-2.35: a one-sided dumbbell, users -> own access link -> edge -> bottleneck -> server.
#
#   ns dumbbell.tcl groups=heavy:1:8,light:1:1 rate=10Mb delay=5ms limit=24 duration=200 warmup=100
#
# It prints one JSON line with the field names of an Evenflow record. Groups are name:users:flows (bulk TCP) or
# name:users:poisson:rate. What differs from the other two simulators: TCP packets are 1460 + 40 bytes and ACKs 40,
# the window is a real number of packets, and there is one round-trip sample a window (10 ms tick).

# Every header that is not removed is carried, and cleared, in every packet: the largest speed setting ns-2 has.
remove-all-packet-headers
add-packet-header Common Flags IP TCP RTP

array set opt {
    groups heavy:1:8,light:1:1
    access_rate 100Mb  access_delay 0.1ms  access_limit 50
    rate 10Mb          delay 5ms           limit 24
    duration 200       warmup 100          start_max 15
    window 90          ack_every 2         processing 0        seed 1
}
foreach argument $argv {
    if {![regexp {^([a-z_]+)=(.+)$} $argument -> key value] || ![info exists opt($key)]} {
        puts stderr "dumbbell.tcl: $argument is not one of [lsort [array names opt]] with =value"
        exit 2
    }
    set opt($key) $value
}

set ns [new Simulator]
$ns rtproto Manual
ns-random $opt(seed)
set starts [new RNG]
$starts seed $opt(seed)

# A finite overhead_ holds back each burst of a sender for a random time: ns-2's remedy for phase effects.
Agent/TCP set overhead_ $opt(processing)
Agent/TCP set packetSize_ 1460
Agent/TCP set window_ $opt(window)
Agent/TCP set windowInit_ 1
Agent/TCP set minrto_ 1
Agent/TCP set singledup_ 1
Agent/TCPSink/DelAck set interval_ 200ms
Agent/UDP set packetSize_ 1500
set sink_kind [expr {$opt(ack_every) == 1 ? "Agent/TCPSink" : "Agent/TCPSink/DelAck"}]

# ns-2's drop-tail refuses a packet when length + 1 >= limit, so that N waiting packets need a limit of N + 1.
proc connect {from to rate delay limit} {
    global ns
    $ns duplex-link $from $to $rate $delay DropTail
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
set occupancy [$monitor get-pkts-integrator]

# flows: {group source sink kind}, in the order of the record's flow list.
set flows {}
foreach group [split $opt(groups) ,] {
    set fields [split $group :]
    set poisson [expr {[lindex $fields 2] eq "poisson"}]
    for {set user 0} {$user < [lindex $fields 1]} {incr user} {
        set host [$ns node]
        connect $host $edge $opt(access_rate) $opt(access_delay) $opt(access_limit)
        route $host $edge -default
        route $edge $host
        for {set flow 0} {$flow < ($poisson ? 1 : [lindex $fields 2])} {incr flow} {
            if {$poisson} {
                set source [new Agent/UDP]
                set sink [new Agent/LossMonitor]
                set application [new Application/Traffic/Exponential]
                # Bursts of one packet: with a vast peak rate the gaps are the exponential idle times.
                $application set packetSize_ 1500
                $application set burst_time_ 0
                $application set idle_time_ [expr {1500 * 8.0 / [lindex $fields 3]}]
                $application set rate_ 1e12
            } else {
                set source [new Agent/TCP/Newreno]
                set sink [new $sink_kind]
                set application [new Application/FTP]
            }
            $ns attach-agent $host $source
            $ns attach-agent $server $sink
            $ns connect $source $sink
            $application attach-agent $source
            $ns at [$starts uniform 0 $opt(start_max)] "$application start"
            lappend flows [list [lindex $fields 0] $source $sink $poisson]
        }
    }
}

# What a flow has delivered: bytes in order, and whole packets that reached the server (duplicates included).
proc delivered {flow} {
    foreach {group source sink poisson} $flow {}
    if {$poisson} {
        set bytes [$sink set bytes_]
        return [list [expr {$bytes * 1472 / 1500}] $bytes]
    }
    return [list [expr {max(0, [$source set ack_]) * 1460}] 0]
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

proc begin {} {
    global ns flows monitor occupancy at_begin
    $occupancy newpoint [$ns now] [$occupancy set lasty_]
    set at_begin(area) [$occupancy set sum_]
    foreach counter {pdepartures_ bdepartures_ pdrops_ parrivals_} {
        set at_begin($counter) [$monitor set $counter]
    }
    set at_begin(flows) {}
    foreach flow $flows { lappend at_begin(flows) [delivered $flow] }
}

proc finish {} {
    global ns opt flows monitor occupancy at_begin setup_cpu
    set run_cpu [expr {[cpu_seconds] - $setup_cpu}]
    $occupancy newpoint [$ns now] [$occupancy set lasty_]
    set window [expr {$opt(duration) - $opt(warmup)}]
    foreach counter {pdepartures_ bdepartures_ pdrops_ parrivals_} {
        set $counter [format %.0f [expr {[$monitor set $counter] - $at_begin($counter)}]]
    }
    set area [expr {[$occupancy set sum_] - $at_begin(area)}]
    set names {}
    set rates {}
    foreach flow $flows before $at_begin(flows) {
        set name [lindex $flow 0]
        if {[lsearch $names $name] < 0} {
            lappend names $name
            set goodput($name) 0.0
        }
        set bps [expr {8.0 * ([lindex [delivered $flow] 0] - [lindex $before 0]) / $window}]
        set goodput($name) [expr {$goodput($name) + $bps}]
        lappend rates [format %.1f $bps]
    }
    set groups {}
    foreach group [split $opt(groups) ,] {
        foreach {name users} [split $group :] break
        lappend groups "\"$name\": {\"users\": $users, \"goodput_bps\": [format %.1f [expr {$goodput($name) / $users}]]}"
    }
    set wait [expr {$pdepartures_ > 0 ? $area / $pdepartures_ : 0.0}]
    puts "{\"simulator\": \"ns-2.35\", \"seed\": $opt(seed), \"window_s\": \[$opt(warmup), $opt(duration)\],\
        \"setup_cpu_s\": $setup_cpu, \"run_cpu_s\": $run_cpu, \"peak_bytes\": [peak_bytes],\
        \"links\": {\"bottleneck\": {\"arrived_packets\": $parrivals_, \"delivered_packets\": $pdepartures_,\
        \"dropped_packets\": $pdrops_, \"queue_packets_mean\": [expr {$area / $window}],\
        \"queue_delay_s_mean\": $wait,\
        \"utilisation\": [expr {8.0 * $bdepartures_ / $window / [bw_parse $opt(rate)]}]}},\
        \"groups\": {[join $groups {, }]}, \"flows_goodput_bps\": \[[join $rates {, }]\]}"
    exit 0
}

$ns at 0 {set setup_cpu [cpu_seconds]}
$ns at $opt(warmup) begin
$ns at $opt(duration) finish
$ns run
