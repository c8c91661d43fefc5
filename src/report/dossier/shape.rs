//! The sections of a dossier: the types of results in each, and the columns of their tables.

use super::table::{Column, Table};
use crate::model::run::ResultRecord;
use crate::modules::definition::ResultType;

/// The section with verdicts.
pub(super) const MAIL: &str = "mail";

/// The sections in their order, each with its title.
pub(super) const SECTIONS: [(&str, &str); 9] = [
    ("overview", "Overview"),
    ("dns", "DNS"),
    ("subdomains", "Subdomains"),
    ("certificates", "Certificates"),
    ("technology", "Technology"),
    (MAIL, "Mail security"),
    ("people", "People and accounts"),
    ("breaches", "Breaches"),
    ("archive", "Pages and archive"),
];

/// A table of a section.
struct Shape {
    section: &'static str,
    title: &'static str,
    types: &'static [ResultType],
    columns: &'static [Column],
}

const fn table(
    section: &'static str,
    title: &'static str,
    types: &'static [ResultType],
    columns: &'static [Column],
) -> Shape {
    Shape { section, title, types, columns }
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

// One row for each table.
#[rustfmt::skip]
const SHAPES: [Shape; 17] = [
    table("overview", "Registration", &[ResultType::Registration], &[
        value("Name"), text("Registrar", &["registrar", "organization"]),
        day("Registered", &["registered_at", "created_at"]), day("Changed", &["changed_at"]),
        day("Expires", &["expires_at"]), text("Status", &["status"]), text("Name servers", &["name_servers"])]),
    table("overview", "Reputation", &[ResultType::Reputation], &[
        value("Verdict"), text("By", &["listed_by", "rated_by", "ranked_by", "source"]),
        text("Details", &["threat", "grade", "rank", "score", "status", "risk_score", "entries"])]),
    table("overview", "Related domains", &[ResultType::Domain], &[
        value("Domain"), text("Role", &["role", "relation", "kind"]), text("Address", &["ip_address"])]),
    table("dns", "Records", &[ResultType::DnsRecord], &[
        key("Type", &["record_type"]), value("Value"), key("Name", &["name"]),
        text("For", &["purpose", "provider"]), text("TTL in seconds", &["ttl_seconds"]),
        day("Last seen", &["last_seen_at"])]),
    table("dns", "Addresses", &[ResultType::IpAddress], &[
        value("Address"), text("Host", &["host"]), text("Network", &["as_name", "asn", "prefix"]),
        text("Place", &["city", "region", "country"]), day("First seen", &["first_seen_at"]),
        day("Last seen", &["last_seen_at"])]),
    table("subdomains", "Subdomains", &[ResultType::Subdomain], &[
        value("Name"), text("Address", &["ip_address"]), text("Where", &["role"])]),
    table("certificates", "Certificates", &[ResultType::Certificate], &[
        text("For", &["common_name", "names"]), text("Issuer", &["issuer"]), day("Valid from", &["not_before"]),
        day("Valid to", &["not_after"]), value("Serial number")]),
    table("technology", "Technology", &[ResultType::Technology], &[
        value("Name"), key("Kind", &["kind", "service", "network"]), text("Role", &["role"]),
        text("Version", &["version"]), text("Evidence", &["evidence", "record"])]),
    table("technology", "Services", &[ResultType::Tenant], &[
        key("Service", &["service"]), value("Tenant"), text("Found by", &["match", "realm"]),
        text("Details", &["region", "cloud", "imap_host", "smtp_host", "open_jobs"])]),
    table("people", "Names", &[ResultType::PersonName], &[
        value("Name"), text("Role", &["role", "relation"]), text("Organization", &["organization"])]),
    table("people", "Accounts", &[ResultType::Profile, ResultType::Account], &[
        key("Service", &["service"]), value("Account"), text("Name", &["display_name", "username"]),
        text("Relation", &["relation", "role", "match"]), day("Created", &["created_at"])]),
    table("people", "Usernames", &[ResultType::Username], &[value("Username"), text("Where", &["role", "relation"])]),
    table("people", "Contacts", &[ResultType::Email, ResultType::Phone], &[
        value("Address or number"), text("Role", &["role", "relation", "kind"]),
        text("Name", &["name", "display_name"])]),
    table("people", "Public keys", &[ResultType::PublicKey], &[
        value("Key"), text("Algorithm", &["algorithm", "record_type"]), text("Bits", &["bits"]),
        day("Created", &["created_at"]), day("Expires", &["expires_at"])]),
    table("breaches", "Breaches", &[ResultType::Breach], &[
        value("Breach"), day("Date", &["breached_on", "last_seen_at"]),
        text("Accounts", &["accounts", "records", "breaches"]), text("What leaked", &["data_classes"])]),
    table("archive", "Archive", &[ResultType::Archive], &[
        value("Address"), key("Archive", &["archive", "snapshot"]),
        day("First captured", &["first_captured_at", "captured_at"]), day("Last captured", &["last_captured_at"])]),
    table("archive", "Pages", &[ResultType::Url], &[
        value("Address"), text("Kind", &["kind", "source", "role"]),
        text("Title", &["title", "name", "repository", "description"]),
        day("Date", &["submitted_at", "committed_at", "created_at", "last_modified_at", "year"])]),
];

/// Returns the tables of a section that have rows.
pub(super) fn tables(section: &str, results: &[ResultRecord]) -> Vec<Table> {
    let shapes = SHAPES.iter().filter(|shape| shape.section == section);
    let table = |shape: &Shape| {
        let is_listed =
            |result: &&ResultRecord| shape.types.iter().any(|kind| kind.as_str() == result.result_type);
        Table::new(shape.title, shape.columns, results.iter().filter(is_listed))
    };
    shapes.map(table).filter(|table| !table.rows.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_table_is_in_a_section_and_each_type_in_one_table() {
        let mut seen = BTreeSet::new();
        for shape in &SHAPES {
            assert!(SECTIONS.iter().any(|(id, _)| *id == shape.section), "{}", shape.title);
            assert!(shape.types.iter().all(|kind| seen.insert(*kind)), "{}", shape.title);
            assert!(shape.columns.iter().any(|column| column.is_key), "{}", shape.title);
        }
        let schema = schemars::schema_for!(ResultType);
        let known = schema.get("enum").and_then(|names| names.as_array()).unwrap();
        assert_eq!(known.len(), seen.len());
    }
}
