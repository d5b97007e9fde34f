# Datagrams that nobody holds back through ns-2.35's Queue/SFQ or Queue/DRR.
#
#   ns fair.tcl kind=DRR senders=a:1000000:1000,b:3000000:1000,c:4000000:500 limit=25000 seed=1
#
# Senders are name:bit/s:bytes, Poisson, each on a node of its own, by which both tell flows apart. `limit` is in bytes for
# DRR and in packets for SFQ, which gives each of its buckets an equal share of it. It prints one JSON line: rates at the
# far end in bit/s and losses, from `warmup` to `duration`.

remove-all-packet-headers
add-packet-header Common Flags IP RTP

array set opt {
    kind DRR    senders a:1000000:1000,b:3000000:1000,c:4000000:500
    rate 5e6    limit 25000    quantum 1500    buckets 16    duration 60    warmup 10    seed 1
}
foreach argument $argv {
    if {![regexp {^([a-z]+)=(.+)$} $argument -> key value] || ![info exists opt($key)]} {
        puts stderr "fair.tcl: $argument is not one of [lsort [array names opt]] with =value"
        exit 2
    }
    set opt($key) $value
}
Queue/DRR set buckets_ $opt(buckets)
Queue/DRR set blimit_ $opt(limit)
Queue/DRR set quantum_ $opt(quantum)
Queue/SFQ set buckets_ $opt(buckets)
Queue/SFQ set maxqueue_ $opt(limit)

set ns [new Simulator]
ns-random $opt(seed)
set edge [$ns node]
set server [$ns node]
$ns simplex-link $edge $server $opt(rate) 0 $opt(kind)
$ns simplex-link $server $edge 1e12 0 DropTail

set names {}
set n 0
foreach sender [split $opt(senders) ,] {
    foreach {name rate bytes} [split $sender :] break
    lappend names $name
    set node [$ns node]
    $ns duplex-link $node $edge 1e12 0 DropTail
    set udp [new Agent/UDP]
    $udp set packetSize_ $bytes
    $udp set fid_ $n
    set sink($name) [new Agent/LossMonitor]
    $ns attach-agent $node $udp
    $ns attach-agent $server $sink($name)
    $ns connect $udp $sink($name)
    # No end to a burst, and a random gap for each packet: Poisson.
    set source($name) [new Application/Traffic/Exponential]
    $source($name) set packetSize_ $bytes
    $source($name) set burst_time_ 0
    $source($name) set idle_time_ [expr {8.0 * $bytes / $rate}]
    $source($name) set rate_ 1e12
    $source($name) attach-agent $udp
    $ns at 0 "$source($name) start"
    incr n
}

proc reset {} {
    global names sink
    foreach name $names {
        foreach counter {bytes_ npkts_ nlost_} {
            $sink($name) set $counter 0
        }
    }
}

proc finish {} {
    global names sink opt
    set window [expr {$opt(duration) - $opt(warmup)}]
    set found {}
    foreach name $names {
        set arrived [$sink($name) set npkts_]
        set lost [$sink($name) set nlost_]
        set rate [expr {8.0 * [$sink($name) set bytes_] / $window}]
        set loss [expr {double($lost) / ($lost + $arrived)}]
        lappend found [format {"%s": {"rate_bps": %.9g, "loss": %.9g}} $name $rate $loss]
    }
    puts "{\"senders\": {[join $found {, }]}}"
    exit 0
}
$ns at $opt(warmup) reset
$ns at $opt(duration) finish
$ns run
