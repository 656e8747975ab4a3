"""Contact files: every published layout is read, and what is wrong is said with file and line."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from rnncheck.contacts import TemporalNetwork, parse_columns, read_contacts, write_contacts
from rnncheck.errors import FormatError, InputError
from support.clocks import calls_of
from support.contact_networks import networks
from support.paths import SHARED_DATA
from support.strategies import ONE_LINE

DATA = SHARED_DATA / "contacts"
needs_data = pytest.mark.skipif(not DATA.exists(), reason="the contact data is not beside the project (../shared/data)")

# people, contacts, different ones, pairs, different times, first and last time
PUBLISHED = {
    "scc2034_kilifi_all_contacts_across_households.csv": (28, 218, 68, 61, 8, 114, 311),
    "scc2034_kilifi_all_contacts_within_households.csv": (75, 32425, 3995, 515, 42, 107, 320),
    "tij_InVS.csv": (92, 9827, 9827, 755, 7104, 28820, 1016440),
    "tij_InVS15.csv": (217, 78249, 78249, 4274, 18488, 28840, 1022380),
    "highschool_2011.csv": (126, 28560, 28539, 1709, 5609, 54120, 326450),
    "detailed_list_of_contacts_Hospital.csv": (75, 32424, 32424, 1139, 9453, 140, 347640),
    "tij_SFHH.csv": (403, 70261, 70261, 9565, 3509, 32520, 146820),
}


def contacts_of(network: TemporalNetwork) -> list[tuple[int, str, str]]:
    people = network.people
    columns = (network.times.tolist(), people.decode(network.first), people.decode(network.second))
    return list(zip(*columns, strict=True))


@pytest.fixture
def file(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "contacts.csv"
        path.write_text(text, newline="")
        return path

    return write


@pytest.mark.parametrize(
    "text",
    [
        "20,1157,1232\n40,1157,9\n",
        "20\t1157\t1232\n40\t1157\t9\n",
        "20 1157 1232\n40 1157 9",
        "20,1157,1232\r\n40,1157,9\r\n",
        " 20 , 1157 ,1232\n\n40, 1157, 9\n\n",
        "# a comment\n20  1157   1232\n40 1157 9\n",
        "t,i,j\n20,1157,1232\n40,1157,9\n",
        "t i j\n20 1157 1232\n40 1157 9\n",
        "\ufeff20,1157,1232\n40,1157,9\n",
        "40,1157,9\n20,1157,1232\n",
        '20,"1157","1232"\n40,"1157", "9" \n',
        '"t"\t"i"\t"j"\n20\t"1157"\t"1232"\n40\t1157\t9\n',
    ],
)
def test_separators_headers_and_white_space(file, text: str) -> None:
    """Should read the same contacts, ids kept as text, in the order of time."""
    network = read_contacts(file(text))
    assert contacts_of(network) == [(20, "1157", "1232"), (40, "1157", "9")]


def test_people_are_numbered_in_the_order_of_appearance(file) -> None:
    """Should number people down the lines, not by time, as the released alphabets do."""
    assert read_contacts(file("9,z,y\n1,a,z\n")).people.letters == ("z", "y", "a")


@pytest.mark.parametrize("header", ["", "t\ti\tj\tCi\tCj\n", "t\ti\tj\tSi\tSj\n"])
def test_groups_are_read(file, header: str) -> None:
    """Should take columns four and five as the groups of the two people."""
    network = read_contacts(file(header + "140\t1157\t1232\tMED\tADM\n160\t1191\t1157\tPAT\tMED\n"))
    assert network.groups == {"1157": "MED", "1232": "ADM", "1191": "PAT"}


def test_the_kenyan_households_as_published(file) -> None:
    """Should join household and member to a person, and day and hour to a time in hours."""
    header = "h1,m1,h2,m2,age1,age2,sex1,sex2,duration,day,hour\n"
    network = read_contacts(file(header + "E,2,E,4,1,3,F,M,40,2,7\nE,23,F,3,1,3,F,M,20,1,20\n"))
    assert contacts_of(network) == [(44, "E23", "F3"), (55, "E2", "E4")]


def test_columns_can_be_told(file) -> None:
    """Should read any order of columns that is told, and pass over those named -."""
    path = file("x y 7 0.5\ny z 9 0.25\n")
    network = read_contacts(path, columns=parse_columns("person1,person2,time,-"))
    assert contacts_of(network) == [(7, "x", "y"), (9, "y", "z")]
    told = read_contacts(file("t,i,j\n1,a,b\n"), columns=parse_columns("time, person2, person1"))
    assert contacts_of(told) == [(1, "b", "a")]


BAD = {
    "empty file": ("", "there are no contacts in it"),
    "comments alone": ("# nothing\n\n", "there are no contacts in it"),
    "header alone": ("t,i,j\n", "a header but no contact"),
    "two columns": ("1,a\n", ":1: 2 columns in '1,a'"),
    "four columns": ("1,a,b,4\n", ":1: 4 columns"),
    "a line too short": ("1,a,b\n2,a,c\n\n3,a\n", ":4: 2 columns, but 3 are expected (in '3,a')"),
    "a line too long": ("1,a,b\n2,a,c,d\n", ":2: 4 columns, but 3 are expected"),
    "other separator": ("1,a,b\n2 a c\n", ":2: 1 columns, but 3"),
    "text as time": ("1,a,b\nnoon,a,c\n", ":2: time 'noon' is not a whole number"),
    "fraction as time": ("1.5,a,b\n", ":1: time '1.5' is not a whole number"),
    "empty time": ("1,a,b\n,a,c\n", ":2: time '' is not a whole number"),
    "time in another column": ("a b 1\n", ":1: time 'a' is not a whole number; is the time in column 3?"),
    "unknown header": (
        "when,who,whom\n1,a,b\n",
        ":1: time 'when' is not a whole number; if this line is a header, put #",
    ),
    "semicolons": ("1;a;b\n", ":1: 1 column in '1;a;b'"),
    "a quote that does not end": ('1,"a,b\n', ":1: 2 columns"),
    "negative time": ("1,a,b\n-20,a,c\n", ":2: time '-20' is negative"),
    "huge time": ("1,a,b\n99999999999999999999,a,c\n", ":2: time 99999999999999999999 is too large"),
    "self-contact": ("1,a,b\n2,b,b\n", ":2: 'b' meets itself"),
    "one person": ("1,a,a\n2,a,a\n", ":1: 'a' meets itself"),
    "empty name": ("1,a,b\n2,,b\n", ":2: the name in column person1 is empty"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_with_file_and_line(file, name: str) -> None:
    """Should be one line that begins with file and line number and shows the offender."""
    text, message = BAD[name]
    path = file(text)
    with pytest.raises(FormatError, match=ONE_LINE) as caught:
        read_contacts(path)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).count(str(path)) == 1
    assert message in str(caught.value)


def test_names_in_quotes_may_hold_the_separator(file) -> None:
    """Should read what spreadsheets write, and leave a quote inside a name alone."""
    assert contacts_of(read_contacts(file('1,"Li, W",5\'2"\n'))) == [(1, "Li, W", "5'2\"")]
    long = "x" * 200_000
    assert read_contacts(file(f'1,"{long}",b\n')).people.letters == (f'"{long}"', "b")


def test_bytes_that_are_no_text_and_files_that_are_not_there(tmp_path) -> None:
    """Should say so, with the line where there is one."""
    path = tmp_path / "contacts.csv"
    path.write_bytes(b"1,a,b\n2,\xff,c\n")
    with pytest.raises(FormatError, match=r"contacts.csv:2: byte 0xff"):
        read_contacts(path)
    with pytest.raises(FormatError, match="cannot be read"):
        read_contacts(tmp_path / "absent.csv")


class TestSelfContacts:
    MANY = "".join(f"{time},a,b\n" for time in range(1000))

    def test_a_rare_one_is_left_out_and_noted(self, file) -> None:
        """Should drop one line in a thousand, and say which."""
        network = read_contacts(file(self.MANY + "7,b,b\n"))
        assert len(network) == 1000
        assert network.notes == ("1 self-contact was left out (line 1001)",)

    def test_more_are_refused(self, file) -> None:
        """Should not take two in a thousand for errors of a sensor."""
        with pytest.raises(FormatError, match=":1001: 'b' meets itself"):
            read_contacts(file(self.MANY + "7,b,b\n8,a,a\n"))

    def test_the_choice_is_the_callers(self, file) -> None:
        """Should refuse even one, drop any number, or keep them, as told."""
        with pytest.raises(FormatError, match=":1001: 'b' meets itself"):
            read_contacts(file(self.MANY + "7,b,b\n"), self_contacts="refuse")
        path = file("1,a,b\n2,b,b\n3,c,c\n")
        dropped = read_contacts(path, self_contacts="drop")
        assert dropped.people.letters == ("a", "b")
        assert dropped.notes == ("2 self-contacts were left out (line 2, 3)",)
        assert len(read_contacts(path, self_contacts="keep")) == 3

    def test_nothing_left(self, file) -> None:
        """Should say that there is nobody to meet."""
        with pytest.raises(FormatError, match="no contacts in it but of people with themselves"):
            read_contacts(file("1,a,a\n"), self_contacts="drop")
        with pytest.raises(FormatError, match="only one person, 'a'"):
            read_contacts(file("1,a,a\n"), self_contacts="keep")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,person1", "both person1 and person2"),
        ("person1,person2", "one column must be time, or two day and hour"),
        ("time,time,person1,person2", "one column only"),
        ("day,person1,person2", "one column must be time"),
        ("time,hour,person1,person2", "one column must be time"),
        ("time,who,person2", "'who' is not one of time, day"),
        ("", "'' is not one of"),
    ],
)
def test_columns_that_make_no_contacts(text: str, message: str) -> None:
    """Should say what a contact needs."""
    with pytest.raises(InputError, match=message):
        parse_columns(text)


@given(networks())
def test_what_is_written_is_read_again(tmp_path_factory, network: TemporalNetwork) -> None:
    """Should give back the same contacts."""
    path = tmp_path_factory.mktemp("contacts") / "written.csv"
    write_contacts(network, path)
    assert contacts_of(read_contacts(path)) == contacts_of(network)


@pytest.mark.parametrize("name", ["a,b", " a", "", "a\nb", 'say "a"'])
def test_names_that_a_line_cannot_hold_are_not_written(tmp_path, name: str) -> None:
    """Should refuse before anything is written."""
    path = tmp_path / "contacts.csv"
    with pytest.raises(InputError, match="cannot be written"):
        write_contacts(TemporalNetwork.from_contacts([(1, name, "z")]), path)
    assert not path.exists()


@needs_data
class TestPublishedFiles:
    @pytest.mark.parametrize("name", PUBLISHED)
    def test_counts(self, name: str) -> None:
        """Should find the counts that the documentation states."""
        network = read_contacts(DATA / name)
        facts = (len(network.people), len(network), network.distinct_contacts, network.pairs, len(network.moments))
        assert (*facts, *network.times[[0, -1]].tolist()) == PUBLISHED[name]

    def test_there_are_no_others(self) -> None:
        """Should know every file."""
        assert {path.name for path in DATA.glob("*.csv")} == set(PUBLISHED)

    def test_the_largest_loads_quickly(self) -> None:
        """Should do little for each of 78 249 contacts."""
        assert calls_of(lambda: read_contacts(DATA / "tij_InVS15.csv")) < 20 * 78_249

    def test_other_separators_change_nothing(self, tmp_path) -> None:
        """Should read tabs and blanks, as the public downloads have them, alike."""
        source = DATA / "detailed_list_of_contacts_Hospital.csv"
        expected = read_contacts(source)
        for separator in ("\t", " "):
            path = tmp_path / "contacts.dat"
            path.write_text(source.read_text().replace(",", separator))
            network = read_contacts(path)
            assert network.people == expected.people
            assert network.groups == expected.groups
            assert np.array_equal(network.index.keys, expected.index.keys)
