"""The strongly connected components of a graph: the parts in which every state leads to every other one."""

from __future__ import annotations

from rnncheck.automata.minimisation import Ints, look_at_time


def components(table: Ints) -> list[list[int]]:
    """The components of the graph whose edges go from state i to ``table[i]``, each after all those it leads to.

    Tarjan's algorithm. A row becomes a list when its state is visited: all of them at once would not fit in memory
    for large alphabets.
    """
    found: list[list[int]] = []
    lowest = [0] * len(table)  # 0: not visited; while on the stack: the least number of a visit that the state leads to
    done = len(table) + 1
    stack: list[int] = []
    visits = 0
    for root in range(len(table)):
        if lowest[root]:
            continue
        path = [(root, len(stack), visits + 1, iter(table[root].tolist()))]
        while path:
            state, place, number, successors = path[-1]
            if not lowest[state]:
                visits += 1
                look_at_time(visits, 0)
                lowest[state] = number
                stack.append(state)
            for successor in successors:
                if not lowest[successor]:
                    path.append((successor, len(stack), visits + 1, iter(table[successor].tolist())))
                    break
                if lowest[successor] < lowest[state]:
                    lowest[state] = lowest[successor]
            else:
                path.pop()
                if lowest[state] == number:
                    found.append(stack[place:])
                    del stack[place:]
                    for member in found[-1]:
                        lowest[member] = done
                elif lowest[state] < lowest[path[-1][0]]:
                    lowest[path[-1][0]] = lowest[state]
    return found
