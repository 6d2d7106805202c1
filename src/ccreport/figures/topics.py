"""Topics of figures: what the gallery groups them by, in the order in which a reader meets them."""

from typing import Final

from ccreport.figures.conditions.rate_axes import KINDS as RATE_KINDS

# The topics in the order of the gallery: name, title and kinds of figures.
TOPICS: Final = (
    ("testbed", "The testbed", ("topology",)),
    (
        "throughput",
        "Throughput over time",
        ("throughput_over_time", "flows_over_time", "joins_over_time", "stages_over_time"),
    ),
    (
        "rates",
        "Rates by condition",
        ("table_dots", *RATE_KINDS, "rate_by_version", "flow_spread", "modes_by_condition"),
    ),
    (
        "sharing",
        "Sharing and fairness",
        ("share_over_time", "fairness_over_time", "fairness_by_buffer", "flow_rates_over_time"),
    ),
    ("hosts", "Windows, limits and processors", ("cwnd_over_time", "limits_over_time", "cpu_over_time")),
    (
        "times",
        "Completion times and latency",
        (
            "completion_by_buffer",
            "completion_cdf",
            "rpc_latency_by_load",
            "rpc_retransmits_by_load",
            "rpc_rtt_over_time",
        ),
    ),
    ("mechanisms", "Mechanisms", ("response_to_loss", "rate_by_loss_pattern", "share_by_rtt", "retransmit_causes")),
    (
        "distributions",
        "Distributions over connections",
        (
            "distribution_pdf",
            "distribution_percentiles",
            "distribution_over_time",
            "heat_map",
            "machine_retransmits",
        ),
    ),
)
OTHERS: Final = ("others", "More figures", ())
TOPIC_OF: Final = {kind: name for name, _, kinds in TOPICS for kind in kinds}
PLACES: Final = {name: place for place, (name, *_) in enumerate((*TOPICS, OTHERS))}


def name_topic(kind: str) -> str:
    """Return the name of the topic that a kind of figure belongs to."""
    return TOPIC_OF.get(kind, OTHERS[0])


def place_kind(kind: str) -> int:
    """Return the place of a kind's topic in the gallery, from 0."""
    return PLACES[name_topic(kind)]
