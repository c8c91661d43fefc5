//! Limits on requests and on attempts to sign in, by the generic cell rate algorithm (GCRA).
//!
//! One number is known of each subject of a limit: the time at which its next request is due if it makes one after each
//! period of the limit. Each request moves that time by one period. A request may come earlier than it is due, by as
//! many periods as the burst allows. A refused request changes nothing.

use std::net::IpAddr;
use std::time::Duration;

use crate::base::encoding::sha256;
use crate::base::ids::AccountId;
use crate::base::words::words;

words! {
    /// A kind of requests with its own limit. Its word is in the `RateLimit` headers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Policy {
        /// Requests to `POST /v1/searches`.
        Search = "search",
        /// Requests that start a stream or attach to one.
        Stream = "stream",
        /// All other requests that need a key.
        Read = "read",
    }
}

/// A limit for each of its subjects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// The number of requests that are allowed at once, at least 1.
    pub burst: u32,
    /// The time after which one more request may be made, at least a microsecond.
    pub period: Duration,
}

/// The limit for one email address from one network, and for confirming a password: about a thousand guesses a day.
pub const BY_PAIR: Rate = Rate { burst: 10, period: Duration::from_secs(90) };

/// The limit for one email address from all networks: about 4,000 guesses a day, which do not find a password of
/// twelve characters.
pub const BY_EMAIL: Rate = Rate { burst: 50, period: Duration::from_secs(20) };

/// The limit for one network. The users of an office with one address can sign in within a minute, and a client that
/// tries many accounts is slow.
pub const BY_NETWORK: Rate = Rate { burst: 50, period: Duration::from_secs(15) };

/// The state of a subject after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Whether the request was allowed, and therefore counts.
    pub is_allowed: bool,
    /// The number of requests that are left now.
    pub remaining: u32,
    /// The time until another request can be made.
    pub wait: Duration,
}

impl Rate {
    /// Returns the limit of that many requests a minute, all of which may come at once.
    pub fn per_minute(requests: u32) -> Self {
        let burst = requests.max(1);
        Self { burst, period: (Duration::from_secs(60) / burst).max(Duration::from_micros(1)) }
    }

    /// Returns the period in microseconds.
    pub fn period_us(self) -> i64 {
        i64::try_from(self.period.as_micros()).unwrap_or(i64::MAX)
    }

    /// Returns the time in microseconds by which a request may come earlier than it is due.
    pub fn slack_us(self) -> i64 {
        self.period_us().saturating_mul(i64::from(self.burst - 1))
    }

    /// Returns the time at which the request after this one is due, or `None` if this one is refused. Times are in
    /// microseconds, by a clock that shows `now`.
    ///
    /// A `due` that no requests can have reached was written before the clock was set back. Then a request is allowed
    /// as if the burst was nearly used up, so that the clock neither blocks a subject nor allows a burst.
    pub fn next_due(self, due: i64, now: i64) -> Option<i64> {
        let latest = now.saturating_add(self.slack_us());
        let is_reachable = due <= latest.saturating_add(self.period_us());
        (due <= latest || !is_reachable).then(|| due.clamp(now, latest).saturating_add(self.period_us()))
    }

    /// Counts a request of a subject whose next request is due at that time, and changes the time.
    pub fn count(self, due: &mut i64, now: i64) -> Counted {
        let next = self.next_due(*due, now);
        *due = next.unwrap_or(*due);
        self.counted(next.is_some(), *due, now)
    }

    /// Returns the state of a subject whose next request is due at that time.
    pub fn counted(self, is_allowed: bool, due: i64, now: i64) -> Counted {
        let (ahead, period) =
            (due.saturating_sub(now).max(0).unsigned_abs(), self.period_us().unsigned_abs());
        let used = ahead.div_ceil(period).min(self.burst.into());
        let remaining = self.burst - u32::try_from(used).unwrap_or(self.burst);
        let wait = Duration::from_micros(ahead - used.saturating_sub(1) * period);
        Counted { is_allowed, remaining, wait }
    }
}

/// The subject of a limit, as a hash, so that the store does not show who has tried to sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject(pub [u8; 32]);

impl Subject {
    /// Returns the subject for the requests of an account under a policy.
    pub fn requests(account: AccountId, policy: Policy) -> Self {
        Self::of(policy.as_str(), &account.to_string())
    }

    /// Returns the subject for an email address in lower case.
    pub fn email(email: &str) -> Self {
        Self::of("email", email)
    }

