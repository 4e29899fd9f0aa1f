import pytest

from ltr.data.importers.tally import Tally
from ltr.data.redaction import redact_sample, redacted


@pytest.mark.parametrize(
    "text, expected",
    [
        ("write to ann.lee+x@mail.example.co.uk, today", "write to [mail], today"),
        ("my key is sk-proj-abcdefghij0123456789", "my key is [key]"),
        ("AKIAIOSFODNN7EXAMPLE and ghp_abcdefghijklmnopqrst12", "[key] and [key]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- done", "[key] done"),
        ("Authorization: Bearer abc.def_ghi-jkl", "Authorization: [token]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig-1", "[token]"),
        ('{"password": "hunter2hunter", "city": "Oslo"}', '{"[token]", "city": "Oslo"}'),
    ],
)
def test_mail_addresses_keys_and_tokens_are_replaced(text, expected):
    assert redacted(text, Tally()) == expected


@pytest.mark.parametrize(
    "text",
    [
        "rain @ noon?",
        "task-list of the desk-top",
        "a token of thanks",
        "mail: Ann",
        "1+1=2",
        "pk-command-not-found.c",
        "token = self.get_token()",
        "secret: Optional[str]",
    ],
)
def test_plain_words_stay(text):
    assert redacted(text, Tally()) == text


def test_what_was_replaced_is_counted_and_other_fields_stay():
    tally = Tally()
    line = {"trace_id": "a@b.org", "query": "mail a@b.org and c@d.org", "context": "user: sk-abcdefghijklmnopqrstuv"}
    assert redact_sample(line, tally) == {
        "trace_id": "a@b.org",
        "query": "mail [mail] and [mail]",
        "context": "user: [key]",
    }
    assert [(count.reason, count.number) for count in tally.remarks()] == [
        ("mail addresses replaced by [mail]", 2),
        ("keys replaced by [key]", 1),
    ]


def test_a_long_text_without_secrets_takes_time_in_proportion_to_its_length():
    text = "a@" * 200_000 + "-" * 200_000 + "-----BEGIN PRIVATE KEY-----" * 2000
    assert len(redacted(text, Tally())) < len(text)
