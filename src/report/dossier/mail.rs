//! Verdicts on the mail security of a domain: SPF (RFC 7208), DKIM (RFC 6376), DMARC (RFC 7489) and MTA-STS (RFC 8461).
//!
//! A record is missing only if its module came to that conclusion. DKIM is never missing: only the selectors of large
//! providers can be asked, and a domain may use any other.

use serde_json::Value;

use crate::base::words::words;
use crate::modules::outcome::Outcome;
use crate::modules::reason::Reason;
use crate::runs::entity::merge;
use crate::runs::record::RunRecord;
use crate::runs::run::ResultRecord;

/// The modules that read each kind of record, for domains and for email addresses.
const SPF: &[&str] = &["dns_spf", "mail_domain_spf"];
const DKIM: &[&str] = &["dkim_google", "dkim_microsoft"];
const DMARC: &[&str] = &["dns_dmarc", "mail_domain_dmarc"];
const MTA_STS: &[&str] = &["dns_mta_sts", "mta_sts_policy"];

words! {
    /// How well a domain is protected by a kind of record.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Grade {
        /// The record protects.
        Good = "good",
        /// There is a record, and it protects little.
        Weak = "weak",
        /// There is none.
        Missing = "missing",
        /// Nothing is known.
        Unknown = "unknown",
    }
}

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

/// Returns the verdicts on all kinds. There are none if the run asked no module about mail records.
pub(super) fn verdicts(run: &RunRecord) -> Vec<Verdict> {
    let is_asked = |modules: &[&str]| run.modules.iter().any(|it| modules.contains(&it.module.as_str()));
    if ![SPF, DKIM, DMARC, MTA_STS].into_iter().any(is_asked) {
        return Vec::new();
    }
    let evidence = Evidence { run };
    vec![evidence.spf(), evidence.dkim(), evidence.dmarc(), evidence.mta_sts()]
}

struct Evidence<'r> {
    run: &'r RunRecord,
}

impl<'r> Evidence<'r> {
    fn spf(&self) -> Verdict {
        let Some(found) = self.found(SPF, "dns_record") else { return self.without("SPF", SPF) };
        let (grade, reason) = match member(found, "policy").as_deref() {
            Some("fail" | "-all") => (Grade::Good, "servers that are not named are refused"),
            Some("softfail" | "~all") => {
                (Grade::Weak, "mail of servers that are not named is marked, not refused")
            }
            Some("neutral" | "?all") => (Grade::Weak, "says nothing about servers that are not named"),
            Some("pass" | "+all") => (Grade::Weak, "allows every server to send"),
            _ => (Grade::Weak, "has no rule for servers that are not named"),
        };
        verdict("SPF", grade, reason, found)
    }

    fn dkim(&self) -> Verdict {
        let found = DKIM.iter().find_map(|module| self.found(&[module], "technology"));
        if let Some(found) = found {
            let provider = found.value.as_deref().unwrap_or("a provider");
            return verdict("DKIM", Grade::Good, &format!("a key of {provider} is published"), found);
        }
        let mut verdict = self.without("DKIM", DKIM);
        if verdict.grade == Grade::Missing {
            verdict.grade = Grade::Unknown;
            verdict.reason =
                "no key under the names of Google and Microsoft 365; other names cannot be listed".into();
        }
        verdict
    }

    fn dmarc(&self) -> Verdict {
        let Some(found) = self.found(DMARC, "dns_record") else { return self.without("DMARC", DMARC) };
        let share = found.metadata.get("percent").and_then(Value::as_u64).filter(|share| *share < 100);
        let (grade, reason) = match (member(found, "policy").as_deref(), share) {
            (Some("reject"), None) => (Grade::Good, "mail that fails the checks is refused".to_owned()),
            (Some("quarantine"), None) => {
                (Grade::Good, "mail that fails the checks goes to the spam folder".to_owned())
            }
            (Some("reject" | "quarantine"), Some(share)) => {
                (Grade::Weak, format!("applies to {share}% of the mail that fails the checks"))
            }
            (Some("none"), _) => (Grade::Weak, "only asks for reports".to_owned()),
            _ => (Grade::Weak, "has no valid policy".to_owned()),
        };
        verdict("DMARC", grade, &reason, found)
    }

