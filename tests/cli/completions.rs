//! Completions for shells: all four have every command, and the one for bash completes.

use std::process::Command;

use super::{Folder, ran};

/// Returns what bash proposes for the last of these words.
fn proposed(words: &str) -> Vec<String> {
    let folder = Folder::new();
    let script = folder.file("sightline", &ran(&["completions", "bash"], &[]).code_is(0).out);
    let program = format!(
        "source '{script}'; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
         _sightline sightline \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let output = Command::new("bash").args(["--norc", "-c", &program]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    said.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    assert_eq!(proposed("sightline comp"), ["completions"]);
    assert_eq!(proposed("sightline account cr"), ["create"]);
    assert_eq!(proposed("sightline completions po"), ["powershell"]);
    assert_eq!(proposed("sightline serve --max-st"), ["--max-streams"]);
}
