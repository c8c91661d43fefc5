//! The verdicts on mail security, for records as resolvers return them.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::folder::Folder;
use crate::support::modules::own_flags;
use crate::support::server::{Server, Setup};
use crate::support::site::{Site, ok};

/// The kinds of records: where they are, and the modules that read them.
const KINDS: [(&str, &str, &[&str]); 7] = [
    ("SPF", "", &["dns_spf"]),
    ("DMARC", "_dmarc.", &["dns_dmarc"]),
    ("DKIM", "google._domainkey.", &["dkim_google"]),
    ("MTA-STS", "_mta-sts.", &["dns_mta_sts"]),
    ("TLS-RPT", "_smtp._tls.", &["dns_tls_rpt"]),
    ("BIMI", "default._bimi.", &["dns_bimi"]),
    ("MX", "", &["dns_mx"]),
];

/// Returns the sets of records in `mail.txt`: their kind, the verdict, and the records.
fn sets() -> impl Iterator<Item = (&'static str, &'static str, Vec<String>)> {
    let lines = include_str!("mail.txt").lines().skip_while(|line| !line.is_empty());
    lines.filter(|line| !line.is_empty()).map(|line| {
        let mut words = line.splitn(3, ' ');
        let (kind, grade, records) = (words.next().unwrap(), words.next().unwrap(), words.next());
        let records = serde_json::Deserializer::from_str(records.unwrap_or_default()).into_iter();
        (
            kind,
            grade,
            records.map(|record| record.unwrap_or_else(|error| panic!("{error}: {line}"))).collect(),
        )
    })
}

/// A resolver with records, and a server whose modules ask it.
struct Resolver {
    server: Server,
    _site: Site,
    _folder: Folder,
}

impl Resolver {
    /// The records are by type and name, such as `TXT example.org`.
    fn start(records: BTreeMap<String, Vec<String>>) -> Self {
        let site = Site::start(move |stream, request| {
            let url = url::Url::parse(&format!("http://a{}", request.path())).unwrap();
            let of = |name: &str| url.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
            let (name, kind) = (of("name"), of("type"));
            let number = if kind == "MX" { 15 } else { 16 };
            let data = records.get(&format!("{kind} {name}"));
            let list = data.into_iter().flatten();
            let list = list.map(|data| json!({"name": name, "type": number, "TTL": 300, "data": data}));
            let status = if data.is_some() { 0 } else { 3 };
            let body = json!({"Status": status, "Answer": list.collect::<Vec<_>>()});
            let _ = stream.write_all(&ok(&body.to_string()));
        });
        let folder = Folder::new();
        let server = Setup::real().flags(&own_flags(&folder, &modules(&site))).start();
        Self { server, _site: site, _folder: folder }
    }

    /// Returns the verdicts of a search, by kind.
    fn verdicts(
        &self,
        search_type: &str,
        query: &str,
        modules: &[&str],
    ) -> BTreeMap<String, (String, String)> {
        let body = json!({"type": search_type, "query": query, "modules": modules, "wait": true});
        let answer = self.server.post(&body);
        assert_eq!(answer.status, 200, "{answer}");
        let run = answer.json()["run_id"].as_str().unwrap().to_owned();
        let report = self.server.get(&format!("/v1/searches/{run}/export?format=md"));
        let report = String::from_utf8(report.body.clone()).unwrap();
        let rows = report.lines().filter_map(|line| {
            let cells: Vec<&str> = line.strip_prefix("| ")?.split(" | ").collect();
            let is_verdict = ["good", "weak", "missing", "unknown"].contains(cells.get(1)?);
            is_verdict.then(|| (cells[0].to_owned(), (cells[1].to_owned(), cells[2].to_owned())))
        });
        rows.collect()
    }
}

/// Returns the built-in modules that read records about mail, with the site as their resolver.
fn modules(site: &Site) -> Vec<Value> {
    let sites = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/modules/catalog/sites");
    let mut modules = Vec::new();
    for file in ["domain-mail", "domain-dns", "email-domain"] {
        let text = std::fs::read_to_string(sites.join(file).with_extension("json")).unwrap();
        let text = ["https://dns.google", "https://cloudflare-dns.com"]
            .iter()
            .fold(text, |text, host| text.replace(host, &site.url("")));
        let Value::Array(entries) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
        modules.extend(entries.into_iter().map(|mut entry| {
            entry["known"] = json!([]);
            entry
        }));
    }
    modules
}

