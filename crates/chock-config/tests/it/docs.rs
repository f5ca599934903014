//! The examples of `docs/configuration.md` and `docs/policy.md` are read by the code they describe.

use chock_config::{
    Beneath, Expectation, Limit, LimitsBlock, Machine, Organisation, Person, Project, Tokens,
};
use chock_policy::shipped;

/// The pages' examples: what stands behind `zon` in the fence, and the text.
fn examples() -> Vec<(String, String)> {
    let page = concat!(
        include_str!("../../../../docs/configuration.md"),
        include_str!("../../../../docs/policy.md"),
        include_str!("../../../../docs/organisation.md"),
        include_str!("../../../../docs/providers.md")
    );
    let mut examples = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("```zon") {
            let text: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            examples.push((name.trim().to_owned(), text.join("\n")));
        }
    }
    examples
}

#[test]
fn every_example_is_read() {
    let examples = examples();
    assert!(examples.len() >= 8, "the page has {} examples", examples.len());
    for (name, text) in examples {
        let result = match name.as_str() {
            "chock.zon" => Project::read(&name, &text).map(drop),
            "config.zon" => Person::read(&name, &text).map(drop),
            "tokens.zon" => Tokens::read(&name, &text).map(drop),
            "org-policy.zon" => Organisation::read(&name, &text).map(drop),
            "expect.zon" => Expectation::read(&name, &text).map(drop),
            other => panic!("an example says which file it is: {other:?}\n{text}"),
        };
        assert!(result.is_ok(), "{name}:\n{text}\n{}", result.unwrap_err());
    }
}

#[test]
fn the_page_names_every_limit_and_every_block() {
    let page = include_str!("../../../../docs/configuration.md");
    let limits = Limit::ALL.map(Limit::name);
    let names = [
        "policy",
        "budget",
        "deny_read",
        "tracked",
        "workspace",
        "required",
        "environment",
        "limits",
        "providers",
        "defaults",
        "toolchains",
        "max_cost",
        "currency",
        "max_tokens",
        "agent_kind",
        "base_url",
        "token_file",
        "context_tokens",
        "capabilities",
        "script",
        "quirks",
        "system_role",
        "output_limit",
        "whole_tool_replies",
        "no_usage",
        "effort",
        "price",
        "cache_read",
        "cache_write",
        "max_turns",
    ];
    for name in limits.into_iter().chain(names) {
        assert!(page.contains(&format!("`{name}`")), "the page does not name `{name}`");
    }
}

#[test]
fn the_example_that_widens_widens() {
    let machine = Machine { processors: 8, memory_bytes: 16 << 30 };
    let beneath = Beneath { rows: &shipped(), limits: &LimitsBlock::default(), machine };
    let widens: Vec<_> = examples()
        .iter()
        .filter(|(name, text)| name == "chock.zon" && text.contains("// needs acceptance"))
        .filter_map(|(name, text)| Project::read(name, text).unwrap().widening(&beneath))
        .map(|widening| widening.items.len())
        .collect();
    assert_eq!(widens, [4, 2]);
}
