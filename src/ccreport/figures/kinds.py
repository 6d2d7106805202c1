"""Kinds of figures: the name that an evaluation gives, and the function that builds such a figure from the database.

A builder takes the declaration and a connection to `archive.duckdb`, and returns the figure; it raises MissingFigure
where the archive has no data for it, FigureError where the declaration cannot be used.
"""

from collections.abc import Callable
from typing import Final

from ccreport.figures.capture_figures import build_capture_figure
from ccreport.figures.completion_by_buffer import build_completion_by_buffer
from ccreport.figures.completion_cdf import build_completion_cdf
from ccreport.figures.cpu_over_time import build_cpu_over_time
from ccreport.figures.cwnd_over_time import build_cwnd_over_time
from ccreport.figures.database import Database
from ccreport.figures.edge_distributions import build_distribution_pdf
from ccreport.figures.edge_heat_maps import build_heat_map
from ccreport.figures.edge_over_time import build_distribution_over_time, build_machine_retransmits
from ccreport.figures.edge_percentiles import build_distribution_percentiles
from ccreport.figures.fairness_by_buffer import build_fairness_by_buffer
from ccreport.figures.fairness_over_time import build_fairness_over_time
from ccreport.figures.figure import Figure
from ccreport.figures.flow_rates_over_time import build_flow_rates_over_time
from ccreport.figures.flow_spread import build_flow_spread
from ccreport.figures.flows_over_time import build_flows_over_time
from ccreport.figures.joins_over_time import build_joins_over_time
from ccreport.figures.limits_over_time import build_limits_over_time
from ccreport.figures.modes_by_condition import build_modes_by_condition
from ccreport.figures.rate_axes import KINDS as RATE_KINDS
from ccreport.figures.rate_figures import build_rate_figure
from ccreport.figures.rpc_latency_by_load import build_rpc_latency_by_load
from ccreport.figures.rpc_retransmits_by_load import build_rpc_retransmits_by_load
from ccreport.figures.rpc_rtt_over_time import build_rpc_rtt_over_time
from ccreport.figures.selection import CAPTURE_KINDS, FigureDeclaration
from ccreport.figures.share_over_time import build_share_over_time
from ccreport.figures.stages_over_time import build_stages_over_time
from ccreport.figures.throughput_figures import build_throughput_over_time
from ccreport.figures.topology import build_topology
from ccreport.figures.versions import build_rate_by_version

Builder = Callable[[FigureDeclaration, Database], Figure]

BUILDERS: Final[dict[str, Builder]] = {
    "throughput_over_time": build_throughput_over_time,
    "flow_rates_over_time": build_flow_rates_over_time,
    "cwnd_over_time": build_cwnd_over_time,
    "cpu_over_time": build_cpu_over_time,
    "limits_over_time": build_limits_over_time,
    "share_over_time": build_share_over_time,
    "fairness_over_time": build_fairness_over_time,
    **dict.fromkeys(sorted(CAPTURE_KINDS), build_capture_figure),
    **dict.fromkeys(RATE_KINDS, build_rate_figure),
    "rate_by_version": build_rate_by_version,
    "flow_spread": build_flow_spread,
    "flows_over_time": build_flows_over_time,
    "modes_by_condition": build_modes_by_condition,
    "topology": build_topology,
    "distribution_pdf": build_distribution_pdf,
    "distribution_percentiles": build_distribution_percentiles,
    "distribution_over_time": build_distribution_over_time,
    "machine_retransmits": build_machine_retransmits,
    "heat_map": build_heat_map,
    "fairness_by_buffer": build_fairness_by_buffer,
    "joins_over_time": build_joins_over_time,
    "stages_over_time": build_stages_over_time,
    "completion_by_buffer": build_completion_by_buffer,
    "completion_cdf": build_completion_cdf,
    "rpc_latency_by_load": build_rpc_latency_by_load,
    "rpc_retransmits_by_load": build_rpc_retransmits_by_load,
    "rpc_rtt_over_time": build_rpc_rtt_over_time,
}
