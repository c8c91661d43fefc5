//! The sections of a dossier: the types of results in each, and the columns of their tables.

use crate::modules::definition::ResultType;

/// The section with verdicts.
pub(super) const MAIL: &str = "mail";

/// What a column of a table shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
    /// The value of the result.
    Value,
    /// Members of its metadata, joined by commas.
    Text,
    /// Members of its metadata. Results that differ in them, or in the value, are different rows.
    Key,
    /// The day of a time.
    Day,
}

use Shows::{Day, Key, Text, Value};

/// A column: what it shows, the heading, and the members of the metadata.
pub(super) type Column = (Shows, &'static str, &'static [&'static str]);

/// A table of a section: the title, the types of its results, and the columns.
pub(super) type Shape = (&'static str, &'static [ResultType], &'static [Column]);

/// The sections in their order, each with its id, its title and its tables.
#[rustfmt::skip]
pub(super) static SECTIONS: [(&str, &str, &[Shape]); 9] = [
    ("overview", "Overview", &[
        ("Registration", &[ResultType::Registration], &[
            (Value, "Name", &[]), (Text, "Registrar", &["registrar", "organization"]),
            (Day, "Registered", &["registered_at", "created_at"]), (Day, "Changed", &["changed_at"]),
            (Day, "Expires", &["expires_at"]), (Text, "Status", &["status"]), (Text, "Name servers", &["name_servers"])]),
        ("Reputation", &[ResultType::Reputation], &[
            (Value, "Verdict", &[]), (Text, "By", &["listed_by", "rated_by", "ranked_by", "source"]),
            (Text, "Details", &["threat", "grade", "rank", "score", "status", "risk_score", "entries"])]),
        ("Related domains", &[ResultType::Domain], &[
            (Value, "Domain", &[]), (Text, "Role", &["role", "relation", "kind"]), (Text, "Address", &["ip_address"])]),
    ]),
    ("dns", "DNS", &[
        ("Records", &[ResultType::DnsRecord], &[
            (Key, "Type", &["record_type"]), (Value, "Value", &[]), (Key, "Name", &["name"]),
            (Text, "For", &["purpose", "provider"]), (Text, "TTL in seconds", &["ttl_seconds"]),
            (Day, "Last seen", &["last_seen_at"])]),
        ("Addresses", &[ResultType::IpAddress], &[
            (Value, "Address", &[]), (Text, "Host", &["host"]), (Text, "Network", &["as_name", "asn", "prefix"]),
            (Text, "Place", &["city", "region", "country"]), (Day, "First seen", &["first_seen_at"]),
            (Day, "Last seen", &["last_seen_at"])]),
    ]),
    ("subdomains", "Subdomains", &[
        ("Subdomains", &[ResultType::Subdomain], &[
            (Value, "Name", &[]), (Text, "Address", &["ip_address"]), (Text, "Where", &["role"])]),
    ]),
    ("certificates", "Certificates", &[
        ("Certificates", &[ResultType::Certificate], &[
            (Text, "For", &["common_name", "names"]), (Text, "Issuer", &["issuer"]), (Day, "Valid from", &["not_before"]),
            (Day, "Valid to", &["not_after"]), (Value, "Serial number", &[])]),
    ]),
    ("technology", "Technology", &[
        ("Technology", &[ResultType::Technology], &[
            (Value, "Name", &[]), (Key, "Kind", &["kind", "service", "network"]), (Text, "Role", &["role"]),
            (Text, "Version", &["version"]), (Text, "Evidence", &["evidence", "record"])]),
        ("Services", &[ResultType::Tenant], &[
            (Key, "Service", &["service"]), (Value, "Tenant", &[]), (Text, "Found by", &["match", "realm"]),
            (Text, "Details", &["region", "cloud", "imap_host", "smtp_host", "open_jobs"])]),
    ]),
    (MAIL, "Mail security", &[]),
    ("people", "People and accounts", &[
        ("Names", &[ResultType::PersonName], &[
            (Value, "Name", &[]), (Text, "Role", &["role", "relation"]), (Text, "Organization", &["organization"])]),
        ("Accounts", &[ResultType::Profile, ResultType::Account], &[
            (Key, "Service", &["service"]), (Value, "Account", &[]), (Text, "Name", &["display_name", "username"]),
            (Text, "Relation", &["relation", "role", "match"]), (Day, "Created", &["created_at"])]),
        ("Usernames", &[ResultType::Username], &[(Value, "Username", &[]), (Text, "Where", &["role", "relation"])]),
        ("Contacts", &[ResultType::Email, ResultType::Phone], &[
            (Value, "Address or number", &[]), (Text, "Role", &["role", "relation", "kind"]),
            (Text, "Name", &["name", "display_name"])]),
        ("Public keys", &[ResultType::PublicKey], &[
            (Value, "Key", &[]), (Text, "Algorithm", &["algorithm", "record_type"]), (Text, "Bits", &["bits"]),
            (Day, "Created", &["created_at"]), (Day, "Expires", &["expires_at"])]),
    ]),
    ("breaches", "Breaches", &[
        ("Breaches", &[ResultType::Breach], &[
            (Value, "Breach", &[]), (Day, "Date", &["breached_on", "last_seen_at"]),
            (Text, "Accounts", &["accounts", "records", "breaches"]), (Text, "What leaked", &["data_classes"])]),
    ]),
    ("archive", "Pages and archive", &[
        ("Archive", &[ResultType::Archive], &[
            (Value, "Address", &[]), (Key, "Archive", &["archive", "snapshot"]),
            (Day, "First captured", &["first_captured_at", "captured_at"]), (Day, "Last captured", &["last_captured_at"])]),
        ("Pages", &[ResultType::Url], &[
            (Value, "Address", &[]), (Text, "Kind", &["kind", "source", "role"]),
            (Text, "Title", &["title", "name", "repository", "description"]),
            (Day, "Date", &["submitted_at", "committed_at", "created_at", "last_modified_at", "year"])]),
    ]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_type_is_in_one_table() {
        let mut seen = BTreeSet::new();
        for (title, types, columns) in SECTIONS.iter().flat_map(|(_, _, shapes)| *shapes) {
            assert!(types.iter().all(|kind| seen.insert(*kind)), "{title}");
            assert!(columns.iter().any(|(shows, ..)| matches!(shows, Key | Value)), "{title}");
        }
        let schema = schemars::schema_for!(ResultType);
        let known = schema.get("enum").and_then(|names| names.as_array()).unwrap();
        assert_eq!(known.len(), seen.len());
    }
}