fn texts(records: &[String], domain: &str) -> Vec<String> {
    records
        .iter()
        .map(|record| record.replace('@', if record.contains("v=spf1") { domain } else { "@" }))
        .collect()
}

#[test]
fn verdicts_on_records_follow_their_standards() {
    let mut records = BTreeMap::new();
    let rows: Vec<_> = sets().zip(0..).map(|(row, n)| (row, format!("row{n}.org"))).collect();
    for ((kind, _, set), domain) in &rows {
        let (_, prefix, _) = KINDS.iter().find(|(name, ..)| name == kind).unwrap();
        let record_type = if *kind == "MX" { "MX" } else { "TXT" };
        if !set.is_empty() {
            records.insert(format!("{record_type} {prefix}{domain}"), texts(set, domain));
        }
    }
    let resolver = Resolver::start(records);
    let mut wrong = Vec::new();
    for ((kind, grade, set), domain) in &rows {
        let (.., modules) = KINDS.iter().find(|(name, ..)| name == kind).unwrap();
        let verdicts = resolver.verdicts("domain", domain, modules);
        if verdicts.get(*kind).is_none_or(|(found, _)| found != grade) {
            wrong.push(format!("{kind} {set:?}: {:?}, not {grade}", verdicts.get(*kind)));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn a_sub_domain_has_its_own_policy_or_that_of_its_organization() {
    let records = json!({
        "TXT _dmarc.a.org": ["v=DMARC1; p=reject"],
        "TXT _dmarc.mail.a.org": ["v=DMARC1; p=none"],
        "TXT _dmarc.two.a.org": ["v=DMARC1; p=reject", "v=DMARC1; p=reject; pct=100"],
        "TXT _dmarc.old.a.org": ["v=dmarc1; p=none"],
        "TXT _dmarc.b.org": ["v=DMARC1; p=reject; sp=none"],
        "TXT _dmarc.c.org": ["v=DMARC1; p=none; sp=reject"],
        "TXT _dmarc.d.co.uk": ["v=DMARC1; p=reject"],
        "TXT _dmarc.co.uk": ["v=DMARC1; p=none"],
        "TXT _dmarc.github.io": ["v=DMARC1; p=none"],
        "TXT default._bimi.b.org": ["v=BIMI1; l=https://b.org/l.svg"],
        "TXT default._bimi.c.org": ["v=BIMI1; l=https://c.org/l.svg"],
    });
    let resolver = Resolver::start(serde_json::from_value(records).unwrap());
    for (kind, domain, grade) in [
        ("DMARC", "www.a.org", "good"),
        ("DMARC", "x.y.a.org", "good"),
        ("DMARC", "mail.a.org", "weak"),
        ("DMARC", "x.mail.a.org", "good"),
        ("DMARC", "two.a.org", "weak"),
        ("DMARC", "old.a.org", "good"),
        ("DMARC", "b.org", "good"),
        ("DMARC", "news.b.org", "weak"),
        ("DMARC", "c.org", "weak"),
        ("DMARC", "news.c.org", "good"),
        ("DMARC", "x.d.co.uk", "good"),
        ("DMARC", "e.co.uk", "missing"),
        ("DMARC", "alice.github.io", "missing"),
        ("BIMI", "b.org", "good"),
        ("BIMI", "news.b.org", "weak"),
        ("BIMI", "c.org", "weak"),
        ("BIMI", "news.c.org", "good"),
    ] {
        let verdicts = resolver.verdicts("domain", domain, &["dns_dmarc", "dns_bimi"]);
        assert_eq!(verdicts[kind].0, grade, "{kind} {domain}: {verdicts:?}");
    }
    for (address, grade) in [("x@mail.a.org", "weak"), ("x@news.b.org", "weak"), ("x@news.c.org", "good")] {
        let verdicts = resolver.verdicts("email", address, &["mail_domain_dmarc"]);
        assert_eq!(verdicts["DMARC"].0, grade, "{address}: {verdicts:?}");
    }
}
