//! Keys that modules need (`config.NAME` in a catalogue entry): `--key NAME=VALUE`, `SIGHTLINE_KEY_NAME`.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::checked::refusal;
use super::fixed::gone;
use crate::base::secret::Secret;

/// The prefix of the variables of module keys.
pub const VARIABLE_PREFIX: &str = "SIGHTLINE_KEY_";

/// The keys by their names in lower case.
pub type ModuleKeys = BTreeMap<String, Secret<String>>;

/// One `--key NAME=VALUE`: the name in lower case, and the key.
pub type KeySetting = (String, Secret<String>);

/// Parses `NAME=VALUE`. The errors never repeat the value.
pub(crate) fn setting(text: &str) -> Result<KeySetting, &'static str> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((key_name(name)?, key_value(value)?))
}

/// Returns the keys of the environment and of the command line, which takes precedence.
///
/// # Errors
/// Fails if a variable has no valid key, or is that of an option that is gone. The error names the variable, never its value.
pub(crate) fn collect(
    settings: &[KeySetting],
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<ModuleKeys, String> {
    let mut keys = ModuleKeys::new();
    for (variable, value) in environment {
        let Some(variable) = variable.to_str().filter(|_| !value.is_empty()) else { continue };
        if let Some(refusal) = gone(variable) {
            return Err(refusal);
        }
        let Some(name) = variable.strip_prefix(VARIABLE_PREFIX) else { continue };
        let key = value.to_str().ok_or("not valid UTF-8").and_then(key_value);
        let refuse = |reason| refusal(variable, None, reason);
        keys.insert(key_name(name).map_err(refuse)?, key.map_err(refuse)?);
    }
    keys.extend(settings.iter().cloned());
    Ok(keys)
}

fn key_name(text: &str) -> Result<String, &'static str> {
    let fits = (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    fits.then(|| text.to_ascii_lowercase()).ok_or("invalid name: expected 1 to 64 letters, digits and _")
}

fn key_value(text: &str) -> Result<Secret<String>, &'static str> {
    let fits = (1..=4096).contains(&text.len()) && text.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
    fits.then(|| Secret::new(text.to_owned()))
        .ok_or("invalid key: expected 1 to 4096 visible ASCII characters")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn the_command_line_overrides_the_environment_in_any_case() {
        let settings = [setting("Shodan=from-flag").unwrap(), setting("other=a=b").unwrap()];
        let variables = environment(&[
            ("SIGHTLINE_KEY_SHODAN", "from-env"),
            ("SIGHTLINE_KEY_HIBP", "k1"),
            ("SIGHTLINE_KEY_EMPTY", ""),
            ("UNRELATED", "x"),
        ]);
        let keys = collect(&settings, variables).unwrap();
        let shown: Vec<_> = keys.iter().map(|(name, key)| (name.as_str(), key.expose().as_str())).collect();
        assert_eq!(shown, [("hibp", "k1"), ("other", "a=b"), ("shodan", "from-flag")]);
    }

    #[test]
    fn a_refused_key_is_never_repeated() {
        for bad in ["hunter2", "=hunter2", "a b=hunter2", "a=", "a=hunter2\n", "ä=hunter2"] {
            let error = setting(bad).unwrap_err();
            assert!(!error.contains("hunter2"), "{error}");
        }
        let error = collect(&[], environment(&[("SIGHTLINE_KEY_A", "hunter2\t")])).unwrap_err();
        assert_eq!(
            error,
            "invalid value for SIGHTLINE_KEY_A: invalid key: expected 1 to 4096 visible ASCII characters"
        );
    }
}
