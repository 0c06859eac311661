"""Texts that collations treat as equal or order in special ways.

They differ in case, accents, blanks, control characters or contractions.
"""

from __future__ import annotations

_LATIN = (
    "a A b B á Á à ä Ä å Å æ Æ ae AE oe œ Œ ø o ö ü oe ß ẞ ss SS s sS straße strasse STRASSE ñ n Ñ ç c "
    "ch CH Ch lj Lj ǉ i I İ ı ÿ y Ÿ e é è e\u0301 E\u0301 \u0301 \u0308 a\u0308 ø\u0301 \u0301\u0301 ﬁ fi FI ﬀ ff "
    "Ǆ dž DŽ ǆ Ａ ａ K K k ll LL"
)
_OTHER = (
    "Σ σ ς Ω Ω µ μ Ж ж ё е й и א בּ ב ا أ ﷺ ก กำ か が カ ｶ ガ ｶﾞ は ば ぱ "
    "ー あー ああ 漢 字 한 한 각 ０ 1 １ ① ² 2 ½ 1/2 1⁄2 ० ٠ 0 00 -0 "
    "😀 😁 🎉 a😀 a😁 👍🏽 👍 🇩🇪 🇫🇷 🧑\u200d💻 𐐀 𐐨 𝐀 € EUR £ ¥ © ® ™ tm TM % _ \\ ' \" ` “ ” ‘ ’ – — - ... … ﾊ ～ \\x"
)
_BLANK = [
    "",
    " ",
    "  ",
    "\t",
    "\x00",
    "\x01",
    "\x00\x00",
    "\xa0",
    "\u3000",
    "\u2003",
    "a ",
    "a  ",
    "A ",
    "a\t",
    "a\t ",
    "a\n",
    "a\r",
    "a\r\n",
    "a\x00",
    "a\x01",
    "a\x1f",
    "a\x7f",
    " a",
    "a b",
    "a  b",
    "ab",
    "a\tb",
    "a-b",
    "a\u00adb",
    "a\u200bb",
    "a\ufeffb",
    "a\xa0",
    "a\xa0b",
    "a\u3000",
    "a\u2003",
    "a\u200b",
    "a\u200d",
    "\u2028",
    "\ufffd",
    "\U0010ffff",
    "a \u0301",
    "a\u0301 ",
    "a \x00",
    "a\x00 ",
    "a\xa0 ",
    "a \xa0",
    "\xa0 ",
    " \u0301",
    "\u0301 ",
    "a\u2003\u3000",
    "á ",
    "Á\xa0",
    "ａ\u3000",
    "ab ",
    "b ",
    "b\xa0",
    "a \t",
    "a\t\t",
    "a\u200b ",
    "a \u200b",
    " a ",
    "a  b ",
    "😀 ",
]
_LONG = [
    "x" * 190,
    "x" * 191,
    "X" * 191,
    "x" * 190 + "y",
    "x" * 190 + " ",
    "é" * 191,
    "e" * 191,
    "ß" * 95,
    "s" * 190,
    "ﷺ" * 50,
    "ﷺ" * 50 + "a",
    "漢" * 191,
    "漢" * 190 + "字",
    " " * 191,
    "a" + " " * 190,
    "\x00" * 191,
    "\u0301" * 191,
    "😀" * 191,
    "😀" * 190 + "😁",
    "a" * 150 + " " * 9 + "b",
    "a" * 150 + "b",
]

TEXTS = list(dict.fromkeys([*_LATIN.split(" "), *_OTHER.split(" "), *_BLANK, *_LONG]))
