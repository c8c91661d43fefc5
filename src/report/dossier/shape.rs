//! The sections of a dossier: the types of results in each, and the columns of their tables.

use crate::modules::definition::ResultType;

/// The section with verdicts.
pub(super) const MAIL: &str = "mail";

/// A column of a table.
#[derive(Debug, PartialEq)]
pub(super) struct Column {
    /// The heading.
    pub(super) head: &'static str,
    /// The members of the metadata that the column shows, joined by commas. Empty for the value of the result.
    pub(super) members: &'static [&'static str],
    /// Whether the column shows the day of a time.
    pub(super) is_day: bool,
    /// Whether results that differ in this column are different rows.
    pub(super) is_key: bool,
}

/// A table of a section.
pub(super) struct Shape {
    pub(super) title: &'static str,
    pub(super) types: &'static [ResultType],
    pub(super) columns: &'static [Column],
}

const fn table(title: &'static str, types: &'static [ResultType], columns: &'static [Column]) -> Shape {
    Shape { title, types, columns }
}

/// The column of the value itself.
const fn value(head: &'static str) -> Column {
    Column { head, members: &[], is_day: false, is_key: true }
}

const fn text(head: &'static str, members: &'static [&'static str]) -> Column {
    Column { head, members, is_day: false, is_key: false }
}

const fn key(head: &'static str, members: &'static [&'static str]) -> Column {
    Column { head, members, is_day: false, is_key: true }
}

const fn day(head: &'static str, members: &'static [&'static str]) -> Column {
    Column { head, members, is_day: true, is_key: false }
}

/// The sections in their order, each with its id, its title and its tables.
#[rustfmt::skip]
pub(super) static SECTIONS: [(&str, &str, &[Shape]); 9] = [
    ("overview", "Overview", &[
        table("Registration", &[ResultType::Registration], &[
            value("Name"), text("Registrar", &["registrar", "organization"]),
            day("Registered", &["registered_at", "created_at"]), day("Changed", &["changed_at"]),
            day("Expires", &["expires_at"]), text("Status", &["status"]), text("Name servers", &["name_servers"])]),
        table("Reputation", &[ResultType::Reputation], &[
            value("Verdict"), text("By", &["listed_by", "rated_by", "ranked_by", "source"]),
            text("Details", &["threat", "grade", "rank", "score", "status", "risk_score", "entries"])]),
        table("Related domains", &[ResultType::Domain], &[
            value("Domain"), text("Role", &["role", "relation", "kind"]), text("Address", &["ip_address"])]),
    ]),
    ("dns", "DNS", &[
        table("Records", &[ResultType::DnsRecord], &[
            key("Type", &["record_type"]), value("Value"), key("Name", &["name"]),
            text("For", &["purpose", "provider"]), text("TTL in seconds", &["ttl_seconds"]),
            day("Last seen", &["last_seen_at"])]),
        table("Addresses", &[ResultType::IpAddress], &[
            value("Address"), text("Host", &["host"]), text("Network", &["as_name", "asn", "prefix"]),
            text("Place", &["city", "region", "country"]), day("First seen", &["first_seen_at"]),
            day("Last seen", &["last_seen_at"])]),
    ]),
    ("subdomains", "Subdomains", &[
        table("Subdomains", &[ResultType::Subdomain], &[
            value("Name"), text("Address", &["ip_address"]), text("Where", &["role"])]),
    ]),
    ("certificates", "Certificates", &[
        table("Certificates", &[ResultType::Certificate], &[
            text("For", &["common_name", "names"]), text("Issuer", &["issuer"]), day("Valid from", &["not_before"]),
            day("Valid to", &["not_after"]), value("Serial number")]),
    ]),
    ("technology", "Technology", &[
        table("Technology", &[ResultType::Technology], &[
            value("Name"), key("Kind", &["kind", "service", "network"]), text("Role", &["role"]),
            text("Version", &["version"]), text("Evidence", &["evidence", "record"])]),
        table("Services", &[ResultType::Tenant], &[
            key("Service", &["service"]), value("Tenant"), text("Found by", &["match", "realm"]),
            text("Details", &["region", "cloud", "imap_host", "smtp_host", "open_jobs"])]),
    ]),
    (MAIL, "Mail security", &[]),
    ("people", "People and accounts", &[
        table("Names", &[ResultType::PersonName], &[
            value("Name"), text("Role", &["role", "relation"]), text("Organization", &["organization"])]),
        table("Accounts", &[ResultType::Profile, ResultType::Account], &[
            key("Service", &["service"]), value("Account"), text("Name", &["display_name", "username"]),
            text("Relation", &["relation", "role", "match"]), day("Created", &["created_at"])]),
        table("Usernames", &[ResultType::Username], &[value("Username"), text("Where", &["role", "relation"])]),
        table("Contacts", &[ResultType::Email, ResultType::Phone], &[
            value("Address or number"), text("Role", &["role", "relation", "kind"]),
            text("Name", &["name", "display_name"])]),
        table("Public keys", &[ResultType::PublicKey], &[
            value("Key"), text("Algorithm", &["algorithm", "record_type"]), text("Bits", &["bits"]),
            day("Created", &["created_at"]), day("Expires", &["expires_at"])]),
    ]),
    ("breaches", "Breaches", &[
        table("Breaches", &[ResultType::Breach], &[
            value("Breach"), day("Date", &["breached_on", "last_seen_at"]),
            text("Accounts", &["accounts", "records", "breaches"]), text("What leaked", &["data_classes"])]),
    ]),
    ("archive", "Pages and archive", &[
        table("Archive", &[ResultType::Archive], &[
            value("Address"), key("Archive", &["archive", "snapshot"]),
            day("First captured", &["first_captured_at", "captured_at"]), day("Last captured", &["last_captured_at"])]),
        table("Pages", &[ResultType::Url], &[
            value("Address"), text("Kind", &["kind", "source", "role"]),
            text("Title", &["title", "name", "repository", "description"]),
            day("Date", &["submitted_at", "committed_at", "created_at", "last_modified_at", "year"])]),
    ]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_type_is_in_one_table() {
        let mut seen = BTreeSet::new();
        for shape in SECTIONS.iter().flat_map(|(_, _, shapes)| *shapes) {
            assert!(shape.types.iter().all(|kind| seen.insert(*kind)), "{}", shape.title);
            assert!(shape.columns.iter().any(|column| column.is_key), "{}", shape.title);
        }
        let schema = schemars::schema_for!(ResultType);
        let known = schema.get("enum").and_then(|names| names.as_array()).unwrap();
        assert_eq!(known.len(), seen.len());
    }
}
