//! `config.zon`: what is read and what is refused.

use std::path::Path;

use chock_config::{
    Account, Credential, OutputLimit, Person, PersonPath, Price, ProviderKind, Reasoning,
    SystemRole,
};

use crate::{Cases, check_faults};

#[track_caller]
fn check(text: &str, expected: &[(usize, &str, &str)]) {
    let faults = Person::read("config.zon", text).unwrap_err();
    check_faults(text, &faults, expected);
}

#[test]
fn every_block_is_read() {
    let person = Person::read(
        "config.zon",
        r#".{
            .providers = .{
                .{
                    .name = .local,
                    .kind = "openai-compat",
                    .base_url = "http://127.0.0.1:8080/v1/",
                    .token = "sk-not-a-real-one",
                    .model = "qwen",
                    .models = .{ "qwen", "glm" },
                    .context_tokens = 60_000,
                    .capabilities = .{ .images = true },
                    .effort = .high,
                    .price = .{ .currency = "usd", .input = 0.5, .output = 2, .cache_read = 0.05 },
                    .quirks = .{
                        .system_role = .developer,
                        .reasoning = .reasoning_content,
                        .output_limit = .max_completion_tokens,
                        .whole_tool_replies = true,
                        .no_usage = true,
                    },
                },
                .{ .name = "play", .kind = .scripted, .script = "~/turns.zon" },
                .{ .name = "far", .kind = .openai_compat, .base_url = "https://x.example", .token_file = "far.token" },
            },
            .defaults = .{ .provider = "local", .model = "glm", .max_turns = 12, .fallbacks = .{ .{ .provider = .play }, .{ .provider = "local", .model = "qwen" } } },
            .limits = .{ .memory = "4 GiB" },
            .toolchains = .{ .add = .{ "/opt/go", "~/sdk" }, .remove = .{ "pyenv", "~/.nvm" } },
            .audit = .{ .sinks = .{
                .{ .kind = .directory, .path = "/var/log/chock", .required = true },
                .{ .kind = .syslog, .path = "/dev/log" },
            } },
        }"#,
    )
    .unwrap();
    let [local, play, far] = person.providers.as_slice() else { panic!("{person:?}") };
    let ProviderKind::OpenaiCompat(compat) = &local.kind else { panic!("{local:?}") };
    assert_eq!(compat.base_url, "http://127.0.0.1:8080/v1");
    assert_eq!(compat.effort.as_deref(), Some("high"));
    let price = Price {
        currency: "USD".to_owned(),
        input: 500_000,
        output: 2_000_000,
        cache_read: 50_000,
        cache_write: 500_000,
    };
    assert_eq!(compat.price, Some(price));
    assert_eq!(compat.quirks.system_role, SystemRole::Developer);
    assert_eq!(compat.quirks.reasoning, Reasoning::ReasoningContent);
    assert_eq!(compat.quirks.output_limit, OutputLimit::MaxCompletionTokens);
    assert!(compat.quirks.whole_tool_replies && compat.quirks.no_usage);
    assert!(local.capabilities.images);
    assert_eq!((local.name.as_str(), local.context_tokens), ("local", Some(60_000)));
    assert!(
        matches!(&local.credential, Credential::Token(token) if token.reveal() == "sk-not-a-real-one")
    );
    assert!(
        matches!(&play.kind, ProviderKind::Scripted { script } if script.as_str() == "~/turns.zon")
    );
    assert!(matches!(&far.credential, Credential::TokenFile(path) if path.as_str() == "far.token"));
    assert_eq!(person.defaults.max_turns.as_ref().map(|turns| turns.value), Some(12));
    let named = |it: &chock_config::Fallback| {
        (it.provider.value.clone(), it.model.as_ref().map(|model| model.value.clone()))
    };
    let fallbacks: Vec<_> = person.defaults.fallbacks.iter().map(named).collect();
    assert_eq!(fallbacks, [("play".into(), None), ("local".into(), Some("qwen".into()))]);
    let sinks: Vec<_> = person.sinks.iter().map(ToString::to_string).collect();
    assert_eq!(sinks, ["directory /var/log/chock, required", "syslog /dev/log"]);
    assert_eq!(person.toolchains.add.len() + person.toolchains.remove.len(), 4);
}

