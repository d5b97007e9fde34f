# The network of Zhang et al. 2011 (R2 to R3 behind a packet gateway, phones behind base stations) on ns-2.35: long flows from the
# gateway to phones, one each.
#
#   ns reecn.tcl agent=reno queue=red links=100e6:0.02:1000,50e6:0.02:250,100e6:0.02:1000:cell,100e6:0.2:1000:cell narrow=1 \
#       flows=100 cell=5 least=31 most=94 probability=0.1 weight=0.002 wait=0 duration=300 seed=1
#
# links are rate (bit/s), delay (s) and waiting packets, from the gateway on; behind the first that says `cell` each base station has
# its own. `narrow` is the one that is measured, counted from 0: droptail, red (drops) or ecn (RED that marks, classic feedback).
# With `loss` or `marked` each packet is lost or marked with that probability behind it, whatever its queue says.
# Senders stand at the gateway; their packets have 960 + 40 bytes, each is acknowledged with 40. A SYN goes first and leaves two
# packets as the first window. Prints one JSON line with what was counted between `warmup` and `duration`.

remove-all-packet-headers
add-packet-header Common Flags IP TCP

array set opt {
    agent reno      queue droptail  links {}        narrow 0        flows 10        cell 5
    least 31        most 94         probability 0.1 weight 0.002    wait 0
    loss 0          marked 0        ecn 0           minrto 1        window 104166   bugfix 1    cwr_again 1
    start_max 5     warmup 0        duration 300    bin 5           overhead 0      seed 1
}
foreach argument $argv {
    if {![regexp {^([a-z_]+)=(.+)$} $argument -> key value] || ![info exists opt($key)]} {
        puts stderr "reecn.tcl: $argument is not one of [lsort [array names opt]] with =value"
        exit 2
    }
    set opt($key) $value
}
array set sources_of {reno Agent/TCP/Reno newreno Agent/TCP/Newreno sack Agent/TCP/Sack1}
array set sinks_of {reno Agent/TCPSink newreno Agent/TCPSink sack Agent/TCPSink/Sack1}
if {![info exists sources_of($opt(agent))] || [lsearch {droptail red ecn} $opt(queue)] < 0} {
    puts stderr "reecn.tcl: agent is reno, newreno or sack, queue is droptail, red or ecn"
    exit 2
}

set ns [new Simulator]
ns-random $opt(seed)
set starts [new RNG]
$starts seed $opt(seed)

# `SetCWRonRetransmit_`: RFC 3168 section 6.1.2 has CWR on new data alone; as shipped ns-2 sets it on whatever leaves first.
# `delay_growth_`: only the SYN's answer opens the first window, as after three packets of a handshake.
foreach {name value} [list packetSize_ 960 window_ $opt(window) windowInit_ 2 syn_ true delay_growth_ true minrto_ $opt(minrto) \
    singledup_ 1 ecn_ $opt(ecn) SetCWRonRetransmit_ $opt(cwr_again) overhead_ $opt(overhead) bugFix_ $opt(bugfix)] {
    Agent/TCP set $name $value
}
# In packets, gentle. `use_mark_p_ false`: else it drops what it could mark as soon as the probability passes 0.1.
foreach {name value} [list bytes_ false queue_in_bytes_ false thresh_ $opt(least) maxthresh_ $opt(most) \
    linterm_ [expr {1.0 / $opt(probability)}] q_weight_ $opt(weight) gentle_ true wait_ $opt(wait) \
    setbit_ [expr {$opt(queue) eq "ecn" ? "true" : "false"}] use_mark_p_ false] {
    Queue/RED set $name $value
}

# ns-2's drop-tail refuses a packet when length + 1 >= limit; RED keeps the limit as it is.
proc connect {from to rate delay limit {kind DropTail}} {
    global ns
    $ns simplex-link $from $to $rate $delay $kind
    $ns simplex-link $to $from $rate $delay DropTail
    $ns queue-limit $from $to [expr {$kind eq "DropTail" ? $limit + 1 : $limit}]
    $ns queue-limit $to $from 1000000
}

