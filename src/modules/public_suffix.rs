//! The Public Suffix List. `psl` consists of 4,000 functions that are compiled again wherever the list is used, so only
//! this file uses it.

pub(super) use psl::Type as Section;

/// The end of a domain name under which names are registered.
pub(super) struct PublicSuffix<'a> {
    /// Such as `co.uk`, without a final dot. For an unknown top-level domain, the last label.
    pub(super) name: &'a str,
    /// The section of the list that has the suffix, or `None` for an unknown top-level domain.
    pub(super) section: Option<Section>,
}

impl<'a> PublicSuffix<'a> {
    /// Returns the suffix of a domain in lower case, which may end in a dot.
    pub(super) fn of(domain: &'a str) -> Option<Self> {
        let suffix = psl::suffix(domain.as_bytes())?.trim();
        Some(Self { name: str::from_utf8(suffix.as_bytes()).ok()?, section: suffix.typ() })
    }
}

/// Returns the suffix of a domain with the label before it, such as `example.co.uk`. Returns `None` for a suffix alone.
pub(super) fn suffix_with_label(domain: &str) -> Option<&str> {
    psl::domain_str(domain)
}
