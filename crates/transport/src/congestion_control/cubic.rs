//! CUBIC (RFC 9438): after a congestion event the window first rises fast, then levels off where the event
//! was, then probes.
//!
//! Three controls, which count packets and seconds: [`rfc`] in real numbers, [`linux`] in the whole numbers
//! of a current kernel, and [`linux_3_2`], which counts ACKs. Constants are those of section 4. ABE (RFC
//! 8511) is not used: a mark and a loss cut alike.

pub mod linux;
pub mod linux_3_2;
pub mod rfc;

use evenflow_base::schema::{Deviation, Mechanism, Observable, Problem, Room, Values};
use evenflow_base::{Duration, Time};

use crate::{Profile, profile};

use super::slow_start::SlowStart;
use super::{Acked, Congestion, Control, Needs, Proposal, Registered, Spurious, WINDOW, Window};

/// The parameters of the curve.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// C, packets/s^3.
    pub c: f64,
    /// Factor of the window at a congestion event.
    pub beta: f64,
    /// Whether a window below the last maximum gives up more.
    pub fast_convergence: bool,
    /// Whether the window is at least Reno's.
    pub reno_friendly: bool,
}

/// CUBIC in one of its forms.
#[derive(Clone, Debug)]
pub enum Cubic {
    /// RFC 9438.
    Rfc(rfc::Rfc),
    /// A current kernel, or Linux 2.6.22.
    Linux(linux::Linux),
    /// Linux 3.2.
    Linux3_2(linux_3_2::Linux3_2),
}

/// β_cubic (RFC 9438 section 4.6).
const BETA: f64 = 0.7;

/// The factor in Linux 2.6.22.
const OLD_BETA: f64 = 819.0 / 1024.0;

impl Registered for Cubic {
    const TABLE: &'static Mechanism = &TABLE;

    fn build(values: &Values, profile: &Profile, _: f64) -> Result<Cubic, Vec<Problem>> {
        let given = Given::read(values);
        let form = given.form_on(profile);
        let shape = Shape {
            c: given.c,
            beta: given.beta.unwrap_or(if form == Form::Linux2_6_22 { OLD_BETA } else { BETA }),
            fast_convergence: given.fast_convergence,
            reno_friendly: given.reno_friendly,
        };
        let exit = given.slow_start.unwrap_or(profile.slow_start);
        let start = SlowStart::new(exit, profile.slow_start_segments);
        Ok(match form {
            Form::Linux3_2 => Cubic::Linux3_2(linux_3_2::Linux3_2::new(&shape, exit)),
            Form::Linux => Cubic::Linux(linux::Linux::new(&shape, linux::TODAY, start)),
            Form::Linux2_6_22 => Cubic::Linux(linux::Linux::new(&shape, linux::OF_2_6_22, start)),
            Form::Rfc => Cubic::Rfc(rfc::Rfc { curve: rfc::Curve::new(shape, profile.half_of), start }),
        })
    }

    /// A slow start that form linux-3.2 lacks, unless it is the stack's default.
    fn contradictions(values: &Values, profile: &Profile) -> Vec<String> {
        use profile::SlowStart::{HystartPlusPlus, Search, SearchDrain};
        let given = Given::read(values);
        let default = Profile::named(profile.name).map(|stack| stack.slow_start);
        let chosen = given.slow_start.or(Some(profile.slow_start).filter(|own| Some(*own) != default));
        match chosen {
            Some(exit @ (HystartPlusPlus | Search | SearchDrain))
                if given.form_on(profile) == Form::Linux3_2 =>
            {
                vec![format!(
                    "form = \"linux-3.2\" has no slow_start = \"{}\"; write slow_start = \"hystart\" or form = \"linux\"",
                    exit.word()
                )]
            }
            _ => Vec::new(),
        }
    }
}

impl Given {
    fn form_on(&self, profile: &Profile) -> Form {
        self.form.unwrap_or(match profile.name {
            "linux" => Form::Linux,
            "linux3.2" => Form::Linux3_2,
            "ns2-linux" => Form::Linux2_6_22,
            _ => Form::Rfc,
        })
    }
}

macro_rules! form {
    ($cubic:expr, $form:ident => $call:expr) => {
        match $cubic {
            Cubic::Rfc($form) => $call,
            Cubic::Linux($form) => $call,
            Cubic::Linux3_2($form) => $call,
        }
    };
}

impl Control for Cubic {
    fn needs(&self) -> Needs {
        form!(self, form => form.needs())
    }

    fn on_ack(&mut self, w: &mut Window, acked: &Acked, open: bool) {
        form!(self, form => form.on_ack(w, acked, open));
    }

    fn grow(&mut self, w: &mut Window, acked: &Acked) {
        form!(self, form => form.grow(w, acked));
    }

    fn ssthresh(&mut self, w: &Window, event: &Congestion) -> f64 {
        form!(self, form => form.ssthresh(w, event))
    }

    fn after_mark(&self, before: &Window, event: &Congestion, ssthresh: f64) -> f64 {
        form!(self, form => form.after_mark(before, event, ssthresh))
    }

    fn on_timeout_confirmed(&mut self, next: u64) {
        form!(self, form => form.on_timeout_confirmed(next));
    }

    fn on_spurious_loss(&mut self, w: &mut Window, spurious: &Spurious) {
        form!(self, form => form.on_spurious_loss(w, spurious));
    }

    fn on_idle_restart(&mut self, idle: Duration) {
        form!(self, form => form.on_idle_restart(idle));
    }

    fn on_application_limited(&mut self, now: Time) {
        form!(self, form => form.on_application_limited(now));
    }

