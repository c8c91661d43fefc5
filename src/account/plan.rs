//! Plans: the permissions of an account, and its credits per month.

use std::fmt;
use std::str::FromStr;

/// A plan of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The name in lower case, such as `pro`.
    pub name: String,
    /// The credits for each billing cycle, or `None` if there is no limit.
    pub credits: Option<u64>,
    /// Whether keys of this plan can use the API.
    pub api: bool,
    /// Whether premium searches are allowed.
    pub premium: bool,
}

/// All plans, the cheapest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanTable {
    plans: Vec<Plan>,
}

impl Default for PlanTable {
    /// Returns the default plans. The plan table can be configured.
    fn default() -> Self {
        let plan = |name: &str, credits, api, premium| Plan { name: name.to_owned(), credits, api, premium };
        Self {
            plans: vec![
                plan("free", Some(5), false, false),
                plan("basic", Some(30), false, true),
                plan("pro", Some(100), true, true),
                plan("unlimited", None, true, true),
            ],
        }
    }
}

impl PlanTable {
    /// Returns all plans, the cheapest first.
    pub fn all(&self) -> &[Plan] {
        &self.plans
    }

    /// Returns the plan with that name.
    pub fn get(&self, name: &str) -> Option<&Plan> {
        self.plans.iter().find(|plan| plan.name == name)
    }

    /// Returns the names of the plans for which `wanted` is true, the cheapest first.
    pub fn names_where(&self, wanted: impl Fn(&Plan) -> bool) -> Vec<&str> {
        self.plans.iter().filter(|plan| wanted(plan)).map(|plan| plan.name.as_str()).collect()
    }
}

/// The error for an invalid plan table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanTableError(String);

impl FromStr for PlanTable {
    type Err = PlanTableError;

    /// Parses `NAME=CREDITS[:api][:premium]` entries separated by commas, where `CREDITS` is a whole number or
    /// `unlimited`: `free=5,basic=30:premium,pro=100:api:premium,unlimited=unlimited:api:premium`.
    fn from_str(text: &str) -> Result<Self, PlanTableError> {
        let mut plans: Vec<Plan> = Vec::new();
        for part in text.split(',') {
            let plan = parse_plan(part.trim())?;
            if plans.iter().any(|known| known.name == plan.name) {
                return Err(PlanTableError(format!("plan \"{}\" is repeated", plan.name)));
            }
            plans.push(plan);
        }
        Ok(Self { plans })
    }
}

fn parse_plan(part: &str) -> Result<Plan, PlanTableError> {
    let form = || PlanTableError(format!("\"{part}\" is not NAME=CREDITS[:api][:premium]"));
    let (name, rest) = part.split_once('=').ok_or_else(form)?;
    let name_fits = (1..=32).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
    if !name_fits {
        return Err(PlanTableError(format!(
            "plan name \"{name}\": 1 to 32 of a-z, 0-9, _ and - are allowed"
        )));
    }
    let mut words = rest.split(':');
    let credits = match words.next() {
        Some("unlimited") => None,
        Some(number) => Some(number.parse::<u32>().map(u64::from).map_err(|_| {
            PlanTableError(format!("credits of plan \"{name}\": a whole number or \"unlimited\" is allowed"))
        })?),
        None => return Err(form()),
    };
    let mut plan = Plan { name: name.to_owned(), credits, api: false, premium: false };
    for word in words {
        match word {
            "api" => plan.api = true,
            "premium" => plan.premium = true,
            _ => {
                return Err(PlanTableError(format!(
                    "\"{word}\" of plan \"{name}\": api or premium is allowed"
                )));
            }
        }
    }
    Ok(plan)
}

impl fmt::Display for PlanTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, plan) in self.plans.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match plan.credits {
                Some(credits) => write!(f, "{comma}{}={credits}", plan.name)?,
                None => write!(f, "{comma}{}=unlimited", plan.name)?,
            }
            f.write_str(if plan.api { ":api" } else { "" })?;
            f.write_str(if plan.premium { ":premium" } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_table_reads_as_it_prints() {
        let table = PlanTable::default();
        assert_eq!(
            table.to_string(),
            "free=5,basic=30:premium,pro=100:api:premium,unlimited=unlimited:api:premium"
        );
        assert_eq!(table.to_string().parse::<PlanTable>().unwrap(), table);
        assert_eq!(table.names_where(|plan| plan.api), ["pro", "unlimited"]);
    }

    #[test]
    fn each_mistake_is_named() {
        for (text, want) in [
            ("", "\"\" is not NAME=CREDITS[:api][:premium]"),
            ("pro", "\"pro\" is not NAME=CREDITS[:api][:premium]"),
            ("Pro=1", "plan name \"Pro\": 1 to 32 of a-z, 0-9, _ and - are allowed"),
            ("pro=-1", "credits of plan \"pro\": a whole number or \"unlimited\" is allowed"),
            ("pro=1:apis", "\"apis\" of plan \"pro\": api or premium is allowed"),
            ("pro=1,pro=2", "plan \"pro\" is repeated"),
        ] {
            assert_eq!(text.parse::<PlanTable>().unwrap_err().to_string(), want);
        }
    }
}
