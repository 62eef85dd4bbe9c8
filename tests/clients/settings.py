"""Settings files as users have them: JSON in any layout, and TOML, for property tests."""

from __future__ import annotations

import json

from hypothesis import strategies as st

_WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=6)
_KEYS = st.one_of(
    st.sampled_from(["hooks", "mcpServers", "servers", "mcp", "tools", "memory", "Stop", "args"]), _WORDS
)
_SPACE = st.sampled_from(["", "", " ", "\n", "\n  ", "\r\n\t", "  ", "\n\n    "])


@st.composite
def trivia(draw: st.DrawFn) -> str:
    """White space."""
    return draw(_SPACE)


@st.composite
def written(draw: st.DrawFn, value: object) -> str:
    """A value as JSON in some layout."""
    gap = trivia()
    if isinstance(value, dict | list):
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        parts = []
        for one in value:
            head = (
                f"{json.dumps(one, ensure_ascii=False)}{draw(gap)}:{draw(gap)}"
                if isinstance(value, dict)
                else ""
            )
            inner = value[one] if isinstance(value, dict) else one
            parts.append(f"{draw(gap)}{head}{draw(written(inner))}{draw(gap)}")
        last = draw(gap)
        return f"{opening}{','.join(parts)}{last}{closing}"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), _WORDS
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=4)),
    max_leaves=12,
)
OBJECTS = st.dictionaries(_KEYS, VALUES, max_size=5)
_OTHER = st.fixed_dictionaries(
    {"command": st.sampled_from(["npx", "/bin/other"]), "args": st.lists(_WORDS, max_size=2)}
)
_CALLED = st.fixed_dictionaries({"type": st.just("command"), "command": st.sampled_from(["true", "echo 'x"])})
_GROUPS = st.lists(st.fixed_dictionaries({"hooks": st.lists(_CALLED, max_size=2)}), max_size=2)


@st.composite
def client_settings(draw: st.DrawFn, keys: tuple[str, ...] = ("mcpServers",)) -> str:
    """Settings of a client, whose table of servers and hooks are as it takes them, and all else is anything."""
    value = dict(draw(OBJECTS))
    for key in (keys[0], "hooks"):
        value.pop(key, None)
    if draw(st.booleans()):
        servers: object = draw(st.dictionaries(_KEYS.filter(lambda key: key != "memory"), _OTHER, max_size=3))
        for key in reversed(keys[1:]):
            servers = {**draw(st.dictionaries(_WORDS, st.integers(), max_size=1)), key: servers}
        value[keys[0]] = servers
    if draw(st.booleans()):
        value["hooks"] = draw(
            st.dictionaries(st.sampled_from(["Stop", "PostToolUse", "Other"]), _GROUPS, max_size=3)
        )
    order = draw(st.permutations(sorted(value)))
    text = draw(written({key: value[key] for key in order}))
    return draw(st.sampled_from(["", "\ufeff"])) + draw(trivia()) + text + draw(trivia())
