"""Letters, alphabets, words, batches, and the text form that must carry every letter."""

from __future__ import annotations

import itertools
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnncheck.errors import (
    AlphabetError,
    ExpressionError,
    FormatError,
    InputError,
    MissingExtraError,
    StateLimitError,
    short_repr,
)
from rnncheck.words import (
    EPSILON,
    Alphabet,
    WordBatch,
    encode_batch,
    format_word,
    letter_text,
    parse_word,
    quoted,
    read_quoted,
    shortlex_key,
)
from support.strategies import ODD_LETTERS, ONE_LINE, all_words, alphabets, letters, refusal, words

AB = Alphabet(["a", "b"])
batches_of_codes = st.lists(st.lists(st.integers(0, 3), max_size=6).map(tuple), max_size=8)


class TestTextForm:
    @given(st.lists(letters(), max_size=5).map(tuple))
    def test_every_word_survives(self, word):
        assert parse_word(format_word(word)) == word

    @given(alphabets(max_size=6))
    def test_every_alphabet_survives(self, alphabet):
        assert Alphabet.parse(str(alphabet)) == alphabet

    def test_every_pair_of_odd_letters_survives(self):
        for pair in itertools.product(ODD_LETTERS, repeat=2):
            assert parse_word(format_word(pair)) == pair
            if pair[0] != pair[1]:
                assert Alphabet.parse(str(Alphabet(pair))).letters == pair

    @given(letters())
    def test_text_is_one_printable_line_that_any_file_can_hold(self, letter):
        for text in (letter_text(letter), quoted(letter)):
            assert text.isprintable()
            text.encode("utf-8")
            assert read_quoted(quoted(letter), 0) == (letter, len(quoted(letter)))

    @pytest.mark.parametrize(
        ("text", "word"),
        [
            ("", ()),
            ("  \t\n", ()),
            ("ε", ()),
            (" ε ", ()),
            ("a", ("a",)),
            ("  a   b\tc\n", ("a", "b", "c")),
            ("<book> 1157 a.b", ("<book>", "1157", "a.b")),
            ("'a b' \"it's\" ''", ("a b", "it's", "")),
            ("'ε'", ("ε",)),
            (r"'\n\t\r\\\'\"'", ("\n\t\r\\'\"",)),
            (r"'\u{41}\u{1F600}'", ("A\U0001f600",)),
            ("it's", ("it's",)),
            ("a,b", ("a,b",)),
        ],
    )
    def test_reading(self, text, word):
        assert parse_word(text) == word

    @pytest.mark.parametrize(
        ("word", "text"),
        [((), EPSILON), (("a", "b"), "a b"), (("ε",), "'ε'"), (("",), "''"), (("a b",), "'a b'"), (("\n",), r"'\n'")],
    )
    def test_writing(self, word, text):
        assert format_word(word) == text

    @pytest.mark.parametrize(
        ("text", "column", "part"),
        [
            ("a ε b", 3, "cannot stand among letters"),
            ("a 'b", 3, "not closed"),
            ("a \"b'", 3, "not closed"),
            ("'a\\", 1, "not closed"),
            ("a 'b'c", 6, "separator is missing"),
            (r"'a\q'", 3, r"unknown escape \q"),
            ("'a\\\n'", 3, "unknown escape"),
            (r"'\u{}'", 2, "unknown escape"),
            (r"'\u{110000}'", 2, "no character"),
        ],
    )
    def test_bad_words_name_the_column(self, text, column, part):
        with pytest.raises(ExpressionError, match=ONE_LINE) as caught:
            parse_word(text)
        assert caught.value.column == column
        assert part in str(caught.value)
        assert f"column {column}" in str(caught.value)

    @pytest.mark.parametrize(
        ("text", "column"), [(",a", 1), ("a,,b", 3), ("a,", 3), ("a, ", 4), ("'a' 'b'", 5), ("'a'b", 4), ("a,'b", 3)]
    )
    def test_bad_alphabets_name_the_column(self, text, column):
        with pytest.raises(ExpressionError) as caught:
            Alphabet.parse(text)
        assert caught.value.column == column

    @given(st.text(st.characters()))
    def test_any_text_is_a_word_or_a_named_error(self, text):
        error = refusal(lambda: parse_word(text))
        if error is None:
            assert parse_word(format_word(parse_word(text))) == parse_word(text)
        else:
            assert isinstance(error, ExpressionError)
            assert 1 <= error.column <= len(text) + 1
            assert re.match(ONE_LINE, str(error))

    @given(st.text(st.characters()))
    def test_any_text_is_an_alphabet_or_a_named_error(self, text):
        error = refusal(lambda: Alphabet.parse(text))
        if error is None:
            assert Alphabet.parse(str(Alphabet.parse(text))) == Alphabet.parse(text)
        else:
            assert isinstance(error, ExpressionError | AlphabetError)
            assert re.match(ONE_LINE, str(error))


