"""Kinds of figures: the name that an evaluation gives, and the function that builds such a figure from the database.

A builder takes the declaration and a connection to `archive.duckdb`, and returns the figure; it raises MissingFigure
where the archive has no data for it, FigureError where the declaration cannot be used.
"""

from collections.abc import Callable
from typing import Final

from ccreport.figures.captures.build import build_capture_figure
from ccreport.figures.conditions.bbr_versions import build_rate_by_version
from ccreport.figures.conditions.completion_by_buffer import build_completion_by_buffer
from ccreport.figures.conditions.completion_cdf import build_completion_cdf
from ccreport.figures.conditions.fairness_by_buffer import build_fairness_by_buffer
from ccreport.figures.conditions.flow_spread import build_flow_spread
from ccreport.figures.conditions.modes import build_modes_by_condition
from ccreport.figures.conditions.rate import build_rate_figure
from ccreport.figures.conditions.rate_axes import KINDS as RATE_KINDS
from ccreport.figures.conditions.table_dots import build_table_dots
from ccreport.figures.conditions.topology import build_topology
from ccreport.figures.edge.distributions import build_distribution_pdf
from ccreport.figures.edge.heat_maps import build_heat_map
from ccreport.figures.edge.over_time import build_distribution_over_time, build_machine_retransmits
from ccreport.figures.edge.percentiles import build_distribution_percentiles
from ccreport.figures.kit.figure import Figure
from ccreport.figures.mechanisms.loss_pattern import build_rate_by_loss_pattern
from ccreport.figures.mechanisms.response import build_response
from ccreport.figures.mechanisms.retransmit_causes import build_retransmit_causes
from ccreport.figures.mechanisms.rtt_share import build_share_by_rtt
from ccreport.figures.rpc.latency_by_load import build_rpc_latency_by_load
from ccreport.figures.rpc.retransmits_by_load import build_rpc_retransmits_by_load
from ccreport.figures.rpc.rtt_over_time import build_rpc_rtt_over_time
from ccreport.figures.run.cpu import build_cpu_over_time
from ccreport.figures.run.cwnd import build_cwnd_over_time
from ccreport.figures.run.fairness import build_fairness_over_time
from ccreport.figures.run.flow_rates import build_flow_rates_over_time
from ccreport.figures.run.flows import build_flows_over_time
from ccreport.figures.run.joins import build_joins_over_time
from ccreport.figures.run.limits import build_limits_over_time
from ccreport.figures.run.share import build_share_over_time
from ccreport.figures.run.stages import build_stages_over_time
from ccreport.figures.select.declaration import CAPTURE_KINDS, FigureDeclaration
from ccreport.figures.select.recording_database import Database
from ccreport.figures.throughput.build import build_throughput_over_time

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
    "table_dots": build_table_dots,
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
    "response_to_loss": build_response,
    "rate_by_loss_pattern": build_rate_by_loss_pattern,
    "share_by_rtt": build_share_by_rtt,
    "retransmit_causes": build_retransmit_causes,
    "rpc_latency_by_load": build_rpc_latency_by_load,
    "rpc_retransmits_by_load": build_rpc_retransmits_by_load,
    "rpc_rtt_over_time": build_rpc_rtt_over_time,
}
