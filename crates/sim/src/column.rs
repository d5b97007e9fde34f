//! A recorded column.

/// Instants and the values that something had then.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Its name, copies spelled out.
    pub name: String,
    /// Instants, seconds.
    pub times: Vec<f64>,
    /// Values.
    pub values: Vec<f64>,
}
