//! Verdicts on the mail security of a domain, from the results and outcomes of the modules that read its records.
//!
//! A record is missing only if its module came to that conclusion. DKIM (RFC 6376) is never missing: only the selectors
//! of large providers can be asked, and a domain may use any other.

use serde_json::Value;

use super::mail_records::{self as records, Grade, Judgement};
use crate::model::entity::merge;
use crate::model::run::{ModuleReport, ResultRecord};
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
    /// The record, if there is one.
    pub record: Option<String>,
    /// The result that has the record.
    pub result: Option<u32>,
}

/// Returns the verdicts on all kinds. There are none if the run asked no module about mail records, and those on the
/// rarer kinds only if it asked a module about them.
pub(super) fn verdicts(run: &RunRecord) -> Vec<Verdict> {
    let query = Query::parse(run.summary.search_type, &run.summary.query).ok();
    let domain = query.as_ref().and_then(Query::domain).unwrap_or_default();
    let evidence = Evidence { run };
    let is_asked = |modules: &[&str]| !evidence.asked(modules).is_empty();
    let dmarc = evidence.judged("DMARC", DMARC, |record, found| {
        let parent = found.metadata.get("inherited_from").and_then(Value::as_str);
        records::dmarc(record, parent.is_some_and(|parent| parent != domain))
    });
    let bimi = evidence.judged("BIMI", BIMI, |record, _| records::bimi(record, dmarc.grade));
    let tls = evidence.judged("TLS-RPT", TLS_RPT, |record, _| records::tls_reports(record));
    let rare = [(TLS_RPT, tls), (BIMI, bimi), (MX, evidence.exchangers())];
    let rare = rare.into_iter().filter(|(modules, _)| is_asked(modules)).map(|(_, verdict)| verdict);
    let spf = evidence.judged("SPF", SPF, |record, _| records::spf(record, domain));
    let common = [spf, evidence.dkim(), dmarc, evidence.mta_sts()];
    let has_common = [SPF, DKIM, DMARC, MTA_STS, MTA_STS_POLICY].into_iter().any(is_asked);
    common.into_iter().filter(|_| has_common).chain(rare).collect()
}

struct Evidence<'r> {
    run: &'r RunRecord,
}

impl<'r> Evidence<'r> {
    fn dkim(&self) -> Verdict {
        let found = DKIM.iter().find_map(|module| self.found(&[module], "technology"));
        if let Some(found) = found {
            let provider = found.value.as_deref().unwrap_or("a provider");
            let flags = found.metadata.get("flags").and_then(Value::as_str).unwrap_or_default();
            return match flags.split(':').any(|flag| flag.eq_ignore_ascii_case("y")) {
                true => verdict("DKIM", Grade::Weak, &format!("the key of {provider} is in testing"), found),
                false => verdict("DKIM", Grade::Good, &format!("a key of {provider} is published"), found),
            };
        }
        let mut verdict = self.without("DKIM", DKIM);
        if verdict.grade == Grade::Missing {
            verdict.grade = Grade::Unknown;
            verdict.reason =
                "no key under the names of Google and Microsoft 365; other names cannot be listed".into();
        }
        verdict
    }

    fn mta_sts(&self) -> Verdict {
        let name = "MTA-STS";
        let policy = self.found(MTA_STS_POLICY, "url");
        let has_no_policy = || self.without(name, MTA_STS_POLICY).grade == Grade::Missing;
        let announced = self.judged(name, MTA_STS, |record, _| records::mta_sts(record));
        match (announced.grade, policy) {
            (Grade::Unknown, Some(policy)) if announced.record.is_some() => {
                let text = policy.metadata.get("policy").and_then(Value::as_str).unwrap_or_default();
                let (grade, reason) = records::mta_sts_policy(text);
                verdict(name, grade, &reason, policy)
            }
            (Grade::Unknown, None) if announced.record.is_some() && has_no_policy() => {
                let reason = "announced, but there is no policy".into();
                Verdict { grade: Grade::Weak, reason, ..announced }
            }
            (Grade::Missing, Some(policy)) => {
                verdict(name, Grade::Weak, "there is a policy, but no record announces it", policy)
            }
            _ => announced,
        }
    }

