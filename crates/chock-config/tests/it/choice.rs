//! Which provider and model a run talks to.

use chock_config::{Choice, Flags, Person};

const ONE: &str = ".{ .providers = .{ .{ .name = .a, .kind = .openai_compat, .base_url = \"http://x\", .model = \"am\" } } }";
const TWO: &str = ".{ .providers = .{
    .{ .name = .local, .kind = .openai_compat, .base_url = \"http://x\", .models = .{ \"glm\", \"qwen\" } },
    .{ .name = .play, .kind = .scripted, .script = \"s\" },
    .{ .name = .only, .kind = .openai_compat, .base_url = \"http://x\", .models = .{ \"just\" } },
    .{ .name = .bare, .kind = .openai_compat, .base_url = \"http://x\" },
} }";

fn with_defaults(defaults: &str) -> String {
    let providers = TWO.strip_suffix('}').unwrap();
    format!("{providers}, .defaults = .{{ {defaults} }} }}")
}

#[track_caller]
fn check(config: &str, provider: Option<&str>, model: Option<&str>, expected: &str) {
    let person = Person::read("config.zon", config).unwrap();
    let flags = Flags {
        provider: provider.map(str::to_owned),
        model: model.map(str::to_owned),
        max_turns: None,
    };
    let found = match Choice::of(&person, &flags) {
        Ok(Choice { provider, model }) => {
            format!(
                "{} {} by {} {}",
                provider.value.name, model.value, provider.origin, model.origin
            )
        }
        Err(fault) => fault.to_string(),
    };
    assert_eq!(found, expected, "{provider:?} {model:?}");
}

#[test]
fn a_flag_beats_the_defaults_and_those_the_row() {
    check(ONE, None, None, "a am by config.zon:1:21 config.zon:1:92");
    check(ONE, None, Some("zz"), "a zz by config.zon:1:21 --model");
    check(TWO, Some("play"), None, "play scripted by --provider config.zon:3:6");
    check(TWO, Some("only"), None, "only just by --provider config.zon:4:6");
    check(TWO, Some("local"), Some("glm"), "local glm by --provider --model");
    let config = with_defaults(".provider = \"local\", .model = \"qwen\"");
    check(&config, None, None, "local qwen by config.zon:6:32 config.zon:6:50");
    check(&config, None, Some("glm"), "local glm by config.zon:6:32 --model");
    // The default model is the default provider's.
    check(&config, Some("play"), None, "play scripted by --provider config.zon:3:6");
}

#[test]
fn what_cannot_be_chosen_is_named() {
    check(".{}", None, None, "no provider is configured; write one into `providers` of config.zon");
    check(
        ".{}",
        Some("a"),
        None,
        "no provider is configured; write one into `providers` of config.zon",
    );
    check(
        TWO,
        None,
        None,
        "several providers are configured: local, play, only, bare; choose one with `--provider`, or write `.defaults = .{ .provider = \"...\" }`",
    );
    check(
        TWO,
        Some("locl"),
        None,
        "there is no provider `locl`; the providers are local, play, only, bare; did you mean `local`?",
    );
    check(
        TWO,
        Some("local"),
        Some("quen"),
        "the provider `local` has no model `quen`; did you mean `qwen`?",
    );
    check(
        TWO,
        Some("bare"),
        None,
        "no model is named for the provider `bare`; use `--model`, or write `.model` into its row",
    );
    check(
        TWO,
        Some("local"),
        None,
        "no model is named for the provider `local`; use `--model`, or write `.model` into its row",
    );
}
