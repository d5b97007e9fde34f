#![no_main]

#[path = "../drivers.rs"]
#[expect(dead_code, reason = "each target drives one part")]
mod drivers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| drivers::decoder(data));
