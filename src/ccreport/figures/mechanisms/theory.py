"""What theory says of a lone flow's rate under random loss: response functions of CUBIC and Reno, loss bounds of BBR.

Windows are in segments and means over time; loss is a probability of each segment, RTTs are in seconds.
"""

from typing import Final

# RFC 9438, 4.1 and 4.6.
CUBIC_SCALE: Final = 0.4
CUBIC_BETA: Final = 0.7
# Of BBRv2 and v3, of a round trip (draft-ietf-ccwg-bbr, BBRLossThresh).
BBR2_LOSS_THRESHOLD: Final = 0.02
# Of BBRv1, in the cycle that probes for bandwidth (Cardwell et al. 2017).
BBR1_PROBING_GAIN: Final = 1.25


def reno_window(loss: float) -> float:
    """Return Reno's mean window: sqrt(3/2) / sqrt(p), for an acknowledgement of each segment (Mathis et al. 1997)."""
    return float((1.5 / loss) ** 0.5)


def cubic_window(loss: float, rtt_s: float) -> float:
    """Return CUBIC's mean window outside its Reno-friendly region (RFC 9438, 5.1).

    (C (3 + β) / (4 (1 - β)))^(1/4) · RTT^(3/4) / p^(3/4), where the loss is of each 1/p-th segment.
    """
    scale = CUBIC_SCALE * (3 + CUBIC_BETA) / (4 * (1 - CUBIC_BETA))
    return float(scale**0.25 * (rtt_s / loss) ** 0.75)


def predict_cubic(loss: float, rtt_s: float) -> float:
    """Return CUBIC's mean window with its Reno-friendly region, in which it keeps Reno's (RFC 9438, 4.3)."""
    return max(cubic_window(loss, rtt_s), reno_window(loss))


def rate_of_window(segments: float, mss_bytes: float, rtt_s: float) -> float:
    """Return the rate of a window that is sent each round trip; bit/s of payload."""
    return 8 * segments * mss_bytes / rtt_s


def bbr_loss_threshold(cc: str) -> float:
    """Return the loss up to which a version of BBR keeps its rate.

    BBRv1 keeps its estimate of the bandwidth as long as probing with a gain of 1.25 delivers as much as before: up to
    1 - 1/1.25. BBRv2 and v3 reduce what they keep in flight once a round trip loses more than 2 %.
    """
    return BBR2_LOSS_THRESHOLD if cc in ("bbr2", "bbr3") else 1 - 1 / BBR1_PROBING_GAIN


def predict_bbr(loss: float, line_bps: float, cc: str) -> float:
    """Return what of the line's rate (payload, bit/s) BBR delivers: all that is not lost, and 0 above its threshold."""
    return line_bps * (1 - loss) if loss <= bbr_loss_threshold(cc) else 0.0