#[test]
fn every_constant_of_an_account_can_be_written_anew() {
    let read = |fields: &str| {
        let text = format!(".{{ .providers = .{{ .{{ .name = .a, {fields} }} }} }}");
        Person::read("config.zon", &text).unwrap().providers.remove(0).kind
    };
    let ProviderKind::Openai(usual) = read(".kind = .openai") else { panic!() };
    assert_eq!(usual.account, Account::default());
    assert_eq!(usual.address(false), "https://chatgpt.com/backend-api/codex");
    assert_eq!(usual.address(true), "https://api.openai.com/v1");
    let fields = ".kind = .openai, .base_url = \"http://127.0.0.1:9/b/\", .account = .{
        .issuer = \"http://127.0.0.1:9/\", .client_id = \"me\", .scope = \"openid email\",
        .redirect_ports = .{ 1, 2 }, .originator = \"mine\" }";
    let ProviderKind::Openai(other) = read(fields) else { panic!() };
    assert_eq!(
        (other.address(false), other.address(true)),
        ("http://127.0.0.1:9/b", "http://127.0.0.1:9/b")
    );
    let account = Account {
        issuer: "http://127.0.0.1:9".to_owned(),
        client_id: "me".to_owned(),
        scope: "openid email".to_owned(),
        redirect_ports: vec![1, 2],
        originator: "mine".to_owned(),
    };
    assert_eq!(other.account, account);
    let ProviderKind::Aiand(compat) = read(".kind = .aiand") else { panic!() };
    assert_eq!(compat.base_url, "https://api.aiand.com/v1");
}

/// A provider's row with `fields` behind its kind.
fn row(fields: &str) -> String {
    format!(".{{ .providers = .{{\n.{{ .name = .a, .kind = .openai_compat, {fields} }},\n}} }}")
}

