//! Names of enum cases in one table.

/// Gives the cases of an enum their names: `name` returns the name of a case, and `named` the case with a name.
/// After `else` stands the case for any other name, which has no name of its own.
///
/// ```
/// #[derive(Debug, PartialEq)]
/// enum Wind { North, South }
///
/// ship_message::names!(Wind { North = "north", South = "south" });
/// assert_eq!((Wind::North.name(), Wind::named("south")), ("north", Some(Wind::South)));
/// ```
#[macro_export]
macro_rules! names {
    ($type:ty { $($case:ident = $name:literal),+ $(,)? }) => {
        impl $type {
            /// Returns the case with this name.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$case),)+
                    _ => None,
                }
            }

            /// Returns the name of the case.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$case => $name,)+
                }
            }
        }
    };
    ($type:ty { $($case:ident = $name:literal),+ $(,)? } else $other:ident) => {
        impl $type {
            /// Returns the case with this name.
            pub fn named(name: &str) -> Self {
                match name {
                    $($name => Self::$case,)+
                    _ => Self::$other,
                }
            }

            /// Returns the name of the case, if it has one.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$case => Some($name),)+
                    Self::$other => None,
                }
            }
        }
    };
}