class TestAlphabet:
    @given(alphabets(max_size=6), st.data())
    def test_encode_and_decode_are_inverse(self, alphabet, data):
        word = data.draw(words(alphabet))
        codes = alphabet.encode(word)
        assert [alphabet[code] for code in codes] == list(word)
        assert alphabet.decode(codes) == word
        assert alphabet.encode(iter(word)) == codes

    def test_is_a_sequence(self):
        assert list(AB) == ["a", "b"]
        assert len(AB) == 2
        assert AB[0] == "a"
        assert AB[-1] == "b"
        assert "a" in AB
        assert "c" not in AB
        assert 7 not in AB
        assert list(reversed(AB)) == ["b", "a"]
        assert AB.index("b") == 1

    def test_order_matters(self):
        assert Alphabet(["a", "b"]) == AB
        assert Alphabet(["b", "a"]) != AB
        assert AB != ("a", "b")
        assert hash(Alphabet(["a", "b"])) == hash(AB)
        assert pickle.loads(pickle.dumps(AB)) == AB

    @pytest.mark.parametrize(
        ("given_letters", "part"),
        [
            ([], "empty"),
            (iter([]), "empty"),
            (["a", "b", "a"], "'a' appears twice"),
            ("ab", "Alphabet.parse('ab')"),
            ([1, 2], "letter 1 is a int"),
            ([["a"]], "is a list"),
            ([None], "NoneType"),
            (5, "5 is not a sequence"),
        ],
    )
    def test_bad_alphabets(self, given_letters, part):
        with pytest.raises(AlphabetError, match=ONE_LINE) as caught:
            Alphabet(given_letters)
        assert part in str(caught.value)

    @pytest.mark.parametrize("text", ["", "  "])
    def test_no_letters_in_text(self, text):
        with pytest.raises(AlphabetError, match="empty"):
            Alphabet.parse(text)

    def test_unknown_letters_are_named_with_a_remedy(self):
        with pytest.raises(AlphabetError, match=r"'c' \(letter 2 of the word\); the alphabet has 2: a, b"):
            AB.encode(("a", "c"))
        with pytest.raises(AlphabetError, match="write 'a b a'"):
            AB.encode(("aba",))
        with pytest.raises(AlphabetError, match="unknown letter"):
            AB.encode([["a"]])
        with pytest.raises(AlphabetError, match="unknown letter 0"):
            AB.encode((0, 1))
        with pytest.raises(AlphabetError, match="unknown letter"):
            AB.index("z")
        many = Alphabet(map(str, range(1000)))
        with pytest.raises(AlphabetError, match=r"has 1000: 0, 1, 2, 3, 4, 5, 6, 7, …\Z"):
            many.encode(("x",))

    @pytest.mark.parametrize("word", ["ab", 5, None])
    def test_what_is_not_a_word(self, word):
        with pytest.raises(InputError, match="a word is a sequence of letters"):
            AB.encode(word)


class TestShortlex:
    @given(batches_of_codes)
    def test_shorter_first_then_by_letters(self, codes):
        ordered = sorted(codes, key=shortlex_key)
        for before, after in itertools.pairwise(ordered):
            assert len(before) < len(after) or (len(before) == len(after) and before <= after)

    def test_follows_the_alphabet(self):
        alphabet = Alphabet(["z", "a"])
        listed = [alphabet.encode(word) for word in all_words(alphabet, 3)]
        assert sorted(set(listed), key=shortlex_key) == listed
        assert alphabet.decode(listed[1]) == ("z",)