    fn mta_sts(&self) -> Verdict {
        let name = "MTA-STS";
        if let Some(policy) = self.found(&MTA_STS[1..], "url") {
            return match member(policy, "mode").as_deref() {
                Some("enforce") => {
                    verdict(name, Grade::Good, "other servers must deliver over valid TLS", policy)
                }
                Some("testing") => {
                    verdict(name, Grade::Weak, "the policy is in testing: nothing is refused", policy)
                }
                _ => verdict(name, Grade::Weak, "the policy is switched off", policy),
            };
        }
        match self.found(&MTA_STS[..1], "dns_record") {
            Some(record) => verdict(name, Grade::Unknown, "announced, but its policy was not read", record),
            None => self.without(name, &MTA_STS[..1]),
        }
    }

    /// Returns the first result of that type from one of these modules.
    fn found(&self, modules: &[&str], kind: &str) -> Option<&'r ResultRecord> {
        let is_from = |result: &ResultRecord| {
            merge::modules(result).iter().any(|module| modules.contains(&module.as_str()))
        };
        self.run.results.iter().find(|result| result.result_type == kind && is_from(result))
    }

    /// Returns the verdict where no record was found.
    fn without(&self, name: &'static str, modules: &[&str]) -> Verdict {
        let asked: Vec<_> =
            self.run.modules.iter().filter(|it| modules.contains(&it.module.as_str())).collect();
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

fn member(result: &ResultRecord, name: &str) -> Option<String> {
    Some(result.metadata.get(name)?.as_str()?.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::csv::tests::run;
    use crate::runs::run::ModuleReport;
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
                result["confidence"] = json!(0.9);
                result["created_at"] = json!("2026-01-01T00:00:00.000Z");
                record.results.push(serde_json::from_value(result).unwrap());
            }
        }
        record
    }

    fn record(metadata: &Value) -> Value {
        json!({"type": "dns_record", "value": "v=…", "metadata": metadata})
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
    fn records_are_graded_by_their_policy() {
        let spf =
            |policy: &str| grade("SPF", &[("dns_spf", Outcome::Hit, record(&json!({"policy": policy})))]).0;
        assert_eq!(
            ["fail", "-all", "~all", "+all"].map(spf),
            [Grade::Good, Grade::Good, Grade::Weak, Grade::Weak]
        );
        let dmarc =
            |metadata: &Value| grade("DMARC", &[("mail_domain_dmarc", Outcome::Hit, record(metadata))]);
        assert_eq!(dmarc(&json!({"policy": "reject", "percent": 100})).0, Grade::Good);
        assert_eq!(
            dmarc(&json!({"policy": "quarantine", "percent": 20})).1,
            "applies to 20% of the mail that fails the checks"
        );
        assert_eq!(dmarc(&json!({"policy": "none"})).0, Grade::Weak);
        assert_eq!(dmarc(&json!({})).1, "has no valid policy");
        let policy = |mode: &str| {
            let policy =
                json!({"type": "url", "value": "https://mta-sts.a.example/", "metadata": {"mode": mode}});
            let announced = ("dns_mta_sts", Outcome::Hit, record(&json!({})));
            grade("MTA-STS", &[announced, ("mta_sts_policy", Outcome::Hit, policy)]).0
        };
        assert_eq!(["enforce", "testing", "none"].map(policy), [Grade::Good, Grade::Weak, Grade::Weak]);
        assert_eq!(grade("MTA-STS", &[("dns_mta_sts", Outcome::Hit, record(&json!({})))]).0, Grade::Unknown);
    }
}
