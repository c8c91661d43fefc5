//! Verdicts on the mail security of a domain, from the results and outcomes of the modules that read its records.
//!
//! A record is missing only if its module came to that conclusion. DKIM (RFC 6376) is never missing: only the selectors
//! of large providers can be asked, and a domain may use any other.

use serde_json::Value;

use super::mail_records::{self as records, Grade, Judgement};
use crate::model::entity::merge;
use crate::model::run::ResultRecord;
use crate::modules::outcome::Outcome;
use crate::modules::query::Query;
use crate::modules::reason::Reason;
use crate::runs::record::RunRecord;

/// The modules that read each kind of record, for domains and for email addresses.
const SPF: &[&str] = &["dns_spf", "mail_domain_spf"];
const DKIM: &[&str] = &["dkim_google", "dkim_microsoft"];
const DMARC: &[&str] = &["dns_dmarc", "mail_domain_dmarc"];
const MTA_STS: &[&str] = &["dns_mta_sts"];
const MTA_STS_POLICY: &[&str] = &["mta_sts_policy"];
const TLS_RPT: &[&str] = &["dns_tls_rpt"];
const BIMI: &[&str] = &["dns_bimi"];
const MX: &[&str] = &["dns_mx"];
/// The length at which the text of a result is cut.
const MOST_CHARS: usize = 2_000;

/// The verdict on a kind of record.
#[derive(Debug, PartialEq)]
pub struct Verdict {
    /// The name of the kind.
    pub name: &'static str,
    /// The grade.
    pub grade: Grade,
    /// The reason in one sentence.
    pub reason: String,
    /// The record, if any.
    pub record: Option<String>,
    /// The result that has the record.
    pub result: Option<u32>,
}

/// Returns the verdicts on all kinds. There are none if the run asked no module about mail records, and those on the
/// rarer kinds only if it asked a module about them.
pub(super) fn verdicts(run: &RunRecord) -> Vec<Verdict> {
    let query = Query::parse(run.summary.search_type, &run.summary.query).ok();
    let domain = query.as_ref().and_then(Query::domain).unwrap_or_default();
    let spf = judged(run, "SPF", SPF, |record, _| records::spf(record, domain));
    let dmarc = judged(run, "DMARC", DMARC, |record, found| {
        let parent = found.metadata.get("inherited_from").and_then(Value::as_str);
        records::dmarc(record, parent.is_some_and(|parent| parent != domain))
    });
    let bimi = judged(run, "BIMI", BIMI, |record, _| records::bimi(record, dmarc.grade));
    let tls = judged(run, "TLS-RPT", TLS_RPT, |record, _| records::tls_reports(record));
    let is_asked = |modules: &[&str]| run.modules.iter().any(|it| modules.contains(&it.module.as_str()));
    let has_common = [SPF, DKIM, DMARC, MTA_STS, MTA_STS_POLICY].into_iter().any(is_asked);
    let common = [spf, dkim(run), dmarc, mta_sts(run)].into_iter().filter(|_| has_common);
    let rare = [(TLS_RPT, tls), (BIMI, bimi), (MX, exchangers(run))].into_iter();
    common.chain(rare.filter(|(modules, _)| is_asked(modules)).map(|(_, verdict)| verdict)).collect()
}

fn dkim(run: &RunRecord) -> Verdict {
    if let Some(key) = DKIM.iter().find_map(|module| found(run, &[module], "technology").next()) {
        let provider = key.value.as_deref().unwrap_or("a provider");
        let flags = key.metadata.get("flags").and_then(Value::as_str).unwrap_or_default();
        return match flags.split(':').any(|flag| flag.eq_ignore_ascii_case("y")) {
            true => verdict("DKIM", Grade::Weak, format!("the key of {provider} is in testing"), key),
            false => verdict("DKIM", Grade::Good, format!("a key of {provider} is published"), key),
        };
    }
    let verdict = without(run, "DKIM", DKIM);
    if verdict.grade != Grade::Missing {
        return verdict;
    }
    let reason = "no key under the names of Google and Microsoft 365; other names cannot be listed".into();
    Verdict { grade: Grade::Unknown, reason, ..verdict }
}

fn mta_sts(run: &RunRecord) -> Verdict {
    let name = "MTA-STS";
    let policy = found(run, MTA_STS_POLICY, "url").next();
    let has_no_policy = || without(run, name, MTA_STS_POLICY).grade == Grade::Missing;
    let announced = judged(run, name, MTA_STS, |record, _| records::mta_sts(record));
    match (announced.grade, policy) {
        (Grade::Unknown, Some(policy)) if announced.record.is_some() => {
            let text = policy.metadata.get("policy").and_then(Value::as_str).unwrap_or_default();
            let (grade, reason) = records::mta_sts_policy(text);
            verdict(name, grade, reason, policy)
        }
        (Grade::Unknown, None) if announced.record.is_some() && has_no_policy() => {
            let reason = "announced, but there is no policy".into();
            Verdict { grade: Grade::Weak, reason, ..announced }
        }
        (Grade::Missing, Some(policy)) => {
            verdict(name, Grade::Weak, "there is a policy, but no record announces it".into(), policy)
        }
        _ => announced,
    }
}

fn exchangers(run: &RunRecord) -> Verdict {
    let all: Vec<_> = found(run, MX, "dns_record").collect();
    let Some(first) = all.first() else { return without(run, "MX", MX) };
    let (grade, reason) =
        records::exchangers(&all.iter().filter_map(|it| it.value.as_deref()).collect::<Vec<_>>());
    verdict("MX", grade, reason, first)
}

