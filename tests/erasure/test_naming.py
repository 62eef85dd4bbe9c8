"""Which longer names a name may be the beginning of."""

from __future__ import annotations

import pytest

from commonplace.erasure import naming


@pytest.mark.parametrize(
    ("names", "texts", "found"),
    [
        (["王伟"], ["王伟明住在海边。", "听说王伟明"], {"王伟明": 2}),
        (["王伟"], ["王伟明和李雷", "王伟明，你好", "王伟东 来了"], {"王伟明": 2, "王伟东": 1}),
        (["王伟"], ["王伟住在城里。", "王伟说的。", "王伟是谁", "王伟喜欢茶", "问王伟"], {}),
        (["王伟", "王伟明"], ["王伟明住在海边。"], {}),
        (["王偉"], ["王伟明说"], {"王伟明": 1}),
        (["Mira"], ["Miranda is here", "Mira明，"], {}),
        ([], ["王伟明说"], {}),
    ],
)
def test_longer_names(names: list[str], texts: list[str], found: dict[str, int]) -> None:
    assert naming.longer(names, texts) == found
