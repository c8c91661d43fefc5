//! `multipart/form-data` (RFC 7578), as browsers write it.

use sha2::{Digest, Sha256};

use crate::modules::template::hex;

/// The `Content-Type` with its boundary, and the body.
pub(super) fn write(fields: &[(String, String)]) -> (String, Vec<u8>) {
    let boundary = boundary(fields);
    let mut body = String::new();
    for (name, value) in fields {
        let name = escaped(name);
        body.push_str(&format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        ));
    }
    body.push_str(&format!("--{boundary}--\r\n"));
    (format!("multipart/form-data; boundary={boundary}"), body.into_bytes())
}

/// A line that stands in no value and no name.
fn boundary(fields: &[(String, String)]) -> String {
    let mut seed = Sha256::new();
    for (name, value) in fields {
        seed.update(name);
        seed.update([0]);
        seed.update(value);
        seed.update([0]);
    }
    loop {
        let boundary = format!("form-{}", &hex(&seed.clone().finalize())[..32]);
        if !fields.iter().any(|(name, value)| name.contains(&boundary) || value.contains(&boundary)) {
            return boundary;
        }
        seed.update([1]);
    }
}

/// A name inside quotes: what would end them or the line is percent-encoded, as the HTML standard has it.
fn escaped(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(fields: &[(&str, &str)]) -> (String, String) {
        let fields: Vec<(String, String)> =
            fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (content_type, body) = write(&fields);
        (content_type, String::from_utf8(body).unwrap())
    }

    #[test]
    fn each_field_is_a_part_between_boundaries() {
        let (content_type, body) = written(&[("a", "1"), ("na\"me\r\n", "é\r\n--x")]);
        let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
        let expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"na%22me%0D%0A\"\r\n\r\né\r\n--x\r\n\
             --{boundary}--\r\n"
        );
        assert_eq!(body, expected);
    }

    #[test]
    fn a_form_without_fields_is_its_end_alone() {
        let (content_type, body) = written(&[]);
        let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
        assert_eq!(body, format!("--{boundary}--\r\n"));
    }

    proptest! {
        #[test]
        fn no_name_and_no_value_breaks_out_of_its_part(
            fields in prop::collection::vec((any::<String>(), any::<String>()), 0..4),
        ) {
            let (content_type, body) = write(&fields);
            let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap().to_owned();
            prop_assert!(boundary.len() <= 70 && boundary.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
            let body = String::from_utf8(body).unwrap();
            let end = format!("--{boundary}--\r\n");
            let inner = body.strip_suffix(end.as_str()).unwrap();
            let line = format!("--{boundary}\r\n");
            let parts: Vec<&str> = inner.split(line.as_str()).skip(1).collect();
            prop_assert_eq!(parts.len(), fields.len());
            for (part, (_, value)) in parts.iter().zip(&fields) {
                let (head, written) = part.split_once("\r\n\r\n").unwrap();
                prop_assert!(!head.contains(['\r', '\n']));
                prop_assert_eq!(head.matches('"').count(), 2);
                prop_assert_eq!(written.strip_suffix("\r\n").unwrap(), value);
            }
        }
    }
}
