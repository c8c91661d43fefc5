//! Limits on requests and on attempts to sign in, which all instances share.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use sightline::account::rate_limit::RateLimiter;
use sightline::base::storage::StorageError;
use sightline::model::quota::{Counted, Policy, Rate, Subject};
use sightline::model::refusal::Code;
use sightline::store::Store;

use super::{Fixture, once_connected};

const HOUR: Duration = Duration::from_secs(3600);
const RATE: Rate = Rate { burst: 3, period: HOUR };

fn count(store: &Store, subject: &Subject, rate: Rate) -> Counted {
    once_connected(|| store.count_request(subject, rate))
}

impl Fixture {
    /// Pretends that so many hours have passed since all requests.
    fn pass(&self, hours: i64) {
        self.database.execute(&format!("UPDATE rate_limits SET due = due - {hours} * 3600000000"));
    }
}

on_both! {
    fn requests_return_one_by_one_and_expire(f) {
        let subject = Subject::email("a@example.org");
        let try_it = || count(&f.store, &subject, RATE).is_allowed;
        assert_eq!([(); 4].map(|()| try_it()), [true, true, true, false]);
        let other = Subject::email("b@example.org");
        assert_eq!(count(&f.store, &other, RATE).remaining, 2);
        f.pass(1);
        assert_eq!([try_it(), try_it()], [true, false]);
        f.store.return_request(&subject, RATE).unwrap();
        assert_eq!([try_it(), try_it()], [true, false]);

        // The clock of another instance has no effect.
        f.store.remove_expired(Timestamp::MAX).unwrap();
        assert_eq!(f.rows("rate_limits"), 1);
        assert!(!try_it());
        f.pass(3);
        f.store.remove_expired(Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(f.rows("rate_limits"), 0);
        assert_eq!(count(&f.store, &subject, RATE).remaining, 2);
    }

    fn a_refused_request_counts_nowhere_and_is_refused_again_without_the_database(f) {
        let limiter = RateLimiter::new([(Policy::Search, 3), (Policy::Stream, 1)], Arc::clone(&f.store));
        let count = |policies: &[Policy]| once_connected(|| {
            let mut counted = Vec::new();
            match limiter.count(f.account.id, policies, &mut counted) {
                Err(refusal) if refusal.code != Code::RateLimited => Err(StorageError::unavailable(refusal.message.clone())),
                _ => Ok(counted[0]),
            }
        });
        let both = [Policy::Search, Policy::Stream];
        assert_eq!(count(&both).remaining, 2);
        let refused = count(&both);
        assert_eq!((refused.policy, refused.limit, refused.remaining), (Policy::Stream, 1, 0));
        assert!((1..=60).contains(&refused.reset_secs), "{refused:?}");
        assert_eq!(count(&[Policy::Search]).remaining, 1);
        f.store.before_each(|name| panic!("{name}"));
        assert!((0..100).all(|_| count(&both).policy == Policy::Stream));
    }
}
