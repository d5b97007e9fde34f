# The comparison scenario on ns-2.35: a one-sided dumbbell, users -> own access link -> edge -> bottleneck -> server.
#
#   ns dumbbell.tcl groups=heavy:1:8,light:1:1 rate=10Mb delay=5ms limit=24 duration=200 warmup=100
#
# It prints one JSON line with the field names of an Evenflow record. Groups are name:users:flows (bulk TCP),
# name:users:flows:control (agent=linux: a name that its select_ca knows), or name:users:poisson:rate. What differs from the other two simulators: TCP packets are
# `payload` + 40 bytes (50 where agent=linux, which sends timestamps) and ACKs 40, and with newreno and sack1 the window
# is a real number of packets, with one round-trip sample a window (10 ms tick).

# Every header that is not removed is carried, and cleared, in every packet: the largest speed setting ns-2 has.
remove-all-packet-headers
add-packet-header Common Flags IP TCP RTP

array set opt {
    groups heavy:1:8,light:1:1
    access_rate 100Mb  access_delay 0.1ms  access_limit 50
    rate 10Mb          delay 5ms           limit 24
    duration 200       warmup 100          start_max 15
    window 90          ack_every 2         processing 0        seed 1
    agent newreno      payload 1460        initial_window 1    min_rto 1
    ecn 0              red none            loss 0              every 0
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
Agent/TCP set packetSize_ $opt(payload)
Agent/TCP set window_ $opt(window)
Agent/TCP set windowInit_ $opt(initial_window)
Agent/TCP set minrto_ $opt(min_rto)
Agent/TCP/Linux set minrto_ $opt(min_rto)
Agent/TCP set singledup_ 1
Agent/TCP set ecn_ $opt(ecn)
Agent/TCPSink/DelAck set interval_ 200ms
Agent/UDP set packetSize_ 1500
switch $opt(agent) {
    newreno { set source_kind Agent/TCP/Newreno; set sink_kind Agent/TCPSink }
    sack1   { set source_kind Agent/TCP/Sack1; set sink_kind Agent/TCPSink/Sack1 }
    linux   {
        set source_kind Agent/TCP/Linux
        set sink_kind Agent/TCPSink/Sack1
        Agent/TCP set timestamps_ true
        Agent/TCPSink set ts_echo_rfc1323_ true
    }
}
if {$opt(ack_every) > 1} { append sink_kind /DelAck }

# Thresholds in packets. `use_mark_p_ false`: else it drops what it could mark as soon as the probability passes mark_p_.
if {$opt(red) ne "none"} {
    foreach {least most probability weight} [split $opt(red) :] {}
    foreach {name value} [list bytes_ false queue_in_bytes_ false mean_pktsize_ 1500 thresh_ $least maxthresh_ $most \
        linterm_ [expr {1.0 / $probability}] q_weight_ $weight setbit_ [expr {$opt(ecn) ? "true" : "false"}] \
        use_mark_p_ false] {
        Queue/RED set $name $value
    }
}

# ns-2's drop-tail refuses a packet when length + 1 >= limit, so that N waiting packets need a limit of N + 1; RED keeps
# the limit as it is. RED on the way back would be another random stream: only the way out has it.
proc connect {from to rate delay limit {kind DropTail}} {
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
connect $edge $server $opt(rate) $opt(delay) $opt(limit) [expr {$opt(red) eq "none" ? "DropTail" : "RED"}]
route $edge $server -default
route $server $edge -default
set monitor [$ns monitor-queue $edge $server ""]
set occupancy [$monitor get-pkts-integrator]
if {$opt(loss) > 0} {
    # Behind the link, and not reported to the queue's monitor, which would take the packet for one that left the queue.
    set error [new ErrorModel]
    $error unit pkt
    $error set rate_ $opt(loss)
    $error ranvar [new RandomVariable/Uniform]
    $ns link-lossmodel $error $edge $server
    $error drop-target [new Agent/Null]
}

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
                set source [new $source_kind]
                set sink [new $sink_kind]
                set application [new Application/FTP]
            }
            $ns attach-agent $host $source
            $ns attach-agent $server $sink
            $ns connect $source $sink
            $application attach-agent $source
            if {$opt(agent) eq "linux" && !$poisson} {
                set control [expr {[llength $fields] > 3 ? [lindex $fields 3] : "reno"}]
                $ns at 0 "$source select_ca $control"
            }
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
    return [list [expr {max(0, [$source set ack_]) * [$source set packetSize_]}] 0]
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

# Windows of the first flow of each group, and the waiting packets, at equal intervals from zero on.
proc sample {} {
    global ns opt flows monitor series
    lappend series(queue) [$monitor set pkts_]
    set seen {}
    foreach flow $flows {
        foreach {group source sink poisson} $flow {}
        if {$poisson || [lsearch $seen $group] >= 0} { continue }
        lappend seen $group
        lappend series(window,$group) [format %.3f [$source set cwnd_]]
    }
    $ns after $opt(every) sample
}

proc series_json {} {
    global opt series
    set windows {}
    foreach group [split $opt(groups) ,] {
        set name [lindex [split $group :] 0]
        if {[info exists series(window,$name)]} { lappend windows "\[[join $series(window,$name) {, }]\]" }
    }
    return "{\"every_s\": $opt(every), \"queue\": \[[join $series(queue) {, }]\],\
        \"windows\": \[[join $windows {, }]\]}"
}

proc begin {} {
    global ns flows monitor occupancy at_begin
    $occupancy newpoint [$ns now] [$occupancy set lasty_]
    set at_begin(area) [$occupancy set sum_]
    foreach counter {pdepartures_ bdepartures_ pdrops_ parrivals_ pmarks_} {
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
    foreach counter {pdepartures_ bdepartures_ pdrops_ parrivals_ pmarks_} {
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
        \"dropped_packets\": $pdrops_, \"marked_packets\": $pmarks_, \"queue_packets_mean\": [expr {$area / $window}],\
        \"queue_delay_s_mean\": $wait,\
        \"utilisation\": [expr {8.0 * $bdepartures_ / $window / [bw_parse $opt(rate)]}]}},\
        \"groups\": {[join $groups {, }]}, \"flows_goodput_bps\": \[[join $rates {, }]\][expr {
            $opt(every) > 0 ? ", \"series\": [series_json]" : ""}]}"
    exit 0
}

if {$opt(every) > 0} { $ns at 0 sample }
$ns at 0 {set setup_cpu [cpu_seconds]}
$ns at $opt(warmup) begin
$ns at $opt(duration) finish
$ns run