class TestWordBatch:
    @given(batches_of_codes)
    def test_holds_what_was_packed(self, codes):
        batch = WordBatch.from_codes(codes)
        assert len(batch) == len(codes)
        assert list(batch) == codes
        assert [batch[i] for i in range(len(codes))] == codes
        assert [batch[i] for i in range(-len(codes), 0)] == codes
        assert batch.lengths.tolist() == [len(word) for word in codes]
        assert batch == WordBatch.from_codes(iter(codes))
        assert pickle.loads(pickle.dumps(batch)) == batch
        for outside in (len(codes), -len(codes) - 1):
            with pytest.raises(IndexError):
                batch[outside]

    @given(batches_of_codes, st.data())
    def test_take(self, codes, data):
        batch = WordBatch.from_codes(codes)
        indices = data.draw(st.lists(st.integers(-len(codes), len(codes) - 1), max_size=12)) if codes else []
        assert list(batch.take(indices)) == [codes[i] for i in indices]
        assert list(batch.take(np.array(indices, dtype=np.int64))) == [codes[i] for i in indices]
        mask = data.draw(st.lists(st.booleans(), min_size=len(codes), max_size=len(codes)))
        assert list(batch.take(np.array(mask, dtype=bool))) == [c for c, keep in zip(codes, mask, strict=True) if keep]

    @given(alphabets(), st.data())
    def test_from_words(self, alphabet, data):
        drawn = data.draw(st.lists(words(alphabet), max_size=6))
        batch = WordBatch.from_words(alphabet, drawn)
        assert [alphabet.decode(codes) for codes in batch] == drawn
        assert encode_batch(alphabet, iter(drawn)) == batch
        assert encode_batch(alphabet, batch) is batch

    def test_equality(self):
        assert WordBatch.from_codes([(0,), (1,)]) != WordBatch.from_codes([(0, 1)])
        assert WordBatch.from_codes([(0,), (1,)]) != WordBatch.from_codes([(0,), (2,)])
        assert WordBatch.from_codes([()]) != WordBatch.from_codes([])
        assert WordBatch.from_codes([]) != []
        assert repr(WordBatch.from_codes([(0, 1), ()])) == "<WordBatch of 2 words, 2 letters>"

    def test_does_not_share_memory(self):
        codes, offsets = np.zeros(2, dtype=np.int32), np.array([0, 2])
        batch = WordBatch(codes, offsets)
        codes[0] = 1
        assert list(batch) == [(0, 0)]
        for array in (batch.codes, batch.offsets):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1

    @pytest.mark.parametrize(
        ("codes", "offsets"),
        [
            ([], []),
            ([0], [0]),
            ([0], [0, 2]),
            ([0], [1, 1]),
            ([0, 0], [0, 2, 1, 2]),
            ([0.5], [0, 1]),
            ([2**32], [0, 1]),
            ([2**31], [0, 1]),
            (["a"], [0, 1]),
            ([[0]], [0, 1]),
            ([0], 1),
        ],
    )
    def test_parts_that_do_not_fit(self, codes, offsets):
        with pytest.raises(InputError, match=ONE_LINE):
            WordBatch(codes, offsets)

    @pytest.mark.parametrize("codes", [[("a",)], [(2**40,)], [(None,)]])
    def test_codes_that_are_none(self, codes):
        with pytest.raises(InputError, match="from_words"):
            WordBatch.from_codes(codes)

    def test_words_that_are_none(self):
        with pytest.raises(InputError, match="list of words"):
            WordBatch.from_words(AB, "ab")
        with pytest.raises(InputError, match="sequence of letters"):
            WordBatch.from_words(AB, ["ab"])
        with pytest.raises(AlphabetError, match="unknown letter 'c'"):
            encode_batch(AB, [("a",), ("c",)])

    @pytest.mark.parametrize("code", [-1, 2])
    def test_positions_outside_the_alphabet(self, code):
        with pytest.raises(AlphabetError, match=f"position {code} is outside an alphabet of 2"):
            encode_batch(AB, WordBatch.from_codes([(0,), (1, code)]))

    def test_a_mask_of_the_wrong_length(self):
        with pytest.raises(InputError, match="one boolean each"):
            WordBatch.from_codes([(0,), (1,)]).take([True])


class TestErrors:
    def test_shown_is_one_short_line(self):
        assert short_repr("a\nb") == r"'a\nb'"
        assert short_repr(np.zeros((2, 2))) == "array([[0., 0.], [0., 0.]])"
        assert short_repr("x" * 1000) == "'" + "x" * 58 + "…"

    @pytest.mark.parametrize(
        "error",
        [
            ExpressionError("bad", "a\nb", 2),
            FormatError("bad", "file.dot", 3, 4),
            FormatError("bad", "file.dot"),
            StateLimitError("the product", 10),
            MissingExtraError("drawing", "draw"),
        ],
    )
    def test_errors_cross_process_borders(self, error):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
        assert str(copy) == str(error)
        assert vars(copy) == vars(error)

    def test_places(self):
        assert str(FormatError("bad", "f")) == "f: bad"
        assert str(FormatError("bad", "f", 3)) == "f:3: bad"
        assert str(FormatError("bad", "f", 3, 4)) == "f:3:4: bad"
        assert str(ExpressionError("bad", "x" * 30 + "\n" + "y" * 30, 31)).endswith(
            f"(column 31: …{'x' * 24}⟨here⟩\\n{'y' * 23}…)"
        )