    fn exchangers(&self) -> Verdict {
        let Some(first) = self.found(MX, "dns_record") else { return self.without("MX", MX) };
        let all = self.run.results.iter().filter(|result| is_from(result, MX, "dns_record"));
        let (grade, reason) =
            records::exchangers(&all.filter_map(|it| it.value.as_deref()).collect::<Vec<_>>());
        verdict("MX", grade, &reason, first)
    }

    /// Returns the verdict on a kind of which there may be one record.
    fn judged(
        &self,
        name: &'static str,
        modules: &[&str],
        judge: impl Fn(&str, &ResultRecord) -> Judgement,
    ) -> Verdict {
        let Some(found) = self.found(modules, "dns_record") else { return self.without(name, modules) };
        let value = found.value.as_deref().unwrap_or_default();
        let all = found.metadata.get("records").and_then(Value::as_array).map_or(1, Vec::len);
        let (grade, reason) = match all {
            1 if value.chars().count() >= MOST_CHARS => {
                (Grade::Unknown, "the record is too long to be read".to_owned())
            }
            1 => judge(value, found),
            _ => (Grade::Weak, format!("there are {all} records, so none counts: only one is allowed")),
        };
        verdict(name, grade, &reason, found)
    }

    /// Returns the first result of that type from one of these modules.
    fn found(&self, modules: &[&str], kind: &str) -> Option<&'r ResultRecord> {
        self.run.results.iter().find(|result| is_from(result, modules, kind))
    }

    /// Returns the reports of these modules.
    fn asked(&self, modules: &[&str]) -> Vec<&'r ModuleReport> {
        self.run.modules.iter().filter(|it| modules.contains(&it.module.as_str())).collect()
    }

    /// Returns the verdict where no record was found.
    fn without(&self, name: &'static str, modules: &[&str]) -> Verdict {
        let asked = self.asked(modules);
        let open = asked.iter().find(|module| module.status != Outcome::Miss);
        let (grade, reason) = match open {
            None if asked.is_empty() => (Grade::Unknown, "not asked by this search".to_owned()),
            None => (Grade::Missing, "there is no record".to_owned()),
            Some(module) => {
                let why = module.reason.map_or_else(|| module.status.as_str().into(), Reason::as_phrase);
                (Grade::Unknown, format!("no answer: {why}"))
            }
        };
        Verdict { name, grade, reason, record: None, result: None }
    }
}

fn verdict(name: &'static str, grade: Grade, reason: &str, result: &ResultRecord) -> Verdict {
    let record = result.value.clone().filter(|_| result.result_type != "technology");
    Verdict { name, grade, reason: reason.to_owned(), record, result: Some(result.id) }
}

/// Returns whether a result is of that type and from one of these modules.
fn is_from(result: &ResultRecord, modules: &[&str], kind: &str) -> bool {
    let is_of = || merge::modules(result).iter().any(|module| modules.contains(&module.as_str()));
    result.result_type == kind && is_of()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::csv::tests::run;
    use serde_json::json;

    /// Returns a run in which modules ended so, each with its result.
    fn asked(modules: &[(&str, Outcome, Value)]) -> RunRecord {
        let mut record = run(Vec::new());
        record.modules.clear();
        for (id, (module, status, result)) in (1..).zip(modules) {
            let report = json!({
                "module": module, "platform": module, "status": status, "reason": null, "http_status": 200, "elapsed_ms": 1,
            });
            record.modules.push(serde_json::from_value::<ModuleReport>(report).unwrap());
            if *status == Outcome::Hit {
                let mut result = result.clone();
                result["id"] = json!(id);
                result["source"] = json!(module);
                for (name, value) in [("entity_type", &result["type"].clone()), ("platform", &Value::Null)] {
                    result[name] = value.clone();
                }
                if result["metadata"].is_null() {
                    result["metadata"] = json!({});
                }
                result["confidence"] = json!(0.9);
                result["created_at"] = json!("2026-01-01T00:00:00.000Z");
                record.results.push(serde_json::from_value(result).unwrap());
            }
        }
        record
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
        let record = ("dns_mta_sts", Outcome::Hit, json!({"type": "dns_record", "value": "v=STSv1; id=1"}));
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
