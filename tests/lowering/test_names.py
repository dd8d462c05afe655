"""Names in printed text: legal, unique where they are visible, and as close to the hints as that allows."""

from tilefuse.lowering.printers.names import Names, is_legal_symbol, legal_symbol


def test_hints_are_kept_and_made_unique():
    names = Names(frozenset({"min_idx"}))
    assert [names.fresh(hint) for hint in ("x", "x", "x_1", "y", "x")] == ["x", "x_1", "x_1_1", "y", "x_2"]
    assert names.fresh("min_idx") == "min_idx_1"


def test_sibling_scopes_share_names_and_inner_ones_never_shadow():
    names = Names()
    names.fresh("tx")
    names.push()
    assert names.fresh("tx") == "tx_1"
    names.pop()
    names.push()
    assert names.fresh("tx") == "tx_1"
    assert names.fresh("x") == "x"
    names.pop()
    assert names.fresh("x") == "x"


def test_names_are_identifiers_and_no_keywords():
    names = Names()
    given = ["int", "threadIdx", "template", "expf", "3", "a-b", "__x", "a$$b", "", "idx", "y0"]
    assert [names.fresh(hint) for hint in given] == [
        "int_1", "threadIdx_1", "template_1", "expf_1", "v3", "a_b", "x", "a_b_1", "v", "idx_1", "y0",
    ]  # fmt: skip


def test_many_values_with_one_hint_take_no_search():
    names = Names()
    found = {names.fresh("v") for _ in range(20_000)}
    assert len(found) == 20_000
    assert "v_19999" in found


def test_kernel_names():
    assert legal_symbol("blur_y") == "blur_y"
    assert legal_symbol("gamma") == "gamma_kernel"
    assert legal_symbol("2x") == "v2x"
    assert is_legal_symbol("blur")
    assert not any(map(is_legal_symbol, ("exp", "while", "a-b", "", "template", "float4")))
