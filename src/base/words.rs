//! [`words`]: enums that are a closed set of words.

/// Declares an enum with one word for each variant, so that the words are listed once.
///
/// Attributes and documentation are kept. The enum gets `ALL`, `as_str` and `from_name`, with its own visibility. It has
/// to be `Copy`. Derives do not see the words: with `Serialize`, `rename_all` or `rename` has to give the same ones.
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
                match name {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use words;

#[cfg(test)]
mod tests {
    words! {
        /// Words of several forms.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        enum Form {
            /// One word.
            #[default]
            Plain = "plain",
            TwoParts = "two_parts",
            Dotted = "with.dot",
        }
    }

    #[test]
    fn only_the_words_of_the_values_are_read() {
        assert_eq!(Form::ALL.map(Form::as_str), ["plain", "two_parts", "with.dot"]);
        for form in Form::ALL {
            assert_eq!(Form::from_name(form.as_str()), Some(form));
        }
        assert_eq!(Form::default(), Form::Plain);
        for name in ["", "Plain", "plain ", "TwoParts"] {
            assert_eq!(Form::from_name(name), None, "{name:?}");
        }
    }
}
