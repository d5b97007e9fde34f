//! The rules of tunnels as a table.

use evenflow_base::Ecn;
use evenflow_base::tunnel::{Alarm, FIELDS, Rules, alarm, decapsulate, encapsulate};
use serde_json::{Map, Value, json};

fn name(field: Ecn) -> &'static str {
    match field {
        Ecn::NotCapable => "Not-ECT",
        Ecn::Capable0 => "ECT(0)",
        Ecn::Capable1 => "ECT(1)",
        Ecn::Congestion => "CE",
    }
}

/// Inner field -> outer field -> value.
fn pairs(value: impl Fn(Ecn, Ecn) -> Value) -> Value {
    let row =
        |inner| FIELDS.iter().map(|&outer| (name(outer).into(), value(inner, outer))).collect::<Map<_, _>>();
    Value::Object(FIELDS.iter().map(|&inner| (name(inner).into(), row(inner).into())).collect())
}

/// For each set of rules: the outer field by inner field, and the field that leaves the tunnel by inner and outer field (null:
/// dropped). `alarms`: what RFC 6040 says of a pair (null: nothing).
pub fn table() -> Value {
    let rules: Map<String, Value> = Rules::WORDS
        .iter()
        .map(|&rule| {
            let rules = Rules::of(rule);
            let ingress: Map<String, Value> = FIELDS
                .iter()
                .map(|&inner| (name(inner).into(), name(encapsulate(rules, inner)).into()))
                .collect();
            let egress = pairs(|inner, outer| {
                decapsulate(rules, inner, outer).map_or(Value::Null, |f| name(f).into())
            });
            (rule.into(), json!({ "ingress": ingress, "egress": egress }))
        })
        .collect();
    let alarms = pairs(|inner, outer| match alarm(inner, outer) {
        Alarm::None => Value::Null,
        Alarm::PossiblyDangerous => "possibly-dangerous".into(),
        Alarm::Dangerous => "dangerous".into(),
    });
    json!({ "fields": FIELDS.map(name), "rules": rules, "alarms": alarms })
}
