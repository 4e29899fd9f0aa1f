"""How numbers are written: one line for each way, with what is large, small, negative or missing."""

import pytest

from ltr.report.words import (
    between,
    fixed,
    milliseconds,
    objective,
    p_value,
    percent,
    share,
    short,
    signed,
    span,
    tick,
    weight,
    without_zero,
)


@pytest.mark.parametrize(
    "written, expected",
    [
        ([share(0.72649), share(2e6), share(None)], ["0.726", "2e+06", "–"]),
        ([percent(0.72649), percent(None)], ["72.6\u00a0%", "–"]),
        ([signed(0.2080), signed(-0.01), signed(-2e6), signed(None)], ["+0.208", "−0.010", "−2e+06", "–"]),
        ([short(160.17112), short(0.000012345), short(4.0)], ["160.2", "1.234e-05", "4"]),
        ([short(395210.9), short(-0.25), short(-2e9), short(None)], ["395,211", "−0.25", "−2e+09", "–"]),
        ([span(0.682, 0.768), span(-12.5, 8.0, short), span(None, None)], ["[0.682, 0.768]", "[−12.5, 8]", "–"]),
        ([fixed(0.76667), fixed(None)], ["0.767", "-"]),
        (
            [without_zero(0.6904), without_zero(1.0), without_zero(-0.25), without_zero(0.9996)],
            [".690", "1.000", "-.250", "1.000"],
        ),
        ([between(0.682, 1.0), between(-0.25, 1.0, "{:+.3f}".format)], ["[.682, 1.000]", "[-0.250, +1.000]"]),
        ([between(None, None)], ["-"]),
        ([weight(0.25), weight(-12.5), weight(0.00012345), weight(0.0)], ["+0.250", "-12.500", "+0.000123", "+0.000"]),
        ([milliseconds(0.0123), milliseconds(12.345), milliseconds(1234.5)], ["0.012", "12.3", "1,234"]),
        ([objective(0.763021), objective(5.458e21), objective(1.2e-7)], ["0.76302", "5.458e+21", "1.2e-07"]),
        ([objective(None), tick(0.2), tick(-2000000.0), tick(1e-6)], ["–", "0.2", "−2e+06", "1e-06"]),
        ([p_value(0.04214), p_value(0.00002)], ["0.0421", "< 0.0001"]),
    ],
)
def test_a_number_is_written_in_the_digits_that_say_something(written, expected):
    assert written == expected
