//! The reasons of outcomes: one word for each.

use serde::{Deserialize, Serialize};

use crate::base::words::words;

words! {
    /// The reason of an outcome, where the outcome alone does not explain the end of a check.
    ///
    /// The words are part of the API and of stored runs. New words may be added, but existing ones never change.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Reason {
        /// The module is disabled.
        Disabled = "disabled",
        /// The module accepts another kind of query.
        WrongType = "wrong_type",
        /// The query cannot be a name on this site.
        NotAccepted = "not_accepted",
        /// The module accepts only ASCII.
        Script = "script",
        /// The module does not check addresses of this domain.
        OtherDomain = "other_domain",
        /// A key of the operator is missing.
        NeedsKey = "needs_key",
        /// The module's checks for one day are used up.
        DailyLimit = "daily_limit",
        /// No browser is available.
        Unavailable = "unavailable",
        /// This machine lacked file descriptors, memory, threads or ports.
        LocalResources = "local_resources",
        /// This machine has no route to any address of the site.
        NoNetwork = "no_network",
        /// No name server answered.
        NoResolver = "no_resolver",
        /// The host asked for a pause with `Retry-After`.
        RetryAfter = "retry_after",
        /// The host was not contacted because it gave no answer to the last checks.
        CircuitOpen = "circuit_open",
        /// The module was not asked because it failed its last control checks.
        Quarantined = "quarantined",
        /// The deadline of the whole run passed.
        RunDeadline = "run_deadline",
        /// The time budget of the search ended.
        TimeBudget = "time_budget",
        /// The owner stopped the search.
        Stopped = "stopped",
        /// The deadline passed that was learned from the earlier answers of the module. The site may have become slower.
        LearntDeadline = "learnt_deadline",
        /// The deadline of the check passed before it ended.
        Deadline = "deadline",
        /// The deadline passed while the host's name was looked up.
        TimeoutResolve = "timeout_resolve",
        /// The deadline passed while the connection was opened.
        TimeoutConnect = "timeout_connect",
        /// The deadline passed before the first byte of the answer.
        TimeoutFirstByte = "timeout_first_byte",
        /// The deadline passed while the body was read.
        TimeoutBody = "timeout_body",
        /// The deadline passed while rules or extractors searched the answer.
        TimeoutRules = "timeout_rules",
        /// The host's name cannot be resolved, or resolves to an address that may not be contacted.
        Dns = "dns",
        /// The connection could not be opened.
        Connect = "connect",
        /// The TLS handshake failed.
        Tls = "tls",
        /// There were too many redirects, or one to something that is not a web address.
        Redirect = "redirect",
        /// The answer is not HTTP, or its head is too large.
        Protocol = "protocol",
        /// The body ended too early or could not be decompressed.
        Body = "body",
        /// The browser failed.
        Browser = "browser",
        /// The module's rules made the program panic.
        Panic = "panic",
        /// No probe got an answer.
        NoAnswer = "no_answer",
        /// An answer lacks a value that a later probe needs.
        NotSaved = "not_saved",
        /// A rule for a hit and a rule for a miss both match.
        Conflict = "conflict",
        /// No rule matches the answer.
        Unrecognized = "unrecognized",
        /// The answer is a 200 without a body.
        Empty = "empty",
        /// No rule matches the part of the body that was read. The rest was too large to read.
        Truncated = "truncated",
        /// The answer is JSON with more values than are read.
        JsonTooLarge = "json_too_large",
        /// The site answered with a status from 500 to 599.
        ServerError = "server_error",
        /// The request was redirected to the site's front page.
        FrontPage = "front_page",
        /// The page names another account.
        OtherAccount = "other_account",
        /// The made-up name was a hit too.
        ControlHit = "control_hit",
        /// A known account was a miss too.
        KnownMissed = "known_missed",
        /// The check of a known account came to no conclusion, so the miss is not confirmed.
        KnownUnclear = "known_unclear",
        /// Nothing public was found, which is weak evidence of a miss.
        Weak = "weak",
        /// A later page of results could not be read. Only runs of earlier versions have it.
        PagesIncomplete = "pages_incomplete",
        /// The site refused with 401, 403, 407 or 451.
        Forbidden = "forbidden",
        /// A barrier of the module's own list matched.
        Barrier = "barrier",
        /// A page or a status that says that requests are limited.
        RateLimit = "rate_limit",
        /// Cloudflare's rate-limit page.
        CloudflareRateLimit = "cloudflare_rate_limit",
        /// Akamai's block page.
        AkamaiBlock = "akamai_block",
        /// Akamai's challenge page.
        AkamaiChallenge = "akamai_challenge",
        /// The proof-of-work challenge page of Anubis.
        Anubis = "anubis",
        /// The block page of AWS WAF.
        AwsWafBlock = "aws_waf_block",
        /// The captcha page of AWS WAF.
        AwsWafCaptcha = "aws_waf_captcha",
        /// The challenge page of AWS WAF.
        AwsWafChallenge = "aws_waf_challenge",
        /// A block page of an unknown vendor.
        BlockPage = "block_page",
        /// A captcha page.
        Captcha = "captcha",
        /// A challenge page of an unknown vendor.
        Challenge = "challenge",
        /// Cloudflare's block page.
        CloudflareBlock = "cloudflare_block",
        /// Cloudflare's challenge page.
        CloudflareChallenge = "cloudflare_challenge",
        /// A page that asks for consent.
        ConsentWall = "consent_wall",
        /// DataDome's challenge page.
        Datadome = "datadome",
        /// DDoS-Guard's challenge page.
        DdosGuard = "ddos_guard",
        /// F5's block page.
        F5 = "f5",
        /// Fastly's challenge page.
        FastlyChallenge = "fastly_challenge",
        /// The challenge page of go-away.
        GoAway = "go_away",
        /// Imperva's block page.
        ImpervaBlock = "imperva_block",
        /// Imperva's challenge page.
        ImpervaChallenge = "imperva_challenge",
        /// Kasada's challenge page.
        Kasada = "kasada",
        /// A sign-in page.
        LoginWall = "login_wall",
        /// A page of a domain that is parked or for sale.
        ParkedDomain = "parked_domain",
        /// PerimeterX's challenge page.
        Perimeterx = "perimeterx",
        /// Radware's challenge page.
        Radware = "radware",
        /// StackPath's challenge page.
        Stackpath = "stackpath",
        /// Sucuri's block page.
        SucuriBlock = "sucuri_block",
        /// Sucuri's challenge page.
        SucuriChallenge = "sucuri_challenge",
        /// A page of a site that its hosting provider suspended.
        SuspendedSite = "suspended_site",
        /// Vercel's challenge page.
        VercelChallenge = "vercel_challenge",
        /// Wordfence's block page.
        Wordfence = "wordfence",
        /// A word that this version does not know, from a database that another version wrote.
        #[default]
        #[serde(other)]
        Other = "other",
    }
}

