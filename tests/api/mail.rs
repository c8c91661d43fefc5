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

/// Sets of records of a domain, each with the verdict on it. `@` is the domain.
const RECORDS: &[(&str, &str, &[&str])] = &[
    ("SPF", "good", &["v=spf1 -all"]),
    ("SPF", "good", &["V=SPF1 -ALL"]),
    ("SPF", "good", &["v=spf1   ip4:192.0.2.0/24 ip6:2001:db8::/32 a mx ptr  -all "]),
    ("SPF", "good", &["v=spf1 a:mail.example.org/24//64 mx//64 ?exists:%{ir}.%{v}._spf.%{d2} -all"]),
    ("SPF", "good", &["\"v=spf1 ip4:192.0.2.1 -a\" \"ll\""]),
    ("SPF", "good", &["\"v=sp\" \"f1 -all\""]),
    ("SPF", "good", &["v=spf1 -all redirect=_spf.example.org"]),
    ("SPF", "good", &["v=spf1 -all +all"]),
    ("SPF", "good", &["v=spf1 x-y_z.1=%%a include=example.org exp=why.%{d} -all"]),
    ("SPF", "good", &["v=spf1 -all", "v=spf10 +all", "google-site-verification=1"]),
    ("SPF", "good", &["v=spf1 a mx ptr a:a.org a:b.org a:c.org a:d.org a:e.org a:f.org a:g.org -all"]),
    (
        "SPF",
        "weak",
        &["v=spf1 a mx ptr a:a.org a:b.org a:c.org a:d.org a:e.org a:f.org a:g.org a:h.org -all"],
    ),
    ("SPF", "weak", &["v=spf1 -all", "v=spf1 ~all"]),
    ("SPF", "weak", &["v=spf1 ~all"]),
    ("SPF", "weak", &["v=spf1 ?all"]),
    ("SPF", "weak", &["v=spf1 +all"]),
    ("SPF", "weak", &["v=spf1 a all"]),
    ("SPF", "weak", &["v=spf1 +all -all"]),
    ("SPF", "weak", &["v=spf1"]),
    ("SPF", "weak", &["v=spf1 mx"]),
    ("SPF", "weak", &["v=spf1 ip4:0.0.0.0/0 -all"]),
    ("SPF", "weak", &["v=spf1 ip6:::/0 -all"]),
    ("SPF", "weak", &["v=spf1 mx//0 -all"]),
    ("SPF", "weak", &["v=spf1 ipv4:192.0.2.1 -all"]),
    ("SPF", "weak", &["v=spf1 ip4:192.0.2.256 -all"]),
    ("SPF", "weak", &["v=spf1 ip4:192.0.2.0/33 -all"]),
    ("SPF", "weak", &["v=spf1 include -all"]),
    ("SPF", "weak", &["v=spf1 include: -all"]),
    ("SPF", "weak", &["v=spf1 include:localhost -all"]),
    ("SPF", "weak", &["v=spf1 include:%{x}.example.org -all"]),
    ("SPF", "weak", &["v=spf1 include:@ -all"]),
    ("SPF", "weak", &["v=spf1 redirect=@"]),
    ("SPF", "weak", &["v=spf1 redirect=a.org redirect=b.org"]),
    ("SPF", "weak", &["v=spf1 -all:example.org"]),
    ("SPF", "weak", &["v=spf1 -all;"]),
    ("SPF", "weak", &["v=spf1 - all"]),
    ("SPF", "unknown", &["v=spf1 redirect=_spf.example.org"]),
    ("SPF", "missing", &["v=spf10 -all"]),
    ("SPF", "missing", &[" v=spf1 -all"]),
    ("SPF", "missing", &["v=spf1;-all"]),
    ("SPF", "missing", &["v=spf1\t-all"]),
    ("SPF", "missing", &["\"v=spf1\" \"-all\""]),
    ("SPF", "missing", &["spf2.0/pra -all"]),
    ("SPF", "missing", &["no v=spf1 -all"]),
    ("DMARC", "good", &["v=DMARC1; p=reject"]),
    ("DMARC", "good", &["v=DMARC1;p=quarantine;"]),
    ("DMARC", "good", &["v = DMARC1 ; p = Reject ; pct = 100"]),
    ("DMARC", "good", &["\"v=DMARC1; p=rej\" \"ect\""]),
    ("DMARC", "good", &["v=DMARC1; p=reject; pct=all; x=1; nonsense"]),
    ("DMARC", "good", &["v=DMARC1; p=reject; sp=none", "something else"]),
    ("DMARC", "weak", &["v=DMARC1; p=reject", "v=DMARC1; p=none"]),
    ("DMARC", "weak", &["v=DMARC1; p=none; sp=reject"]),
    ("DMARC", "weak", &["v=DMARC1; p=reject; pct=0"]),
    ("DMARC", "weak", &["v=DMARC1; p=reject; pct=50"]),
    ("DMARC", "weak", &["v=DMARC1; p=reject; t=y"]),
    ("DMARC", "weak", &["v=DMARC1;"]),
    ("DMARC", "missing", &["v=DMARC1"]),
    ("DMARC", "weak", &["v=DMARC1; rua=mailto:a@example.org"]),
    ("DMARC", "weak", &["v=DMARC1; p=rejected"]),
    ("DMARC", "weak", &["v=DMARC1; p="]),
    ("DMARC", "weak", &["v=DMARC1; rua=mailto:a@example.org; p=reject"]),
    ("DMARC", "weak", &["v=DMARC1; p=reject; p=none"]),
    ("DMARC", "weak", &["v=DMARC1; p=reject; sp=bad; rua=mailto:a@example.org"]),
    ("DMARC", "missing", &["v=DMARC10; p=reject"]),
    ("DMARC", "missing", &["v=dmarc1; p=reject"]),
    ("DMARC", "missing", &["p=reject; v=DMARC1"]),
    ("DMARC", "missing", &["v=DMARC1 p=reject"]),
    ("DMARC", "missing", &["v=spf1 -all"]),
    ("DKIM", "good", &["v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCB"]),
    ("DKIM", "weak", &["v=DKIM1; t=y:s; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCB"]),
    ("DKIM", "unknown", &["v=DKIM1; k=rsa; p="]),
    ("MTA-STS", "unknown", &["v=STSv1; id=20260101000000Z;"]),
    ("MTA-STS", "unknown", &["v=STSv1;id=1; x=y"]),
    ("MTA-STS", "weak", &["v=STSv1; id=1", "v=STSv1; id=2"]),
    ("MTA-STS", "weak", &["v=STSv1; id="]),
    ("MTA-STS", "weak", &["v=STSv1;"]),
    ("MTA-STS", "weak", &["v=STSv1; id=2026-01-01"]),
    ("MTA-STS", "weak", &["v=STSv1; id=1; id=2"]),
    ("MTA-STS", "weak", &["v=STSv1; id=1; nonsense"]),
    ("MTA-STS", "missing", &["v=stsv1; id=1"]),
    ("MTA-STS", "missing", &["v=STSv10; id=1"]),
    ("MTA-STS", "missing", &["id=1; v=STSv1"]),
    ("TLS-RPT", "good", &["v=TLSRPTv1; rua=mailto:a@example.org"]),
    ("TLS-RPT", "good", &["v=TLSRPTv1;rua=https://r.example.org/t , mailto:a@example.org;"]),
    ("TLS-RPT", "weak", &["v=TLSRPTv1; rua=mailto:a@example.org", "v=TLSRPTv1; rua=mailto:b@example.org"]),
    ("TLS-RPT", "weak", &["v=TLSRPTv1;"]),
    ("TLS-RPT", "weak", &["v=TLSRPTv1; rua="]),
    ("TLS-RPT", "weak", &["v=TLSRPTv1; rua=http://r.example.org/"]),
    ("TLS-RPT", "weak", &["v=TLSRPTv1; rua=a@example.org"]),
    ("TLS-RPT", "missing", &["v=tlsrptv1; rua=mailto:a@example.org"]),
    ("TLS-RPT", "missing", &["v=TLSRPTv1 rua=mailto:a@example.org"]),
    ("BIMI", "good", &["v=BIMI1; l=https://example.org/l.svg; a="]),
    ("BIMI", "good", &["v=BIMI1;l=https://example.org/l.svg;a=https://example.org/l.pem"]),
    ("BIMI", "weak", &["v=BIMI1; l=https://example.org/l.svg", "v=BIMI1; l=https://example.org/m.svg"]),
    ("BIMI", "weak", &["v=BIMI1; l=; a="]),
    ("BIMI", "weak", &["v=BIMI1; l=http://example.org/l.svg"]),
    ("BIMI", "weak", &["v=BIMI1; a=https://example.org/l.pem"]),
    ("BIMI", "missing", &["v=bimi1; l=https://example.org/l.svg"]),
    ("MX", "good", &["10 mx.example.org."]),
    ("MX", "good", &["0 ."]),
    ("MX", "weak", &["0 .", "10 mx.example.org."]),
    ("MX", "weak", &["10 ."]),
    ("MX", "missing", &[]),
];

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

fn texts(records: &[&str], domain: &str) -> Vec<String> {
    records
        .iter()
        .map(|record| record.replace('@', if record.contains("v=spf1") { domain } else { "@" }))
        .collect()
}

#[test]
fn verdicts_on_records_follow_their_standards() {
    let mut records = BTreeMap::new();
    let rows: Vec<_> = RECORDS.iter().zip(0..).map(|(row, n)| (row, format!("row{n}.org"))).collect();
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
