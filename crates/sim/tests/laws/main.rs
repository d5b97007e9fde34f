//! Laws of the engine: what must hold for every scenario, and theory where there is one.

mod accounting;
mod aqm;
mod bbr;
mod common;
mod conex;
mod controls;
mod delays;
mod exposure;
mod flows;
mod headers;
mod metrics;
mod paths;
mod policing;
mod radio;
mod random;
mod reecn;
mod repeat;
mod reports;
mod shaping;
mod sharing;
mod stages;
mod theory;
mod ties;
mod trace;
mod tunnels;
mod video;