set gateway [$ns node]
set cells [expr {($opt(flows) + $opt(cell) - 1) / $opt(cell)}]
set ends [list $gateway]
set number 0
foreach link [split $opt(links) ,] {
    foreach {rate delay limit per} [concat [split $link :] shared] break
    if {$per eq "cell" && [llength $ends] == 1} { set ends [lrepeat $cells [lindex $ends 0]] }
    set further {}
    foreach from $ends {
        set to [$ns node]
        set narrow [expr {$number == $opt(narrow)}]
        connect $from $to $rate $delay $limit [expr {$narrow && $opt(queue) ne "droptail" ? "RED" : "DropTail"}]
        if {$narrow} {
            set capacity $rate
            set monitor [$ns monitor-queue $from $to ""]
            if {$opt(loss) > 0 || $opt(marked) > 0} {
                set error [new ErrorModel]
                $error unit pkt
                $error set rate_ [expr {$opt(loss) + $opt(marked)}]
                $error set markecn_ [expr {$opt(marked) > 0}]
                $error ranvar [new RandomVariable/Uniform]
                $ns link-lossmodel $error $from $to
                $error drop-target [new Agent/Null]
            }
        }
        lappend further $to
    }
    set ends $further
    incr number
}
set waiting [$monitor get-pkts-integrator]
if {[llength $ends] == 1} { set ends [lrepeat $cells [lindex $ends 0]] }

set flows {}
for {set flow 0} {$flow < $opt(flows)} {incr flow} {
    set source [new $sources_of($opt(agent))]
    set sink [new $sinks_of($opt(agent))]
    $ns attach-agent $gateway $source
    $ns attach-agent [lindex $ends [expr {$flow / $opt(cell)}]] $sink
    $ns connect $source $sink
    set application [new Application/FTP]
    $application attach-agent $source
    $ns at [$starts uniform 0 $opt(start_max)] "$application start"
    lappend flows $source
}

proc state {} {
    global ns monitor waiting flows
    $waiting newpoint [$ns now] [$waiting set lasty_]
    set found [list area [$waiting set sum_]]
    foreach counter {parrivals_ pdepartures_ bdepartures_ pdrops_ pmarks_} { lappend found $counter [$monitor set $counter] }
    foreach counter {ndatapack_ nrexmitpack_ nrexmit_ ncwndcuts_ necnresponses_} {
        set sum 0
        foreach flow $flows { incr sum [$flow set $counter] }
        lappend found $counter $sum
    }
    return $found
}

# Packets that receivers have in order: an acknowledgement is as old as the way back.
proc delivered {} {
    set found {}
    foreach flow $::flows { lappend found [expr {max(0, [$flow set ack_])}] }
    return $found
}

set bins {}
proc look {} {
    global ns opt monitor bins
    lappend bins [format %.0f [$monitor set bdepartures_]]
    $ns after $opt(bin) look
}

proc finish {} {
    global opt before after had have bins capacity
    array set first $before
    array set last $after
    foreach name [array names first] { set $name [expr {$last($name) - $first($name)}] }
    set seconds [expr {$opt(duration) - $opt(warmup)}]
    set rates {}
    foreach was $had is $have { lappend rates [format %.1f [expr {8.0 * 960 * ($is - $was) / $seconds}]] }
    puts "{\"simulator\": \"ns-2.35\", \"seconds\": $seconds, \"arrived\": [format %.0f $parrivals_], \"dropped\": [format %.0f $pdrops_],\
        \"marked\": [format %.0f $pmarks_], \"queue_packets_mean\": [expr {$area / $seconds}],\
        \"utilisation\": [expr {8.0 * $bdepartures_ / $seconds / $capacity}], \"sent\": $ndatapack_, \"again\": $nrexmitpack_,\
        \"timeouts\": $nrexmit_, \"reductions\": $ncwndcuts_, \"echoed\": $necnresponses_, \"bin_s\": $opt(bin),\
        \"delivered_bytes\": \[[join $bins {, }]\], \"goodputs_bps\": \[[join $rates {, }]\]}"
    exit 0
}

set back 0
foreach link [split $opt(links) ,] { set back [expr {$back + [lindex [split $link :] 1]}] }
$ns at $opt(warmup) {set before [state]}
$ns at [expr {$opt(warmup) + $back}] {set had [delivered]}
$ns at $opt(bin) look
$ns at $opt(duration) {set after [state]}
$ns at [expr {$opt(duration) + $back + 1e-6}] {set have [delivered]; finish}
$ns run
