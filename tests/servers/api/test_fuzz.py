"""Whatever is sent is answered as the description has it: no fault of the server, a known status, the right shape."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.servers.api import errors, routes
from commonplace.servers.api.operations import Operation
from tests.schemas import check
from tests.servers.api.conftest import TOKEN, Api

_EXAMPLES = 60  # of each operation, by schemathesis
_ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def fitting(schema: Any) -> st.SearchStrategy[Any]:
    """Values that fit a schema of those that requests have."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "string":
            return st.text(min_size=schema.get("minLength", 0), max_size=min(40, schema.get("maxLength", 40)))
        case "integer":
            return st.integers(schema["minimum"], schema["maximum"])
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(fitting(schema["items"]), min_size=schema.get("minItems", 0), max_size=3)
    required = schema.get("required", ())
    parts = {name: fitting(part) for name, part in schema["properties"].items()}
    return st.fixed_dictionaries(
        {name: part for name, part in parts.items() if name in required},
        optional={name: part for name, part in parts.items() if name not in required},
    )


@st.composite
def requests(draw: st.DrawFn) -> tuple[Operation, str, bytes | None, dict[str, str]]:
    """A request that fits an operation, or something else in its place."""
    one = draw(st.sampled_from(routes.operations()))
    query = draw(fitting({"type": "object", "properties": one.query, "required": one.required}))
    body = draw(fitting(one.body)) if one.body else None
    if draw(st.booleans()):
        query = draw(st.dictionaries(st.sampled_from([*one.query, "x"]), st.text(max_size=20), max_size=3))
        body = draw(_ANY) if one.body else None
    plain = {k: str(v).lower() if isinstance(v, bool) else v for k, v in query.items()}
    address = f"{one.path}?{urlencode(plain, doseq=True, errors='replace')}" if plain else one.path
    headers = {"if_none_match": "*"} if one.headers and draw(st.booleans()) else {}
    return one, address, None if one.body is None else json.dumps(body).encode(), headers


@given(sent=st.lists(requests(), min_size=6, max_size=10), is_page=st.booleans())
def test_whatever_is_sent_is_answered_as_it_is_described(
    api: Api, private_home: Path, sent: list[Any], is_page: bool
) -> None:
    own = api.own() if is_page else {}
    for one, address, body, headers in sent:
        status, answer, told = api.raw(one.method, address, body, **headers, **own)
        described = api.document["paths"][one.path][one.method.lower()]["responses"]
        assert str(status) in described, (one.name, address, body, answer)
        assert told["content-type"] == "application/json"
        if status < 300:
            api.checked(one.method, one.path, (status, answer))
        else:
            assert answer["error"]["code"] in errors.CODES.values()
            assert isinstance(answer["error"]["message"], str)


@pytest.mark.slow
def test_schemathesis_finds_nothing_in_the_description(api: Api, tmp_path: Path) -> None:
    if not (python := os.environ.get("FUZZ_PYTHON")):
        pytest.skip("FUZZ_PYTHON names no environment with schemathesis; `./run test --slow` makes one")
    program = Path(python).with_name("schemathesis")
    done = subprocess.run(
        [
            program, "run", f"http://127.0.0.1:{api.server.port}/api/openapi.json", "--no-color",
            "--header", f"Authorization: Bearer {TOKEN.reveal()}", "--max-examples", str(_EXAMPLES),
            "--exclude-path", "/api/events",  # which never ends
            # What fits its type and is no query, date or path is refused; what is excluded asks for every such value.
            "--exclude-checks", "positive_data_acceptance", "--phases", "examples,coverage,fuzzing", "--seed", "1",
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=380, check=False,
    )  # fmt: skip
    assert done.returncode == 0, "\n".join(line[:300] for line in done.stdout.splitlines())[-20_000:]
    assert not [line for line in api.server.lines if " 500 " in line]


def test_every_part_of_a_schema_that_answers_have_is_checked() -> None:
    """`schemas.problem` passes over keywords that it does not know."""
    for one in routes.operations():
        check(one.answer)
