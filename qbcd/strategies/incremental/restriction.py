"""A query restricted to some keys of its result.

The condition is placed as deep inside as possible, so that indexes serve it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from sqlglot import exp

from qbcd.queries.syntax_tree import Tree, conjuncts, operand, relations, selects
from qbcd.queries.unsupported import is_total
from qbcd.strategies.incremental.comparison_types import Kinds
from qbcd.strategies.incremental.determinism import BY_OTHERS, Unknown, trait_of

KEYS = "qbcd_k"  # alias of the keys
Equal = Callable[[str, Tree, Tree], Tree]  # of a key column, by its name, and two values of it


def equal(name: str, left: Tree, right: Tree) -> Tree:
    """Compare by the database's own operator."""
    return exp.EQ(this=left, expression=right)


class Restriction:
    """Restricts queries to the keys in a relation.

    Args:
        keys: The relation, with the key's column names.
        unknown: Properties of the query's derived tables.
        exact: Key columns whose equal values are the same in every use, so that a join by equality passes them on. (Two
            spellings of one case-insensitive text are one key, and different texts.)
        equal: Comparison of a key column, the same that forms groups.
    """

    def __init__(
        self, keys: Tree, unknown: Unknown, kinds: Kinds, exact: Collection[str], equal: Equal = equal
    ) -> None:
        self._keys, self._unknown, self._kinds, self._exact, self._equal = keys, unknown, kinds, exact, equal

    def restrict(self, tree: exp.Query, key: Sequence[tuple[str, int]]) -> exp.Query:
        """Return a copy of a query, restricted to the keys.

        `key` has its column names with their positions.
        """
        made: Tree = tree.copy()
        for select in selects(made):
            self._restrict(
                select, {name: select.expressions[position].unalias() for name, position in key}, self._exact
            )
        found: exp.Query = made
        return found

    def _restrict(self, select: exp.Select, by: Mapping[str, Tree], passed_on: Collection[str]) -> None:
        """Restrict one SELECT by expressions over its rows.

        First restrict its derived tables that are joined by equality: their rows that lead to other keys do not matter.

        Args:
            by: Expressions over its rows by the names of the key columns.
            passed_on: Names of columns whose values an equality with another kind of value may pass on.
        """
        if is_total(select):
            return
        for item, optional, equal in _followed(select):
            names, still = dict[str, str](), list[str]()
            for name in (name for name in by if name in self._exact):
                same, other = self._columns(by[name], item.alias, optional, equal)
                if same or (other and name in passed_on):
                    names[name] = (same or other)[0]
                    still += [name] if same and name in passed_on else []
            self._restrict_derived(item, names, still)
        wanted = [self._equal(n, exp.column(n, KEYS, quoted=True), operand(e)) for n, e in by.items()]
        rows = exp.select("1").from_(exp.alias_(self._keys.copy(), KEYS, table=True, quoted=True))
        select.where(exp.Exists(this=rows.where(*wanted) if wanted else rows), copy=False)

    def _restrict_derived(self, item: exp.Subquery, by: Mapping[str, str], passed_on: Collection[str]) -> None:
        names = [e.alias_or_name for e in selects(item)[0].expressions]
        places = {name: names.index(column) for name, column in by.items()}
        places = {name: place for name, place in places.items() if not self._kinds.differ(item, place)}
        for inner in selects(item) if places else ():
            by_inner = {
                n: inner.expressions[place].unalias() for n, place in places.items() if self._may_restrict(inner, place)
            }
            if by_inner:
                self._restrict(inner, by_inner, passed_on)

    def _may_restrict(self, select: exp.Select, position: int) -> bool:
        """Return True if a SELECT may be restricted by equality of a column with a key.

        All rows that make up a row of its result then have that value.
        """
        trait = trait_of(select, position, self._unknown)
        return trait.known and not (trait.loose and trait.alike in BY_OTHERS)

    def _columns(self, mine: Tree, alias: str, optional: bool, equal: Sequence[Tree]) -> tuple[list[str], list[str]]:
        """Return columns of a derived table that must equal `mine`: (of its kind, of another kind)."""
        found = [mine] if not optional else []
        for test in equal:
            sides = (test.this, test.expression)
            found += [other for one, other in (sides, sides[::-1]) if one == mine]
        columns = [c for c in found if isinstance(c, exp.Column) and c.table == alias]
        known = [c for c in columns if self._unknown.trait(alias, c.name).known]
        same = [c.name for c in known if self._kinds.alike(c, mine)]
        return same, [c.name for c in known if c.name not in same]


def _followed(select: exp.Select) -> Iterator[tuple[exp.Subquery, bool, list[Tree]]]:
    """Yield derived tables, if their rows may be missing, and equalities that these must meet."""
    joins = select.args.get("joins") or []
    if any(join.side in ("RIGHT", "FULL") for join in joins):
        return
    where = select.args.get("where")
    always = conjuncts(where.this if where is not None else None)
    for join in joins:
        always += [] if join.side else conjuncts(join.args.get("on"))
    for number, item in enumerate(relations(select)):
        if isinstance(item, exp.Subquery):
            own = joins[number - 1] if number else None
            optional = own is not None and bool(own.side)
            more = conjuncts(own.args.get("on")) if own is not None and optional else []
            yield item, optional, [test for test in (*always, *more) if isinstance(test, exp.EQ)]
