//! [`words`]: enums that are a closed set of words.

/// Declares an enum with one word for each variant, so that the words are listed once.
///
/// Attributes and documentation are kept. The enum gets `ALL`, `as_str` and `from_name`, with its own visibility, is
/// displayed as its word, and can be the value of an option. It has to be `Copy`. Derives do not see the words: with
/// `Serialize`, `rename_all` or `rename` has to give the same ones.
macro_rules! words {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$variant_attribute:meta])* $variant:ident = $word:literal),* $(,)?
        }
    ) => {
        $(#[$attribute])*
        $visibility enum $name {
            $($(#[$variant_attribute])* $variant,)*
        }

        impl $name {
            /// All values, in the order in which they are declared.
            $visibility const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// Returns the word for the value.
            $visibility fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// Returns the value with this word.
            $visibility fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.as_str() == name)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl clap::ValueEnum for $name {
            fn value_variants<'a>() -> &'a [Self] {
                &Self::ALL
            }

            fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
                Some(self.as_str().into())
            }
        }
    };
}

pub(crate) use words;
