//! Parameters as Rust structs: [`params!`](crate::params) declares a struct, its table and its decoder in one place.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use crate::packet::Ecn;
use crate::schema::{Param, Value, Values};
use crate::units::{Duration, Rate, Time};

/// A Rust type that a parameter can have.
pub trait Parameter: Sized {
    /// The type of a value that is there: `T` of `Option<T>`.
    type One;

    /// From a decoded value.
    fn one(value: &Value) -> Option<Self::One>;

    /// From a value that may be absent. `None`: it may not.
    fn read(one: Option<Self::One>) -> Option<Self>;
}

impl<T: Parameter<One = T>> Parameter for Option<T> {
    type One = T;

    fn one(value: &Value) -> Option<T> {
        T::one(value)
    }

    fn read(one: Option<T>) -> Option<Option<T>> {
        Some(one)
    }
}

/// All parameters of several tables, as one.
pub const fn joined<const N: usize>(tables: &[&[Param]]) -> [Param; N] {
    let mut all = [tables[0][0]; N];
    let (mut table, mut n) = (0, 0);
    while table < tables.len() {
        let mut i = 0;
        while i < tables[table].len() {
            all[n] = tables[table][i];
            i += 1;
            n += 1;
        }
        table += 1;
    }
    all
}

/// Implements [`Parameter`] for types that cannot be absent.
#[macro_export]
macro_rules! parameter {
    ($($ty:ty: $value:ident => $one:expr;)+) => {$(
        impl $crate::params::Parameter for $ty {
            type One = $ty;

            fn one($value: &$crate::schema::Value) -> Option<$ty> {
                $one
            }

            fn read(one: Option<$ty>) -> Option<$ty> {
                one
            }
        }
    )+};
}

/// The ECN codepoints, by their bits (RFC 3168 section 5).
pub const CODEPOINTS: &[&str] = &["not-ect", "ect1", "ect0", "ce"];

parameter! {
    f64: value => value.number();
    u64: value => value.number().map(|x| x as u64);
    u32: value => value.number().map(|x| x as u32);
    u16: value => value.number().map(|x| x as u16);
    i64: value => value.number().map(|x| x as i64);
    usize: value => value.number().map(|x| x as usize);
    Duration: value => value.number().map(Duration::from_seconds);
    Rate: value => value.number().map(Rate);
    bool: value => match value { Value::Flag(flag) => Some(*flag), _ => None };
    String: value => match value { Value::Word(word) => Some(word.clone()), _ => None };
    Ecn: value => CODEPOINTS.iter().position(|word| value.is_word(word)).map(|bits| Ecn::of(bits as u8));
    Value: value => Some(value.clone());
    Values: value => match value { Value::Table(table) => Some(table.clone()), _ => None };
    Vec<String>: value => match value { Value::Names(names) => Some(names.clone()), _ => None };
    Vec<f64>: value => match value { Value::Rates(rates) => Some(rates.clone()), _ => None };
    Vec<Vec<f64>>: value => match value { Value::ByteRows(rows) => Some(rows.clone()), _ => None };
    BTreeMap<String, f64>: value => match value {
        Value::Numbers(table) | Value::SecondsPerClass(table) => Some(table.clone()),
        _ => None,
    };
}

/// Tables by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables<T>(pub BTreeMap<String, T>);

impl<T> Default for Tables<T> {
    fn default() -> Tables<T> {
        Tables(BTreeMap::new())
    }
}

impl<T: Parameter<One = T>> Parameter for Tables<T> {
    type One = Tables<T>;

    fn one(value: &Value) -> Option<Tables<T>> {
        let Value::Tables(tables) = value else { return None };
        let one =
            |(name, table): (&String, &Values)| Some((name.clone(), T::one(&Value::Table(table.clone()))?));
        tables.iter().map(one).collect::<Option<_>>().map(Tables)
    }

    fn read(one: Option<Tables<T>>) -> Option<Tables<T>> {
        Some(one.unwrap_or_default())
    }
}

/// A parameter, with its type.
#[derive(Debug)]
pub struct Key<T> {
    /// As it is in a scenario file.
    pub name: &'static str,
    /// Its declaration.
    pub param: Param,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Key<T> {
        *self
    }
}

impl<T> Copy for Key<T> {}