    /// Returns the subject for the network of a client: its IPv4 address, or the first 64 bits of its IPv6 address.
    /// Providers assign no smaller IPv6 networks to customers.
    pub fn network(client: Option<IpAddr>) -> Self {
        Self::of("network", &network(client))
    }

    /// Returns the subject for an email address in lower case and a network.
    pub fn pair(email: &str, client: Option<IpAddr>) -> Self {
        Self::of("pair", &format!("{} {email}", network(client)))
    }

    /// Returns the subject for a signed-in user who confirms the password.
    pub fn confirming(account: AccountId) -> Self {
        Self::of("confirming", &account.to_string())
    }

    fn of(kind: &str, value: &str) -> Self {
        Self(sha256(format!("{kind}\0{value}")))
    }
}

fn network(client: Option<IpAddr>) -> String {
    match client.map(|address| address.to_canonical()) {
        Some(IpAddr::V4(address)) => address.to_string(),
        Some(IpAddr::V6(address)) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}")
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RATE: Rate = Rate { burst: 3, period: Duration::from_micros(10) };

    #[test]
    fn requests_are_counted_down_refused_and_allowed_again() {
        let mut due = 0;
        for (now, is_allowed, remaining, wait) in [
            (1000, true, 2, 10),
            (1000, true, 1, 10),
            (1004, true, 0, 6),
            (1004, false, 0, 6),
            (1009, false, 0, 1),
            (1010, true, 0, 10),
            (1035, true, 1, 5),
            (9000, true, 2, 10),
            // The clock was set back. That blocks nobody, and allows no burst.
            (500, true, 0, 10),
            (509, false, 0, 1),
            (510, true, 0, 10),
        ] {
            let want = Counted { is_allowed, remaining, wait: Duration::from_micros(wait) };
            assert_eq!(RATE.count(&mut due, now), want, "at {now}");
        }
    }

    proptest! {
        #[test]
        fn no_time_has_more_requests_than_its_burst_and_periods(
            steps in prop::collection::vec(0i64..40, 1..200), burst in 1u32..8, period in 1u64..30,
        ) {
            let rate = Rate { burst, period: Duration::from_micros(period) };
            let (mut now, mut due, mut taken) = (1000, 0, Vec::new());
            for step in steps {
                now += step;
                let counted = rate.count(&mut due, now);
                let wait = i64::try_from(counted.wait.as_micros()).unwrap();
                if counted.is_allowed {
                    taken.push(now);
                } else {
                    prop_assert!(rate.next_due(due, now + wait - 1).is_none());
                    prop_assert!(rate.next_due(due, now + wait).is_some());
                }
                let mut later = due;
                let further = std::iter::from_fn(|| Some(rate.count(&mut later, now).is_allowed));
                prop_assert_eq!(further.take_while(|allowed| *allowed).count(), counted.remaining as usize);
            }
            for (index, first) in taken.iter().enumerate() {
                for (further, at) in taken[index..].iter().enumerate() {
                    prop_assert!(further as i64 <= i64::from(burst) - 1 + (at - first) / period as i64 );
                }
            }
        }
    }

    #[test]
    fn a_limit_of_any_size_has_a_period() {
        assert_eq!(Rate::per_minute(30), Rate { burst: 30, period: Duration::from_secs(2) });
        assert_eq!(Rate::per_minute(1_000_000).period_us(), 60);
        assert_eq!(Rate::per_minute(u32::MAX).period_us(), 1);
        assert_eq!(Rate::per_minute(0).burst, 1);
    }

    #[test]
    fn a_subject_is_an_email_address_a_network_or_the_requests_of_an_account() {
        let network = |text: &str| Subject::network(Some(text.parse().unwrap()));
        assert_eq!(network("192.0.2.1"), network("::ffff:192.0.2.1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
        assert_eq!(network("2001:db8:1:2::1"), network("2001:db8:1:2:ffff::9"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
        assert_ne!(Subject::email("192.0.2.1"), network("192.0.2.1"));
        let pair = |email: &str, text: &str| Subject::pair(email, Some(text.parse().unwrap()));
        assert_ne!(pair("a@b.example", "192.0.2.1"), pair("a@b.example", "192.0.2.2"));
        assert_ne!(pair("a@b.example", "192.0.2.1"), pair("c@b.example", "192.0.2.1"));
        let (one, other) = (AccountId::new(), AccountId::new());
        assert_ne!(Subject::requests(one, Policy::Search), Subject::requests(one, Policy::Stream));
        assert_ne!(Subject::requests(one, Policy::Search), Subject::requests(other, Policy::Search));
    }
}