    /// Rate halving stops at the threshold itself.
    fn on_proposal(&mut self, w: &mut Window, proposal: &Proposal) {
        proposal.accept(w, w.ssthresh);
    }

    fn observe(&self, name: &str) -> Option<f64> {
        form!(self, form => form.observe(name))
    }
}

words! {
    /// Implementation of CUBIC.
    pub enum Form {
        /// RFC 9438, in real numbers.
        Rfc = "rfc",
        /// A current kernel.
        Linux = "linux",
        /// Linux 3.2.
        Linux3_2 = "linux-3.2",
        /// The module of ns-2.
        Linux2_6_22 = "linux-2.6.22",
    }
}

params! {
    /// Its parameters in a scenario.
    #[derive(Clone, Debug)]
    pub struct Given {
        /// Steepness C of the cubic function, in packets/s^3.
        c: f64 = Number, Text("0.4"), Range::up_to(100.0) => source: "RFC 9438 section 5.1";
        /// Factor of the window at a congestion event.
        beta: Option<f64> = Number, Absent("0.7, with form linux-2.6.22 819/1024"), Range::up_to(0.99)
            => source: "RFC 9438 section 4.6";
        /// Lower the plateau when the window did not regain the last maximum (fast convergence).
        fast_convergence: bool = Flag, Text("true") => source: "RFC 9438 section 4.7";
        /// Let the window grow at least as fast as NewReno's average.
        reno_friendly: bool = Flag, Text("true") => source: "RFC 9438 section 4.3";
        /// Implementation: RFC 9438 in real numbers, or the integer arithmetic of a current kernel, of Linux
        /// 3.2, or of ns-2's module.
        form: Option<Form> = Form::TYPE, Absent("linux on linux, linux-3.2 on linux3.2, linux-2.6.22 on ns2-linux, else rfc")
            => source: "docs/tcp.md";
        /// Exit from slow start without loss.
        slow_start: Option<profile::SlowStart> = profile::SlowStart::TYPE, Absent("the stack's setting")
            => source: "RFC 9438 section 4.10";
    }
}

/// CUBIC's table.
pub static TABLE: Mechanism = Mechanism {
    kind: "cubic",
    title: "CUBIC",
    example: r#"[groups.users.tcp.congestion_control]
kind = "cubic"
beta = 0.7
fast_convergence = true"#,
    doc: "After a congestion event the window follows a cubic function of time. It rises to the window at \
          the event, flattens, and probes beyond. It is never slower than NewReno. A loss or mark multiplies \
          the window by beta.",
    source: "RFC 9438",
    params: Given::PARAMS,
    observables: &[
        WINDOW,
        Observable::new("k", "s", "Time from the start of the epoch to the plateau (K)."),
        Observable::new("w_max", "packets", "Plateau (W_max)."),
        Observable::new("w_est", "packets", "Window of Reno (W_est)."),
    ],
    deviations: &[
        Deviation {
            what: "An epoch that starts at or above W_max has K = 0 and its plateau at the start.",
            why: "RFC 9438 defines this for two such cases (sections 4.8 and 4.10) and leaves others open; \
                  Linux does it in all.",
        },
        Deviation {
            what: "The window never decreases to W_est: it is the maximum of the two.",
            why: "Section 4.3 sets it to W_est. If the target of the next round trip is higher, that would \
                  be a decrease without congestion.",
        },
        Deviation {
            what: "ABE (RFC 8511) is not used: a mark reduces the window like a loss.",
            why: "RFC 9438 section 4.6 has one beta; ABE is experimental.",
        },
        Deviation {
            what: "SEARCH (draft-chung-ccwg-search-09) begins again after a pause of more than a window. Between two bins \
                   the earlier window is interpolated backwards.",
            why: "The first is an option of the draft. The draft interpolates forward, which its authors call a mistake.",
        },
        Deviation {
            what: "The drain phase of slow_start = \"search-drain\" follows the authors' Linux module. At its end the \
                   window is the data of three bins of ACKs, at least ten segments.",
            why: "Only the title page of the draft was at hand. Firefox's SEARCH (neqo) leaves the drain phase out.",
        },
        Deviation {
            what: "HyStart++ grows by up to eight segments per ACK, whatever slow_start_segments is.",
            why: "RFC 9406 section 4.3 gives L = 8 where packets are not paced.",
        },
        Deviation {
            what: "CUBIC sees round-trip times only on ACKs that may grow the window, not during recovery.",
            why: "Other ACKs do not call a congestion control. The minimum and the smoothed time hardly \
                  differ.",
        },
        Deviation {
            what: "Form linux uses an exact cube root for K; a kernel's is up to 0.2 % off. A second has \
                   1000 jiffies.",
            why: "For most windows the error is below one jiffy. CONFIG_HZ differs by distribution.",
        },
        Deviation {
            what: "Form linux-3.2 keeps the behaviour of Linux 3.2. Idle time belongs to the epoch. Growth \
                   counts ACKs. Hybrid slow start compares with 1/16 and 1/2 of the minimum delay.",
            why: "Results of that time (Ben Ameur et al. 2016) depend on it. After a pause, the window grows \
                  by one packet per two ACKs.",
        },
        Deviation {
            what: "Without delayed ACKs, form linux-2.6.22 counts each ACK as 31/16 packets.",
            why: "ns-2's module does the same. Its mean of packets per ACK starts at 2 and converges to 31/16.",
        },
    ],
    ..Mechanism::of(Room::CongestionControl)
};

#[cfg(test)]
mod tests;
