//! The targets of `fuzz/`, driven by bytes that proptest makes up: decoder, both ends of a connection, queue disciplines.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

#[path = "../../../fuzz/drivers.rs"]
mod drivers;

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..3000)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1500, max_shrink_iters: 300, rng_seed: RngSeed::Fixed(5), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn no_bytes_break_the_decoder(data in bytes()) {
        drivers::decoder(&data);
    }

    #[test]
    fn no_segments_break_an_endpoint(data in bytes()) {
        drivers::endpoints(&data);
    }

    #[test]
    fn no_operations_break_a_queue(data in bytes()) {
        drivers::queue(&data);
    }
}
