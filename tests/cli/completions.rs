//! Completions for shells: all four have every command, and the one for bash completes.

use std::process::Command;

use super::{Folder, ran};

#[test]
fn every_shell_gets_every_command() {
    let command = sightline::cli::command();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = ran(&["completions", shell], &[]).code_is(0);
        assert_eq!(script.err, "", "{shell}");
        for sub in command.get_subcommands() {
            assert!(script.out.contains(sub.get_name()), "{shell} leaves out {}", sub.get_name());
        }
        assert!(script.out.contains("database"), "{shell} leaves out options");
    }
}

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