impl Reason {
    /// Returns whether the failure is on this machine and not at the site.
    pub fn is_local_fault(self) -> bool {
        matches!(self, Self::LocalResources | Self::NoNetwork | Self::NoResolver)
    }

    /// Returns whether the deadline passed during a request.
    pub fn is_timeout(self) -> bool {
        use Reason::{TimeoutBody, TimeoutConnect, TimeoutFirstByte, TimeoutResolve};
        matches!(self, TimeoutResolve | TimeoutConnect | TimeoutFirstByte | TimeoutBody)
    }

    /// Returns whether the check was cut by the end of the run's time, so that the site had less time than configured.
    pub fn is_end_of_run(self) -> bool {
        matches!(self, Self::RunDeadline | Self::TimeBudget)
    }

    /// Returns whether the check was not made because the circuit of the host or the module is open.
    pub fn has_circuit(self) -> bool {
        matches!(self, Self::CircuitOpen | Self::Quarantined)
    }

    /// Returns the word with spaces in place of underscores, for display.
    pub fn as_phrase(self) -> String {
        self.as_str().replace('_', " ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_written_as_its_word_and_read_from_it() {
        for reason in Reason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
        }
        let read: Vec<Reason> = serde_json::from_str(r#"["captcha", "of_tomorrow", "other"]"#).unwrap();
        assert_eq!(read, [Reason::Captcha, Reason::Other, Reason::Other]);
    }
}