#[test]
fn every_fault_has_its_place_and_advice() {
    // (fields of a row, faults on its line)
    let rows: Cases<'_> = &[
        ("", &[(2, "{ .name = .", "the field `base_url` is missing")]),
        (".base_url = \"ftp://x\"", &[(2, "\"ftp://x\"", "starts with `http://` or `https://`")]),
        (".base_url = \"http://\"", &[(2, "\"http://\"", "has no host")]),
        (".base_url = \"http://me:pw@x/v1\"", &[(2, "\"", "no user or password")]),
        (".base_url = \"http://x/v1?a=b\"", &[(2, "\"", "no `?`")]),
        (".base_url = \"http://x y\"", &[(2, "\"http://x y\"", "visible ASCII")]),
        (".base_url = \"http://x\", .script = \"s\"", &[(2, "\"s\"", "for the kind `scripted`")]),
        (
            ".base_url = \"http://x\", .baseurl = \"y\"",
            &[(2, "baseurl", "did you mean `base_url`?")],
        ),
        (
            ".base_url = \"http://x\", .token = \"a\", .token_file = \"b\"",
            &[(2, "\"b\"", "not both")],
        ),
        (
            ".base_url = \"http://x\", .models = .{ \"glm\", \"qwen\" }, .model = \"qwem\"",
            &[(2, "\"qwem\"", "did you mean `qwen`?")],
        ),
        (".base_url = \"http://x\", .model = \"a b\"", &[(2, "\"a b\"", "no blanks")]),
        (".base_url = \"http://x\", .context_tokens = 10", &[(2, "10", "less than 1024")]),
        (
            ".base_url = \"http://x\", .quirks = .{ .system_role = .devloper }",
            &[(2, "devloper", "did you mean `developer`?")],
        ),
        (
            ".base_url = \"http://x\", .price = .{ .currency = \"$\", .input = -1, .output = 1 }",
            &[(2, "\"$\"", "three letters"), (2, "-", "zero or more")],
        ),
    ];
    for (fields, faults) in rows {
        check(&row(fields), faults);
    }
    // (text, faults)
    let cases: Cases<'_> = &[
        (
            ".{ .providers = .{ .{ .name = \"A b\", .kind = .scripted, .script = \"s\" } } }",
            &[(1, "\"A b\"", "lower case letters")],
        ),
        (
            ".{ .providers = .{ .{ .name = .a, .kind = .scripted, .base_url = \"http://x\" } } }",
            &[
                (1, "{ .name = .", "the field `script` is missing"),
                (1, "\"http://x\"", "for the kind `openai-compat`"),
            ],
        ),
        (
            ".{ .providers = .{ .{ .name = .a, .kind = .openai, .quirks = .{}, .max_output_tokens = 9 } } }",
            &[(1, "{}", "for the kind `openai-compat`"), (1, "9", "at least 16 tokens")],
        ),
        (
            ".{ .providers = .{ .{ .name = .a, .kind = .openai, .token = \"x\", .account = .{} } } }",
            &[(1, "{}", "a row with a token has no `.account`")],
        ),
        (
            ".{ .providers = .{ .{ .name = .a, .kind = .openai, .account = .{ .issuer = \"x\", .client_id = \"\", .redirect_ports = .{ 0 } } } } }",
            &[
                (1, "\"x\"", "starts with `http://`"),
                (1, "\"\"", "visible ASCII characters only"),
                (1, "{ 0", "1 to 16 ports"),
            ],
        ),
        (
            ".{ .providers = .{ .{ .name = .a, .kind = .aiand, .account = .{} } } }",
            &[(1, "{}", "for the kind `openai`")],
        ),
        (
            ".{ .providers = .{ .{ .name = .a, .kind = \"openai-compt\" } } }",
            &[(1, "\"", "did you mean `openai-compat`?")],
        ),
        (
            ".{ .providers = .{ .{ .kind = .scripted } } }",
            &[(1, "{ .kind = .", "the field `name` is missing")],
        ),
        (
            ".{ .providers = .{\n.{ .name = .a, .kind = .scripted, .script = \"s\" },\n.{ .name = \"a\", .kind = .scripted, .script = \"s\" } } }",
            &[(3, "{ .name = \"", "the provider of line 2 is called `a` already")],
        ),
        (
            ".{ .providers = .{ .{ .name = .local, .kind = .scripted, .script = \"s\" } }, .defaults = .{ .provider = .locl } }",
            &[(1, "locl", "did you mean `local`?")],
        ),
        (
            ".{ .providers = .{ .{ .name = .a, .kind = .scripted, .script = \"s\", .models = .{ \"one\" } } }, .defaults = .{ .fallbacks = .{ .{ .provider = .a, .model = \"onee\" } } } }",
            &[(1, "\"onee\"", "did you mean `one`?")],
        ),
        (
            ".{ .providers = .{ .{ .name = .local, .kind = .scripted, .script = \"s\" } }, .defaults = .{ .fallbacks = .{ .{ .provider = .locl } } } }",
            &[(1, "locl", "did you mean `local`?")],
        ),
        (
            ".{ .defaults = .{ .fallbacks = .{ .{ .provider = .a, .modle = \"x\" } } } }",
            &[(1, "modle", "did you mean `model`?")],
        ),
        (".{ .defaults = .{ .max_turns = 0 } }", &[(1, "0", "at least one turn")]),
        (".{ .defaults = .{ .max_turn = 1 } }", &[(1, "max_turn", "did you mean `max_turns`?")]),
        (".{ .search = .{} }", &[(1, "search", "does not read the block `search` yet")]),
        (".{ .provider = .{} }", &[(1, "provider", "did you mean `providers`?")]),
        (
            ".{ .toolchains = .{ .add = .{ \"go\", \"/\", \"~/\", \"/home/me\", \"/etc\", \"/opt/../etc\" }, .remove = .{ \"a/b\" } } }",
            &[
                (1, "\"go\"", "starts with `/` or `~/`"),
                (1, "\"/\"", "is not a toolchain"),
                (1, "\"~/\"", "is not a toolchain"),
                (1, "\"/home/me\"", "holds more than a toolchain"),
                (1, "\"/etc\"", "holds more than a toolchain"),
                (1, "\"", "no `..`"),
                (1, "\"a/b\"", "name a toolchain, or a path"),
            ],
        ),
        (
            ".{ .audit = .{ .sinks = .{ .{ .kind = .directory, .path = \"logs\" } } } }",
            &[(1, "\"logs\"", "a sink's path starts with")],
        ),
        (
            ".{ .audit = .{ .sinks = .{ .{ .kind = .syslog, .path = \"/a\" }, .{ .kind = .syslog, .path = \"/a\" } } } }",
            &[(1, "\"/a\"", "listed already")],
        ),
        (
            ".{ .toolchains = .{ .add = .{ \"~other/x\" } } }",
            &[(1, "\"~other/x\"", "with `~/` for your home")],
        ),
    ];
    for (text, faults) in cases {
        check(text, faults);
    }
}