impl<T> Key<T> {
    /// The key of a parameter; [`params!`](crate::params) makes them.
    pub const fn new(param: Param) -> Key<T> {
        Key { name: param.name, param, of: PhantomData }
    }
}

impl Values {
    /// The value of a parameter, if it has one.
    pub fn at<T: Parameter>(&self, key: Key<T>) -> Option<T::One> {
        self.get(key.name).and_then(T::one)
    }

    /// The value of a parameter as it is, if it has one; it may be random.
    pub fn raw<T>(&self, key: Key<T>) -> Option<&Value> {
        self.get(key.name)
    }

    /// Whether a parameter has a value.
    pub fn has<T>(&self, key: Key<T>) -> bool {
        self.raw(key).is_some()
    }

    /// Whether a parameter has this value.
    pub fn is<T: Parameter<One: PartialEq>>(&self, key: Key<T>, one: T::One) -> bool {
        self.at(key) == Some(one)
    }

    /// The value of a parameter that was decoded.
    ///
    /// # Panics
    /// It has none.
    pub fn read<T: Parameter>(&self, key: Key<T>) -> T {
        let name = key.name;
        T::read(self.at(key)).unwrap_or_else(|| panic!("parameter {name} was not decoded"))
    }
}

/// Declares the parameters of a mechanism: a struct, its table `PARAMS`, its decoder `read`, and a [`Key`] for each field.
///
/// `..name: Struct;` before the fields takes over all parameters of another such struct.
/// A field is `name: RustType = Type, Default, Range => source: "RFC …";` under one doc comment. The range may be left out.
/// One expression after `=` is a [`Param`](crate::schema::Param) that several mechanisms share.
#[macro_export]
macro_rules! params {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $(..$part:ident: $part_type:ty;)*
            $($(#[doc = $doc:literal])+ $field:ident: $rust:ty = $($decl:expr),+ $(=> source: $source:expr)?;)*
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $(/** Parameters shared with other mechanisms. */ pub $part: $part_type,)*
            $($(#[doc = $doc])+ pub $field: $rust,)*
        }

        #[allow(non_upper_case_globals, missing_docs, dead_code)]
        impl $name {
            /// The parameters in the order of the documents.
            pub const PARAMS: &'static [$crate::schema::Param] = {
                const OWN: &[$crate::schema::Param] = &[$($name::$field.param),*];
                $crate::joined_with!(OWN $(, <$part_type>::PARAMS)*)
            };

            $(pub const $field: $crate::params::Key<$rust> = {
                #[allow(unused_imports)]
                use $crate::schema::{Fallback::*, Param, Range, Type::*};
                $crate::params::Key::new($crate::param!($field, concat!($($doc),+), $($decl),+ $(=> $source)?))
            };)*

            /// From decoded values.
            pub fn read(values: &$crate::schema::Values) -> $name {
                $name {
                    $($part: <$part_type>::read(values),)*
                    $($field: values.read($name::$field),)*
                }
            }
        }

        $crate::parameter! {
            $name: value => match value {
                $crate::schema::Value::Table(table) => Some($name::read(table)),
                _ => None,
            };
        }
    };
}

/// A table with those of others before it.
#[doc(hidden)]
#[macro_export]
macro_rules! joined_with {
    ($own:expr) => {
        $own
    };
    ($own:expr, $($part:expr),+) => {
        &$crate::params::joined::<{ $own.len() $(+ $part.len())+ }>(&[$($part,)+ $own])
    };
}

/// One entry of a table made by [`params!`](crate::params).
#[doc(hidden)]
#[macro_export]
macro_rules! param {
    ($field:ident, $doc:expr, $shared:expr) => {
        Param { name: stringify!($field), ..$shared }
    };
    ($field:ident, $doc:expr, $shared:expr => $source:expr) => {
        Param { name: stringify!($field), source: $source, doc: $doc.trim_ascii_start(), ..$shared }
    };
    ($field:ident, $doc:expr, $ty:expr, $default:expr => $source:expr) => {
        $crate::param!($field, $doc, $ty, $default, Range::ANY => $source)
    };
    ($field:ident, $doc:expr, $ty:expr, $default:expr, $range:expr => $source:expr) => {
        Param {
            name: stringify!($field),
            ty: $ty,
            default: $default,
            range: $range,
            source: $source,
            doc: $doc.trim_ascii_start(),
        }
    };
}

/// Declares what can be observed of a mechanism: `name: unit, doc => value;`.
///
/// It makes the table `OBSERVABLES`, and `observe`, which finds the value of a name. The names behind the
/// type are those of the mechanism and of the instant in the values. `..NAME => value;` is not in the table.
///
/// This `observe` is inherent, and Rust prefers it to that of a trait, which is for kinds of other crates.
#[macro_export]
macro_rules! observables {
    (
        $type:ty: $of:ident $(, $now:ident)?;
        $($name:ident: $unit:expr, $doc:expr => $value:expr;)+
        $(..$other:ident => $other_value:expr;)*
    ) => {
        #[allow(missing_docs)]
        impl $type {
            pub const OBSERVABLES: &'static [$crate::schema::Observable] =
                &[$($crate::schema::Observable::new(stringify!($name), $unit, $doc)),+];

            pub fn observe(&self, name: &str $(, $now: $crate::Time)?) -> Option<f64> {
                let $of = self;
                match name {
                    $(stringify!($name) => $crate::params::Observed::value($value),)+
                    $($other => $crate::params::Observed::value($other_value),)*
                    _ => None,
                }
            }
        }
    };
}

/// A quantity that can be observed.
pub trait Observed {
    /// Its value, in the unit of its table; absent before there is one.
    fn value(self) -> Option<f64>;
}

macro_rules! observed {
    ($($ty:ty: $one:ident => $value:expr;)+) => {$(
        impl Observed for $ty {
            #[inline]
            fn value(self) -> Option<f64> {
                let $one = self;
                $value
            }
        }
    )+};
}

observed! {
    f64: x => Some(x);
    u64: n => Some(n as f64);
    u32: n => Some(f64::from(n));
    usize: n => Some(n as f64);
    bool: yes => Some(f64::from(u8::from(yes)));
    Duration: time => Some(time.seconds());
    Time: at => Some(at.seconds());
}

impl<T: Observed> Observed for Option<T> {
    #[inline]
    fn value(self) -> Option<f64> {
        self.and_then(T::value)
    }
}

/// Declares an enum whose variants are the words of a parameter: `Variant = "word"`.
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:expr),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[$doc])* $variant,)+ }

        #[allow(dead_code)]
        impl $name {
            /// The words in order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The type of the parameter.
            pub const TYPE: $crate::schema::Type = $crate::schema::Type::Choice($name::WORDS);

            /// The variant of a word that was checked.
            pub fn of(word: &str) -> $name {
                match word {
                    $(found if found == $word => $name::$variant,)+
                    _ => unreachable!("{word} is no {}", stringify!($name)),
                }
            }

            /// The word in a scenario file.
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }
        }

        $crate::parameter! {
            $name: value => match value {
                $crate::schema::Value::Word(word) => match word.as_str() {
                    $(found if found == $word => Some($name::$variant),)+
                    _ => None,
                },
                _ => None,
            };
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Fallback, Range, Type};

    words! {
        /// Which packets.
        pub enum Which { First = "first", Last = "last-one", }
    }

    params! {
        /// An example.
        #[derive(Debug, PartialEq)]
        pub struct Example {
            /// Time between
            /// two things.
            period: f64 = Duration, Text("5 ms"), Range::POSITIVE => source: "RFC 1";
            /// Which.
            which: Which = Which::TYPE, Text("first") => source: "";
            /// A limit.
            limit: Option<u64> = Bytes, Absent("none"), Range::FROM_ONE => source: "RFC 2";
        }
    }

    #[test]
    fn a_struct_is_a_table_and_a_decoder() {
        let [period, which, limit] = Example::PARAMS else { panic!("three parameters") };
        assert_eq!((period.name, period.ty, period.range), ("period", Type::Duration, Range::POSITIVE));
        assert_eq!((period.doc, period.source), ("Time between two things.", "RFC 1"));
        assert_eq!(
            (which.ty, which.default),
            (Type::Choice(&["first", "last-one"]), Fallback::Text("first"))
        );
        assert_eq!(limit.default, Fallback::Absent("none"));
        let mut values = Values::default();
        values.0.insert("period", Value::Seconds(0.01));
        values.0.insert("which", Value::Word("last-one".into()));
        assert_eq!(Example::read(&values), Example { period: 0.01, which: Which::Last, limit: None });
        assert_eq!((values.at(Example::limit), values.at(Example::which)), (None, Some(Which::Last)));
    }
}
