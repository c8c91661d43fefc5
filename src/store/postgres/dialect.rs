//! The translation of statements into PostgreSQL's dialect.

/// Translates a statement into PostgreSQL's dialect: see [`backend`](crate::store::backend).
pub(super) fn translated(sql: &str) -> String {
    sql.replace("/*pg ", "")
        .replace(" */", "")
        .replace('?', "$")
        .replace("json_each(", "json_array_elements(")
        .replace("ms(", "(interval '1 millisecond' * ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_translated() {
        for (sql, want) in [
            ("SELECT a FROM t WHERE b = ?1 AND c > ?12", "SELECT a FROM t WHERE b = $1 AND c > $12"),
            ("SELECT 1 FROM t /*pg FOR NO KEY UPDATE */", "SELECT 1 FROM t FOR NO KEY UPDATE"),
            ("now() + ms(?2)", "now() + (interval '1 millisecond' * $2)"),
            ("FROM json_each(?1) AS x", "FROM json_array_elements($1) AS x"),
        ] {
            assert_eq!(translated(sql), want);
        }
    }
}
