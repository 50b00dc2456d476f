import pytest

from virtshape.client.requestlog import Exchange, describe_exchange

ASKED = Exchange("POST", "https://x/y", 201, 0.0126, b'{"a": 1}', b'{"b": 2}\n')
HEAD = "POST https://x/y 201 Created in 13 milliseconds"
LOG_BODIES = ['Request Body: {"a": 1}', 'Response Body: {"b": 2}']


@pytest.mark.parametrize(
    ("level", "lines"),
    [(-1, []), (0, []), (5, []), (6, [HEAD]), (7, [HEAD]), (8, [HEAD, *LOG_BODIES]), (10, [HEAD, *LOG_BODIES])],
)
def test_higher_verbosity_levels_log_more_of_a_request(level: int, lines: list[str]) -> None:
    assert describe_exchange(ASKED, level) == lines


@pytest.mark.parametrize(
    ("status", "message"),
    [(0, "no response"), (404, "404 Not Found"), (599, "599"), (101, "101 Switching Protocols")],
)
def test_response_status_is_in_the_request_log(status: int, message: str) -> None:
    assert describe_exchange(Exchange("GET", "/", status, 1.0), 6) == [f"GET / {message} in 1000 milliseconds"]


@pytest.mark.parametrize(("level", "kept"), [(8, 1024), (9, 10240), (10, 20000)])
def test_long_bodies_are_truncated_in_the_request_log(level: int, kept: int) -> None:
    _, line = describe_exchange(Exchange("GET", "/", 200, 0, received=b"x" * 20000), level)
    assert line.count("x") == kept
    assert ("more characters" in line) is (kept < 20000)


@pytest.mark.parametrize("body", ['{"token":"s3cr3t","a":1}', '{"status": {"token" : "s3cr3t\\"s3cr3t"}, "a": 1}'])
def test_tokens_are_never_in_the_request_log(body: str) -> None:
    for exchange in (Exchange("GET", "/", 200, 0, body.encode()), Exchange("GET", "/", 200, 0, b"", body.encode())):
        text = "\n".join(describe_exchange(exchange, 10))
        assert "s3cr3t" not in text
        assert '"a"' in text
