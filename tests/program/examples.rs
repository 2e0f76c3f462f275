//! The examples do what they say.

#[path = "../../examples/judge.rs"]
mod judge;
#[path = "../../examples/strategy.rs"]
mod strategy;

#[test]
fn a_strategy_of_ones_own() {
    let (breadth_first, ours) = strategy::compare().unwrap();
    assert!(ours > breadth_first, "{ours} is not better than {breadth_first}");
    strategy::main().unwrap();
}

#[test]
fn a_judge_of_ones_own() {
    let (built_in, ours) = judge::compare().unwrap();
    assert!(built_in > 0.0 && ours > 0.0 && built_in != ours, "{built_in} {ours}");
    judge::main().unwrap();
}

#[test]
fn they_are_short() {
    for name in ["judge", "strategy"] {
        let path = format!("{}/examples/{name}.rs", env!("CARGO_MANIFEST_DIR"));
        assert!(std::fs::read_to_string(path).unwrap().lines().count() < 60, "{name}.rs is too long");
    }
}
