//! `/v1/me` and `/v1/credits`.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::context::{Api, Call, ok_json};
use crate::base::clock::millis;
use crate::base::ids::AccountId;
use crate::http::Reply;
use crate::model::credits::Balance;
use crate::modules::query::SearchType;
use crate::service::refusal::Refusal;

/// A number of credits, or the word `unlimited` on a plan without a cap.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Amount {
    /// A number of credits.
    Count(u64),
    /// `unlimited`.
    Word(Unlimited),
}

/// The word `unlimited`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unlimited {
    /// The plan has no cap.
    Unlimited,
}

impl From<Option<u64>> for Amount {
    fn from(amount: Option<u64>) -> Self {
        amount.map_or(Self::Word(Unlimited::Unlimited), Self::Count)
    }
}

/// The credit balance of the account, shared by all of its keys.
#[derive(Debug, Serialize, ToSchema)]
pub struct Credits {
    /// Name of the plan.
    #[schema(pattern = "^[a-z0-9_-]{1,32}$")]
    pub tier: String,
    /// Credits that are left in this billing period.
    pub credits_remaining: Amount,
    /// Credits used in this billing period.
    pub credits_used: u64,
    /// All credits of a billing period.
    pub credits_allowed: Amount,
    /// Start of the billing period: RFC 3339, UTC, milliseconds.
    #[serde(with = "millis")]
    pub period_start: Timestamp,
    /// Start of the next billing period: RFC 3339, UTC, milliseconds.
    #[serde(with = "millis")]
    pub period_end: Timestamp,
}

impl Credits {
    /// Returns the balance of an account on the plan `tier`.
    pub fn new(tier: &str, balance: &Balance) -> Self {
        Self {
            tier: tier.to_owned(),
            credits_remaining: balance.remaining().into(),
            credits_used: balance.used,
            credits_allowed: balance.allowed.into(),
            period_start: balance.cycle.start,
            period_end: balance.cycle.end,
        }
    }
}

/// The owner of the key, and their plan.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Account)]
pub struct Me<'a> {
    /// Identifies the account.
    #[schema(value_type = uuid::Uuid)]
    pub user_id: AccountId,
    /// Name of the plan.
    #[schema(pattern = "^[a-z0-9_-]{1,32}$")]
    pub tier: &'a str,
    /// Whether the plan includes the API: always true here, because a key of another plan gets 403.
    pub api_access: bool,
    /// Searches that may be started per minute, over all keys of the account.
    #[schema(minimum = 1)]
    pub rate_limit_per_minute: u32,
    /// Whether streams are available.
    pub supports_streaming: bool,
    /// Types of identifiers that can be searched.
    #[schema(value_type = Vec<SearchType>)]
    pub search_types: [SearchType; 3],
    /// The credits of this billing period.
    pub credits: MeCredits,
}

/// The credits of the billing period.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AccountCredits)]
pub struct MeCredits {
    /// Credits that are left.
    pub remaining: Amount,
    /// Credits used.
    pub used: u64,
    /// All credits of the billing period.
    pub allowed: Amount,
    /// Start of the next billing period: RFC 3339, UTC, milliseconds.
    #[serde(with = "millis")]
    pub period_end: Timestamp,
}

/// Checks the key.
///
/// Confirms that the key works, and returns its owner and the limits of the plan. Costs no credits.
#[utoipa::path(get, path = "/v1/me",
    responses((status = 200, description = "The key's owner.", body = Me<'_>)))]
pub fn get_account(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let caller = call.caller()?;
    let balance = api.accounts.balance(caller)?;
    Ok(ok_json(&Me {
        user_id: caller.account.id,
        tier: &caller.plan.name,
        api_access: caller.plan.api,
        rate_limit_per_minute: api.limiter.limits().search,
        supports_streaming: true,
        search_types: SearchType::ALL,
        credits: MeCredits {
            remaining: balance.remaining().into(),
            used: balance.used,
            allowed: balance.allowed.into(),
            period_end: balance.cycle.end,
        },
    }))
}

/// Reads the credit balance.
///
/// Costs no credits.
#[utoipa::path(get, path = "/v1/credits",
    responses((status = 200, description = "The credit balance.", body = Credits)))]
pub fn get_credits(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let caller = call.caller()?;
    let balance = api.accounts.balance(caller)?;
    Ok(ok_json(&Credits::new(&caller.plan.name, &balance)))
}