#[test]
fn no_fault_and_no_debug_print_shows_a_token() {
    const TOKEN: &str = "sk0SECRETsecret0123456789";
    let texts = [
        row(&format!(".token = \"{TOKEN}\", .base_url = 1")),
        row(&format!(".base_url = \"http://x\", .token = \"{TOKEN}\" .x")),
        row(&format!(".base_url = \"http://x\", .token = \"{TOKEN}")),
        row(&format!(".base_url = \"http://x\", .token = \"{TOKEN}\\q\"")),
        row(&format!(".base_url = \"http://x\", .token = \"{TOKEN}\\\"{TOKEN}\\n\", .oops = 1")),
        row(&format!(".base_url = \"http://x\", .token = {TOKEN}")),
        row(&format!(".base_url = \"http://x\", .token = .{TOKEN}")),
        row(&format!(".base_url = \"http://x\", .@\"token\"\n=\n \"{TOKEN} \"")),
        row(&format!(".base_url = \"http://x\", .token =\n\\\\{TOKEN}\n\\\\{TOKEN}\n, .oops = 2")),
        row(&format!(".token = '{TOKEN}'")),
        format!(".{{ .defaults = .{{ .token = \"{TOKEN}\" }} }}"),
        format!(".{{ .token = {TOKEN}++ }}"),
        row(&format!(".base_url = \"http://x\", .tokn = \"{TOKEN}\"")),
        format!(".{{ .apikey = {TOKEN} }}"),
    ];
    for text in texts {
        let faults = Person::read("config.zon", &text).unwrap_err();
        let shown = format!("{faults}{faults:?}");
        assert!(!shown.contains("SECRET"), "{text}\n{shown}");
    }
    let text = row(&format!(".base_url = \"http://x\", .token = \"{TOKEN}\""));
    let person = Person::read("config.zon", &text).unwrap();
    assert!(!format!("{person:?}").contains("SECRET"));
    // Control: the rest of such a line is shown.
    let text = row(&format!(".token = \"{TOKEN}\", .base_url = \"x\""));
    let faults = Person::read("config.zon", &text).unwrap_err();
    let line = format!(
        ".{{ .name = .a, .kind = .openai_compat, .token = {}, .base_url = \"x\" }},",
        "*".repeat(TOKEN.len() + 2)
    );
    assert_eq!(faults.as_slice()[0].source, line);
    assert_eq!(&line[faults.as_slice()[0].underline.clone()], "\"x\"");
}

#[test]
fn a_path_is_resolved_beside_the_file_or_below_the_home() {
    // (path, with a home, without one)
    let cases =
        [("/a/b", "/a/b", "/a/b"), ("a/b", "/conf/a/b", "/conf/a/b"), ("~/a", "/home/me/a", "~/a")];
    for (text, with_home, without) in cases {
        let path = PersonPath::new(text).unwrap();
        assert_eq!(
            path.resolve(Path::new("/conf"), Some(Path::new("/home/me"))),
            Path::new(with_home)
        );
        assert_eq!(path.resolve(Path::new("/conf"), None), Path::new(without));
    }
}