/// Returns the verdict on a kind of which there may be one record.
fn judged(
    run: &RunRecord,
    name: &'static str,
    modules: &[&str],
    judge: impl Fn(&str, &ResultRecord) -> Judgement,
) -> Verdict {
    let Some(found) = found(run, modules, "dns_record").next() else { return without(run, name, modules) };
    let value = found.value.as_deref().unwrap_or_default();
    let all = found.metadata.get("records").and_then(Value::as_array).map_or(1, Vec::len);
    let (grade, reason) = match all {
        1 if value.chars().count() >= MOST_CHARS => {
            (Grade::Unknown, "the record is too long to be read".to_owned())
        }
        1 => judge(value, found),
        _ => (Grade::Weak, format!("there are {all} records, so none counts: only one may exist")),
    };
    verdict(name, grade, reason, found)
}

/// Returns the results of that type from these modules.
fn found<'r>(run: &'r RunRecord, modules: &[&str], kind: &str) -> impl Iterator<Item = &'r ResultRecord> {
    let is_of = |it: &ResultRecord| merge::modules(it).iter().any(|id| modules.contains(&id.as_str()));
    run.results.iter().filter(move |it| it.result_type == kind && is_of(it))
}

/// Returns the verdict where no record was found.
fn without(run: &RunRecord, name: &'static str, modules: &[&str]) -> Verdict {
    let mut asked = run.modules.iter().filter(|it| modules.contains(&it.module.as_str())).peekable();
    let is_asked = asked.peek().is_some();
    let (grade, reason) = match asked.find(|module| module.status != Outcome::Miss) {
        None if !is_asked => (Grade::Unknown, "not asked by this search".to_owned()),
        None => (Grade::Missing, "there is no record".to_owned()),
        Some(module) => {
            let why = module.reason.map_or_else(|| module.status.as_str().into(), Reason::as_phrase);
            (Grade::Unknown, format!("no answer: {why}"))
        }
    };
    Verdict { name, grade, reason, record: None, result: None }
}

fn verdict(name: &'static str, grade: Grade, reason: String, result: &ResultRecord) -> Verdict {
    let record = result.value.clone().filter(|_| result.result_type != "technology");
    Verdict { name, grade, reason, record, result: Some(result.id) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::entity::tests::record;
    use crate::model::run::ModuleReport;
    use crate::report::csv::tests::run;
    use serde_json::json;

    /// Returns a run in which modules ended so, each with its result.
    fn asked(modules: &[(&str, Outcome, Value)]) -> RunRecord {
        let mut run = run(Vec::new());
        run.modules.clear();
        for (id, (module, status, result)) in (1..).zip(modules) {
            let report = json!({
                "module": module, "platform": module, "status": status, "reason": null, "http_status": 200, "elapsed_ms": 1,
            });
            run.modules.push(serde_json::from_value::<ModuleReport>(report).unwrap());
            if let (Outcome::Hit, Some(kind)) = (status, result["type"].as_str()) {
                let result = record(id, kind, result["value"].as_str().unwrap(), &result["metadata"]);
                run.results.push(ResultRecord { source: (*module).to_owned(), ..result });
            }
        }
        run
    }

    fn grade(name: &str, modules: &[(&str, Outcome, Value)]) -> (Grade, String) {
        let verdict = verdicts(&asked(modules)).into_iter().find(|verdict| verdict.name == name).unwrap();
        (verdict.grade, verdict.reason)
    }

    #[test]
    fn a_record_is_missing_only_if_its_module_found_that_out() {
        let outcome = |outcome| grade("SPF", &[("dns_spf", outcome, Value::Null)]);
        assert_eq!(outcome(Outcome::Miss).0, Grade::Missing);
        assert_eq!(outcome(Outcome::Timeout).0, Grade::Unknown);
        assert_eq!(grade("DMARC", &[("dns_spf", Outcome::Miss, Value::Null)]).1, "not asked by this search");
        let dkim = |google, microsoft| {
            grade("DKIM", &[("dkim_google", google, Value::Null), ("dkim_microsoft", microsoft, Value::Null)])
        };
        assert_eq!(dkim(Outcome::Miss, Outcome::Miss).0, Grade::Unknown, "other selectors cannot be asked");
        assert_eq!(verdicts(&asked(&[("whois", Outcome::Miss, Value::Null)])), []);
    }

    #[test]
    fn a_policy_counts_only_together_with_its_announcement() {
        let record = (
            "dns_mta_sts",
            Outcome::Hit,
            json!({"type": "dns_record", "value": "v=STSv1; id=1", "metadata": {}}),
        );
        let none = ("dns_mta_sts", Outcome::Miss, Value::Null);
        let policy = |mode: &str| {
            let text = format!("version: STSv1\nmode: {mode}\nmx: *.a.example\nmax_age: 86400");
            let result =
                json!({"type": "url", "value": "https://mta-sts.a.example/", "metadata": {"policy": text}});
            ("mta_sts_policy", Outcome::Hit, result)
        };
        let no_policy = |outcome| ("mta_sts_policy", outcome, Value::Null);
        for (wanted, modules) in [
            (Grade::Good, [record.clone(), policy("enforce")]),
            (Grade::Weak, [record.clone(), policy("testing")]),
            (Grade::Weak, [record.clone(), policy("none")]),
            (Grade::Weak, [record.clone(), policy("Enforce")]),
            (Grade::Weak, [record.clone(), policy("enforce\nmax_age: x")]),
            (Grade::Weak, [none.clone(), policy("enforce")]),
            (Grade::Weak, [record.clone(), no_policy(Outcome::Miss)]),
            (Grade::Unknown, [record.clone(), no_policy(Outcome::Timeout)]),
            (Grade::Missing, [none, no_policy(Outcome::Miss)]),
        ] {
            assert_eq!(grade("MTA-STS", &modules).0, wanted, "{modules:?}");
        }
    }
}
