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

array set opt {
    groups heavy:10:36,light:90:1
    variant droptail  rtt 0.1     access_delay 0.001   limit 833
    least 83.3        most 833    probability 1        weight 0.00012   wait 1
    window 45         minrto 0.2  start_max 0.3        access_jitter 0
    harshness mild    charge arrival   r 15            depth 45
    overhead 0        mark_p 0
    duration 100      seed 1
}
set known {variant {droptail red} harshness {none soft mild strict} charge {arrival pass}}
set back 1Gb

# --- The policer: one bucket of `depth` tokens, at first full, for each user -------------------------------------------------------

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

proc prepare {} {
    global opt dice debt strict arrival
    set dice [new RNG]
    $dice seed [expr {1000 + $opt(seed)}]
    set debt [dict get {none 1 soft 1.0 mild 0.1 strict 0} $opt(harshness)]
    set debt [expr {$debt * $opt(depth)}]
    set strict [expr {$opt(harshness) eq "strict"}]
    set arrival [expr {$opt(charge) eq "arrival"}]
}

# --- The network -------------------------------------------------------------------------------------------------------------------

# With `access_jitter` round trips of users differ: then nothing is in lockstep.
proc delay_of {} {
    global opt starts
    return [expr {$opt(access_delay) + $opt(access_jitter) * ([$starts uniform 0 1] - 0.5)}]
}

proc flow_made {source} {
    set ::highest([$source set agent_addr_].[$source set agent_port_]) -1
}

proc user_made {number link} {
    if {$::opt(harshness) ne "none"} { put_policer $number $link }
}

proc of_users {name counter} {
    global members
    upvar #0 $counter counted
    set found {}
    foreach user $members($name) { lappend found [expr {[info exists counted($user)] ? $counted($user) : 0}] }
    return "\[[join $found {, }]\]"
}

proc of_group {name flow} {
    return "\"users_reports\": [of_users $name reports], \"users_charged\": [of_users $name charged],\
        \"users_policed\": [of_users $name policed], \"users_least_tokens\": [of_users $name lowest]"
}

proc of_link {} {}

source [file join [file dirname [info script]] sanhaji.tcl]
