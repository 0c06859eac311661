"""Facts about a table, possible strategies, their predicted costs, and a choice.

`facts` reads catalog and statistics, `possibility` makes the plan of each strategy, `prediction` computes costs, and
`choice` compares them. Nothing reads rows of the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qbcd.common.on_demand import on_demand
from qbcd.strategies.amounts import Amount

if TYPE_CHECKING:
    from qbcd.advisor.advice import Advice, advise, predict_stream, written_rows
    from qbcd.advisor.possibility import Option
    from qbcd.advisor.prediction import Prediction
    from qbcd.advisor.settling import settle
else:
    __getattr__ = on_demand(
        __name__,
        advice="Advice advise predict_stream written_rows",
        possibility="Option",
        prediction="Prediction",
        settling="settle",
    )

__all__ = ["Advice", "Amount", "Option", "Prediction", "advise", "predict_stream", "settle", "written_rows"]
