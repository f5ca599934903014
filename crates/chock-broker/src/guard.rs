//! Why an action is guarded, in words for whoever decides.

use chock_policy::Action;

/// Each namespace with what its acts reach. The first that fits counts.
const REASONS: [(&str, &str); 22] = [
    ("exec.unparsed", "it cannot be told which programs this starts"),
    ("exec.nix.store.", "it runs a program from outside the project's shell"),
    ("exec.", "it runs a program"),
    ("git.push", "it sends commits to another repository"),
    ("git.fetch", "it reaches another repository"),
    ("git.pull", "it reaches another repository"),
    ("git.clone", "it reaches another repository"),
    ("git.", "it changes the session's repository"),
    ("net.", "it reaches the network"),
    ("web.", "it reaches the network"),
    ("nix.", "it builds or fetches from outside the session"),
    ("workspace.apply", "it carries the agent's work into your repository"),
    ("workspace.commit", "it commits what the agent left uncommitted"),
    ("policy.widen", "it takes back a promise of the agent"),
    ("secret.", "it gives away a secret"),
    ("device.", "it reaches a device of this machine"),
    ("skill.read.operator", "it follows instructions of your own"),
    ("skill.read.packaged", "it follows instructions that came with a package"),
    ("skill.", "it follows instructions that came with the project"),
    ("mcp.", "it uses a server that somebody else wrote"),
    ("plugin.", "it uses a plugin that somebody else wrote"),
    ("call.", "it calls a tool"),
];

/// Says why an action is guarded.
pub(crate) fn why(action: &Action) -> &'static str {
    let name = action.as_str();
    let found = REASONS.iter().find(|(prefix, _)| {
        name == *prefix
            || name
                .strip_prefix(prefix)
                .is_some_and(|rest| prefix.ends_with('.') || rest.starts_with('.'))
    });
    found.map_or("no rule allows it", |(_, why)| why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_reason_is_given() {
        let cases = [
            ("git.push", "it sends commits to another repository"),
            ("git.commit", "it changes the session's repository"),
            ("exec.unparsed", "it cannot be told which programs this starts"),
            ("exec.path.make", "it runs a program"),
            ("net.connect.io.crates.443", "it reaches the network"),
            ("other.thing", "no rule allows it"),
        ];
        for (name, expected) in cases {
            assert_eq!(why(&Action::from_static(name)), expected, "{name}");
        }
    }
}
